# cmake/SourceHash.cmake — headers with a hash of sources, made by the build.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tlxjit_source_hash.h: of what the plug-in is made of; the library refuses a plug-in whose hash differs.
# tlxjit_code_hash.h: of all that decides what code is made of a kernel; a part of the keys of compiled kernels. A test
# compares the list with the folders.
include_guard(GLOBAL)

# tlxjit_hash_header(<name> <macro> <file>...): an interface target <name> with <name>.h; files relative to the project.
function(tlxjit_hash_header name macro)
  set(files ${ARGN})
  list(SORT files)
  list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE depends)
  set(folder ${PROJECT_BINARY_DIR}/generated)
  set(script ${PROJECT_SOURCE_DIR}/cmake/make_source_hash.cmake)
  # The list stands in a file: it is too long for a command line on some systems.
  file(CONFIGURE OUTPUT ${folder}/${name}_files.txt CONTENT "@files@" @ONLY)
  add_custom_command(OUTPUT ${folder}/${name}.h
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DLIST=${folder}/${name}_files.txt -DMACRO=${macro}
            -DOUT=${folder}/${name}.h -P ${script}
    DEPENDS ${depends} ${folder}/${name}_files.txt ${script} VERBATIM)
  add_custom_target(${name}_header DEPENDS ${folder}/${name}.h)
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_header)
  target_include_directories(${name} INTERFACE ${folder})
endfunction()

set(root ${PROJECT_SOURCE_DIR})
file(GLOB_RECURSE hashed CONFIGURE_DEPENDS RELATIVE ${root} ${root}/src/ir/*.cpp ${root}/src/ir/*.h
     ${root}/include/tlxjit/ir/* ${root}/backends/cpu/*.cpp ${root}/backends/cpu/*.h ${root}/backends/cpu/*.def)
tlxjit_hash_header(tlxjit_source_hash TLXJIT_SOURCE_HASH ${hashed} src/runtime/cpu_plugin_p.h
                   src/runtime/block_signals_p.h src/runtime/per_process_p.h)

file(GLOB_RECURSE hashed CONFIGURE_DEPENDS RELATIVE ${root} ${root}/src/core/* ${root}/src/ir/* ${root}/src/layout/*
     ${root}/src/passes/* ${root}/src/codegen/* ${root}/include/tlxjit/core/* ${root}/include/tlxjit/ir/*
     ${root}/backends/*)
tlxjit_hash_header(tlxjit_code_hash TLXJIT_CODE_HASH ${hashed} src/runtime/cpu_plugin_p.h)

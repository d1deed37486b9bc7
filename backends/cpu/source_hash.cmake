# backends/cpu/source_hash.cmake — tlxjit_source_hash.h: a hash of the sources that make code for the CPU.
# The core and the plug-in both include it; the core refuses a plug-in whose hash differs.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include_guard(GLOBAL)  # the core includes it too
file(GLOB_RECURSE hashed CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
     ${PROJECT_SOURCE_DIR}/src/ir/*.cpp ${PROJECT_SOURCE_DIR}/src/ir/*.h ${PROJECT_SOURCE_DIR}/include/tlxjit/ir/*
     ${PROJECT_SOURCE_DIR}/backends/cpu/*.cpp ${PROJECT_SOURCE_DIR}/backends/cpu/*.h ${PROJECT_SOURCE_DIR}/backends/cpu/*.def)
list(APPEND hashed src/runtime/cpu_plugin_p.h src/runtime/block_signals_p.h src/runtime/per_process_p.h)
list(SORT hashed)
list(TRANSFORM hashed PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE hashed_files)
set(hash_dir ${PROJECT_BINARY_DIR}/generated)
set(hash_script ${PROJECT_SOURCE_DIR}/backends/cpu/make_source_hash.cmake)
# The list stands in a file: it is too long for a command line on some systems.
file(CONFIGURE OUTPUT ${hash_dir}/source_hash_files.txt CONTENT "${hashed}" @ONLY)
add_custom_command(OUTPUT ${hash_dir}/tlxjit_source_hash.h
  COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DLIST=${hash_dir}/source_hash_files.txt
          -DOUT=${hash_dir}/tlxjit_source_hash.h -P ${hash_script}
  DEPENDS ${hashed_files} ${hash_dir}/source_hash_files.txt ${hash_script} VERBATIM)
add_custom_target(tlxjit_source_hash_header DEPENDS ${hash_dir}/tlxjit_source_hash.h)
add_library(tlxjit_source_hash INTERFACE)
add_dependencies(tlxjit_source_hash tlxjit_source_hash_header)
target_include_directories(tlxjit_source_hash INTERFACE ${hash_dir})

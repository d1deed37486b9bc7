# tests/package/check.cmake — installs a build, moves the prefix, builds a project outside against it and runs it.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   cmake -DBUILD=<build folder> [-DGENERATOR=Ninja] [-DCOMPILER=g++] -P check.cmake
#
# Case BL-242: the program has an LLVM of its own, before the plug-in is loaded (`linked`) and after (`loaded`).
cmake_minimum_required(VERSION 3.25)
if(NOT GENERATOR)
  set(GENERATOR Ninja)
endif()
if(NOT COMPILER)
  set(COMPILER g++)
endif()
cmake_path(ABSOLUTE_PATH BUILD NORMALIZE)
set(folder ${BUILD}/package)

# must(<what for> <command>...): runs it; its output is shown when it fails. `output` holds what it printed.
function(must what)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE printed ERROR_VARIABLE printed RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} ended with ${status}:\n${printed}")
  endif()
  set(output "${printed}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${folder})
must("the installation" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${folder}/first)
file(RENAME ${folder}/first ${folder}/moved)

file(GLOB_RECURSE files RELATIVE ${folder}/moved ${folder}/moved/*)
foreach(file IN LISTS files)
  if(file MATCHES "_p\\.h$|gtest|benchmark")
    message(FATAL_ERROR "installed, and should not be: ${file}")
  endif()
endforeach()
file(GLOB_RECURSE texts ${folder}/moved/*.cmake)
foreach(text IN LISTS texts)
  file(READ ${text} content)
  string(FIND "${content}" "${folder}" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "${text} names the place of the build")
  endif()
endforeach()

if(NOT EXISTS ${folder}/moved/share/doc/tlxjit/guide/README.md)
  message(FATAL_ERROR "the guide is not installed")
endif()

must("the command line" ${CMAKE_COMMAND} -E env --unset=TLXJIT_CPU_PLUGIN ${folder}/moved/bin/tlxjit devices --json)
if(NOT output MATCHES "\"name\": \"cpu\"")
  message(FATAL_ERROR "the command line does not find the CPU plug-in:\n${output}")
endif()

file(COPY ${CMAKE_CURRENT_LIST_DIR}/first_kernel/CMakeLists.txt
     ${CMAKE_CURRENT_LIST_DIR}/../../samples/first_kernel/main.cpp DESTINATION ${folder}/first_kernel)
must("the guide's project's configuration" ${CMAKE_COMMAND} -S ${folder}/first_kernel -B ${folder}/first_kernel/build
     -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${folder}/moved -DCMAKE_BUILD_TYPE=Release)
must("the guide's project's build" ${CMAKE_COMMAND} --build ${folder}/first_kernel/build)
must("the guide's program" ${CMAKE_COMMAND} -E env --unset=TLXJIT_CPU_PLUGIN ${folder}/first_kernel/build/first_kernel)

must("the guide's project's installation" ${CMAKE_COMMAND} --install ${folder}/first_kernel/build
     --prefix ${folder}/installed)
file(RENAME ${folder}/installed ${folder}/elsewhere)
if(EXISTS ${folder}/moved/lib/libtlxjit.a)
  file(RENAME ${folder}/moved ${folder}/away)
  must("the guide's program, installed" ${CMAKE_COMMAND} -E env --unset=TLXJIT_CPU_PLUGIN ${folder}/elsewhere/bin/first_kernel)
  file(RENAME ${folder}/away ${folder}/moved)
else()  # a shared library, which has its plug-in beside it, is found as any other
  must("the guide's program, installed" ${CMAKE_COMMAND} -E env --unset=TLXJIT_CPU_PLUGIN
       LD_LIBRARY_PATH=${folder}/moved/lib ${folder}/elsewhere/bin/first_kernel)
endif()

must("the outside project's configuration" ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${folder}/build
     -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${folder}/moved -DCMAKE_BUILD_TYPE=Release)
must("the outside project's build" ${CMAKE_COMMAND} --build ${folder}/build)
foreach(program linked loaded)
  set(expected first)
  if(program STREQUAL loaded)
    set(expected second)
  endif()
  must("the program `${program}`" ${CMAKE_COMMAND} -E env --unset=TLXJIT_CPU_PLUGIN ${folder}/build/${program})
  if(NOT output MATCHES "right; the host's LLVM came ${expected}")
    message(FATAL_ERROR "the program `${program}` printed:\n${output}")
  endif()
  message("${program}: ${output}")
endforeach()

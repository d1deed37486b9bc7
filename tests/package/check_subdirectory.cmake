# tests/package/check_subdirectory.cmake — configures a project that adds tlxjit: no tests, and warnings are no errors.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   cmake -DROOT=<repository> -DFOLDER=<to build in> [-DGENERATOR=Ninja] [-DCOMPILER=g++] -P check_subdirectory.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/subdirectory -B ${FOLDER} -G ${GENERATOR}
                -DCMAKE_CXX_COMPILER=${COMPILER} -DTLXJIT=${ROOT} -DTLXJIT_CPU=OFF
                OUTPUT_VARIABLE printed ERROR_VARIABLE printed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the configuration ended with ${status}:\n${printed}")
endif()
file(READ ${FOLDER}/compile_commands.json commands)
foreach(pattern "-Werror" "tests/unit" "bench/")
  if(commands MATCHES "${pattern}")
    message(FATAL_ERROR "the project's commands have ${pattern}")
  endif()
endforeach()
if(NOT commands MATCHES "src/ir/verify.cpp")
  message(FATAL_ERROR "the project does not compile tlxjit:\n${commands}")
endif()

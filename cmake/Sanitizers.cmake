# cmake/Sanitizers.cmake — builds with sanitizers, as the presets asan, ubsan, tsan and fuzz make them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The CPU plug-in leaves the sanitizers' symbols open, which a program built with them provides.
set(TLXJIT_SANITIZE "" CACHE STRING "What -fsanitize= is given, empty for none; needs clang++-22 and libclang-rt-22-dev")
if(NOT TLXJIT_SANITIZE)
  return()
endif()
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "TLXJIT_SANITIZE needs Clang 22, not ${CMAKE_CXX_COMPILER}")
endif()
# LLVM's static libraries have no type information for `vptr`; `function` reads in front of code made at run time.
set(sanitizer_options -fsanitize=${TLXJIT_SANITIZE} -fno-sanitize-recover=all -fno-sanitize=vptr,function)
add_compile_options(${sanitizer_options} -fno-omit-frame-pointer)
add_link_options(${sanitizer_options})

# Tests ask for 2^60 bytes and expect a refusal; a forked child goes on with threads of its own.
list(APPEND TLXJIT_TEST_ENVIRONMENT
    "ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=die_after_fork=0:allocator_may_return_null=1")

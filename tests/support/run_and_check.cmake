# tests/support/run_and_check.cmake — runs a program; its exit status and its output must be as expected.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   cmake -P run_and_check.cmake -- succeeds|fails <regular expression of the output, or ""> <program> [argument]...
#
# ctest's PASS_REGULAR_EXPRESSION looks at the output instead of the exit status. A crash is never what is expected.
set(place 0)
while(NOT CMAKE_ARGV${place} STREQUAL "--")
  math(EXPR place "${place} + 1")
endwhile()
set(words "")
math(EXPR last "${CMAKE_ARGC} - 1")
math(EXPR first "${place} + 3")
foreach(i RANGE ${first} ${last})
  list(APPEND words "${CMAKE_ARGV${i}}")
endforeach()
math(EXPR i "${place} + 1")
set(expected "${CMAKE_ARGV${i}}")
math(EXPR i "${place} + 2")
set(expression "${CMAKE_ARGV${i}}")

execute_process(COMMAND ${words} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
message("${output}")
if(NOT status MATCHES "^[0-9]+$")
  message(FATAL_ERROR "the program did not end by itself: ${status}")
elseif(expected STREQUAL "succeeds" AND NOT status EQUAL 0)
  message(FATAL_ERROR "the exit status is ${status}, not 0")
elseif(expected STREQUAL "fails" AND status EQUAL 0)
  message(FATAL_ERROR "the exit status is 0: what should be refused was not")
elseif(NOT expected MATCHES "^(succeeds|fails)$")
  message(FATAL_ERROR "expected is succeeds or fails, not '${expected}'")
elseif(NOT expression STREQUAL "" AND NOT output MATCHES "${expression}")
  message(FATAL_ERROR "nothing in the output matches: ${expression}")
endif()

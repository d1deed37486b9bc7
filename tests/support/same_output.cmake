# tests/support/same_output.cmake — whether a program prints what a file holds: -DPROGRAM=… [-DARGUMENT=…] -DFILE=… -P this.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
execute_process(COMMAND ${PROGRAM} ${ARGUMENT} OUTPUT_VARIABLE printed RESULT_VARIABLE status)
file(READ ${FILE} kept)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}")
elseif(NOT printed STREQUAL kept)
  message(FATAL_ERROR "${FILE} is out of date: ${PROGRAM} ${ARGUMENT} > ${FILE}")
endif()

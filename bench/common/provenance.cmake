# bench/common/provenance.cmake — writes OUTPUT, C++ macros that say which commit of ROOT is built.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set(ENV{GIT_OPTIONAL_LOCKS} 0)
function(git result)
  execute_process(COMMAND git -c safe.directory=* -C ${ROOT} ${ARGN}
                  OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    set(text unknown)
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

git(commit rev-parse HEAD)
git(tree rev-parse "HEAD^{tree}")
# Only what goes into the programs counts.
git(changes status --porcelain -- CMakeLists.txt cmake include src backends bench ":(exclude)bench/results"
    ":(exclude)bench/README.md")
if(changes STREQUAL "")
  set(dirty false)
else()
  set(dirty true)
endif()
set(text "// Written by bench/common/provenance.cmake.
#define TLXJIT_BENCH_COMMIT \"${commit}\"
#define TLXJIT_BENCH_TREE \"${tree}\"
#define TLXJIT_BENCH_DIRTY ${dirty}
")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()

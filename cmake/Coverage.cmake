# cmake/Coverage.cmake — which lines and regions of the library and its back ends the tests run; scripts/coverage.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Lines are gcov's, for gcovr. Regions are Clang's own: they tell whether an error's text, which shares its line with
# a condition, was ever given.
option(TLXJIT_COVERAGE "Count what the tests run (Clang)" OFF)
set(TLXJIT_COVERAGE_LAYERS ir builder layout passes codegen runtime kernels nvidia nvidia_emit cpu_objects)

# tlxjit_coverage(<layer>): counts what is run of the target tlxjit_<layer>, if that is asked for.
function(tlxjit_coverage layer)
  if(TLXJIT_COVERAGE AND layer IN_LIST TLXJIT_COVERAGE_LAYERS)
    target_compile_options(tlxjit_${layer} PRIVATE ${TLXJIT_COVERAGE_OPTIONS})
    # Counts of functions that a file has for itself are told apart by its name, and every layer has a unity_0_cxx.cxx.
    set_target_properties(tlxjit_${layer} PROPERTIES UNITY_BUILD OFF)
  endif()
endfunction()

if(NOT TLXJIT_COVERAGE)
  return()
endif()
set(TLXJIT_COVERAGE_OPTIONS --coverage -fprofile-instr-generate -fcoverage-mapping -fprofile-update=atomic)
add_link_options(-fprofile-instr-generate)  # whose library serves both
list(APPEND TLXJIT_TEST_ENVIRONMENT "LLVM_PROFILE_FILE=${PROJECT_BINARY_DIR}/profiles/%2m.profraw")

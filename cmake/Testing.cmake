# cmake/Testing.cmake — how a test is declared, and what goes into the bundle for another machine.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Folder of libnvrtc that tests with the label `cubin` use; scripts/setup brings it. They fail when NVRTC cannot be
# loaded from it, and are skipped when scripts/setup was told to leave it out.
set(TLXJIT_NVRTC_DIR "${PROJECT_SOURCE_DIR}/build/nvrtc/lib" CACHE PATH "Folder of libnvrtc.so for the tests")
# Folder of cuobjdump and nvdisasm for the tests that look at SASS; they do without when it is not there.
set(TLXJIT_CUDA_BIN_DIR "${PROJECT_SOURCE_DIR}/build/nvrtc/bin" CACHE PATH "Folder of cuobjdump for the tests")

# No test writes into its user's home, nor takes from there what another build compiled. Those of the disk cache name
# places of their own.
list(APPEND TLXJIT_TEST_ENVIRONMENT "TLXJIT_DISK_CACHE=0")

# tlxjit_test(<name> SOURCES <file>... [LABELS <label>...] [LIBS <target>...] [TIMEOUT <seconds>])
# A GoogleTest executable. Each of its tests is a ctest test `<name>.Suite.Case` with the labels given.
# Labels with a meaning: `gpu` runs on a device (skipped without one) and goes into the bundle; `cubin` needs
# NVRTC and no device; `concurrency` is what .ci/run builds with tsan, by the target concurrency_tests; `errors` looks
# at messages; `conformance` is whole kernels, the same for every back end. Sources may include "src/..._p.h".
function(tlxjit_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LABELS;LIBS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/support/no_disk_cache.cpp)
  target_link_libraries(${name} PRIVATE tlxjit_internal ${arg_LIBS} GTest::gmock GTest::gtest_main)
  if("gpu" IN_LIST arg_LABELS AND TLXJIT_SANITIZE)  # which sees nothing of a device
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX ${name}. TEST_LIST ${name}_cases
                       PROPERTIES TIMEOUT ${arg_TIMEOUT})
  set(environment ${TLXJIT_TEST_ENVIRONMENT})
  if(arg_SOURCES MATCHES "support/allocations.cpp")
    # Its operator new takes what only the sanitizer's operator delete[] may give back.
    string(REPLACE "ASAN_OPTIONS=" "ASAN_OPTIONS=alloc_dealloc_mismatch=0:" environment "${environment}")
    # g++ that sees it inlined warns of its malloc.
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  # gtest_discover_tests loses all but the first element of a list; ctest reads this file after the one made by it.
  set(properties ${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake)
  cmake_path(GET TLXJIT_NVRTC_DIR PARENT_PATH nvrtc_parent)
  file(GENERATE OUTPUT ${properties} CONTENT
"set(nvrtc \"${TLXJIT_NVRTC_DIR}\")
if(EXISTS \"${nvrtc_parent}/left_out\")
  set(nvrtc \"\")
endif()
foreach(case IN LISTS ${name}_cases)
  set_tests_properties(\"\${case}\" PROPERTIES LABELS \"${arg_LABELS}\"
    ENVIRONMENT \"TLXJIT_NVRTC_DIR=\${nvrtc};TLXJIT_CUDA_BIN_DIR=${TLXJIT_CUDA_BIN_DIR};${environment}\")
endforeach()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${properties})
  if("concurrency" IN_LIST arg_LABELS)
    add_dependencies(concurrency_tests ${name})
  endif()
  if("gpu" IN_LIST arg_LABELS)
    tlxjit_bundle(${name} KIND test)
  endif()
endfunction()

# tlxjit_program_test(<name> succeeds|fails <regular expression of the output, or ""> <program> <argument>...)
# A ctest test, label `unit`, that runs a program: both its exit status and its output are looked at.
function(tlxjit_program_test name expected expression)
  add_test(NAME ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
           COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/tests/support/run_and_check.cmake -- ${expected}
                   "${expression}" ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 120 ENVIRONMENT "${TLXJIT_TEST_ENVIRONMENT}")
endfunction()

add_custom_target(concurrency_tests)

define_property(GLOBAL PROPERTY TLXJIT_BUNDLE BRIEF_DOCS "Lines `kind target` of what scripts/bundle packs")

# tlxjit_bundle(<target> KIND test|bench|gbench|tool|sample|plugin): packs the target into the bundle.
# test: GoogleTest, run case by case. gbench: Google Benchmark, its JSON is kept. bench: any other benchmark; it
# finds the folder for its JSON in TLXJIT_RESULTS. plugin: a MODULE, goes to lib/. tool, sample: packed, not run.
function(tlxjit_bundle target)
  cmake_parse_arguments(arg "" "KIND" "" ${ARGN})
  if(NOT arg_KIND MATCHES "^(test|bench|gbench|tool|sample|plugin)$")
    message(FATAL_ERROR "tlxjit_bundle(${target}): unknown KIND `${arg_KIND}`")
  endif()
  # RPATH, not RUNPATH: it also holds for the libraries that a packed library needs.
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
  if(arg_KIND STREQUAL plugin)
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
    set(folder lib)
  else()
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
    set(folder bin)
  endif()
  install(TARGETS ${target} COMPONENT bundle EXCLUDE_FROM_ALL RUNTIME DESTINATION bin LIBRARY DESTINATION lib)
  set_property(GLOBAL APPEND PROPERTY TLXJIT_BUNDLE "${arg_KIND} ${folder}/$<TARGET_FILE_NAME:${target}>")
endfunction()

# tlxjit_bundle_manifest(): writes bundle.txt in the build folder; called once, last.
function(tlxjit_bundle_manifest)
  get_property(lines GLOBAL PROPERTY TLXJIT_BUNDLE)
  list(JOIN lines "\n" text)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/bundle.txt CONTENT "${text}\n")
endfunction()

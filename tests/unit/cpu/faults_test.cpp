// tests/unit/cpu/faults_test.cpp — whatever LLVM meets, the process goes on and there is an Error.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdlib>
#include <thread>

#include "tests/support/hold.h"
#include "tests/unit/runtime/engine_fixture.h"

// What LLVM held when it gave up is leaked (llvm_guard_p.h).
extern "C" const char* __lsan_default_suppressions() { return "leak:libfaulty_plugin\n"; }

namespace tlxjit::runtime_test {
namespace {

using ::testing::HasSubstr;

/// x[0] = number.
Kernel number(float number) {
  Kernel k{"number"};
  auto x = k.tensor<float>("x", {1});
  k.grid(1);
  k.task("main").warps(1).body([&](Task& t) { x.store({0}, t.full<float>({1}, number)); });
  return k;
}

class Faults : public EngineTest {
 protected:
  void TearDown() override { unsetenv("TLXJIT_TEST_FAULT"); }

  /// The error of a compile that meets the fault.
  Error meet(const char* fault, float n) {
    setenv("TLXJIT_TEST_FAULT", fault, 1);
    auto exe = engine.compile(number(n), device);
    unsetenv("TLXJIT_TEST_FAULT");
    EXPECT_FALSE(exe.ok()) << fault;
    return exe ? Error() : exe.error();
  }
  void expect_that_it_goes_on() {
    for (float n : {1.0f, 2.0f}) {
      CompileOptions o;
      o.reuse = false;
      auto exe = engine.compile(number(n), device, o);
      TLXJIT_MUST(exe);
      float x = 0;
      TLXJIT_MUST(exe->launch({tensor<float>(&x, {1})}));
      EXPECT_EQ(x, n);
    }
  }
};

TEST_F(Faults, WhatLlvmRefusesIsAnError) {
  const std::pair<const char*, const char*> cases[] = {{"asm", "invalid instruction mnemonic 'nonsense'"},
                                                       {"fatal", "a planted fatal error"},
                                                       {"select", "Cannot select: intrinsic %llvm.nvvm.barrier"},
                                                       {"invalid", "the emitted code is invalid"}};
  for (int round = 0; round < 2; ++round)
    for (const auto& [fault, says] : cases) {
      SCOPED_TRACE(fault);
      const Error error = meet(fault, 7);
      EXPECT_EQ(error.kind, ErrorKind::internal);
      EXPECT_EQ(error.code, ErrorCode::compiler_failed);
      EXPECT_EQ(error.message, "CPU: LLVM refused the kernel's code, which is a fault of tlxjit");
      EXPECT_THAT(error.log, HasSubstr(says));
      expect_that_it_goes_on();
    }
}

TEST_F(Faults, LlvmWithoutMemoryIsAnError) {
  for (int round = 0; round < 2; ++round) {
    const Error error = meet("memory", 7);
    EXPECT_EQ(error.code, ErrorCode::out_of_resources);
    EXPECT_EQ(error.message, "CPU: no memory to compile");
    expect_that_it_goes_on();
  }
}

TEST_F(Faults, ABrokenInvariantOfThePlugInIsAnInternalError) {
  const Error error = meet("throw", 7);
  EXPECT_EQ(error.kind, ErrorKind::internal);
  EXPECT_EQ(error.code, ErrorCode::internal_error);
  EXPECT_EQ(error.message, "CPU: a planted exception");
  expect_that_it_goes_on();
}

TEST_F(Faults, OnManyThreadsAtOnce) {
  setenv("TLXJIT_TEST_FAULT", "fatal", 1);
  std::vector<std::thread> threads;
  std::atomic<int> errors = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) errors += !engine.compile(number(float(10 * t + i)), device).ok();
    });
  for (std::thread& t : threads) t.join();
  unsetenv("TLXJIT_TEST_FAULT");
  EXPECT_EQ(errors, 20);
  expect_that_it_goes_on();
}

TEST_F(Faults, CompilesThatHangAreLeftBehindUntilThereAreTooMany) {
  Hold hold;
  const std::string fault = "hang " + hold.text();
  for (int n = 1; n <= 4; ++n) {
    setenv("TLXJIT_TEST_FAULT", fault.c_str(), 1);
    CompileOptions o;
    o.time_limit = std::chrono::milliseconds(20);
    const auto exe = engine.compile(number(static_cast<float>(n)), device, o);
    hold.await(n);  // the limit may pass before the compile comes to where it hangs
    unsetenv("TLXJIT_TEST_FAULT");
    ASSERT_FALSE(exe.ok());
    EXPECT_EQ(exe.error().code, ErrorCode::timed_out);
    EXPECT_EQ(exe.error().message, "the compile of `number` took longer than its limit of 20 ms; it is left behind");
    if (n == 1) expect_that_it_goes_on();
  }
  EXPECT_THAT(meet("", 5).message, HasSubstr("is not compiled: 4 compiles that were left behind"));
  hold.let_go();
  for (int i = 0; i < 600 && !engine.compile(number(6), device).ok(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  expect_that_it_goes_on();
}

}  // namespace
}  // namespace tlxjit::runtime_test

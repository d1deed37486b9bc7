// tests/guide/errors_test.cpp — the code of docs/guide/errors.md.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "tlxjit/core/throwing.h"
#include "tlxjit/tlxjit.h"

using namespace tlxjit;
using testing::HasSubstr;

namespace {

EngineOptions with_plugin() {
  EngineOptions options;
  options.cpu_plugin = TLXJIT_TEST_PLUGIN;
  return options;
}

/// Two mistakes.
Kernel wrong() {
  Kernel k{"wrong"};
  auto n = k.dim("N");
  auto out = k.tensor<float>("out", {n});
  k.grid(1);
  k.task("main").body([&](Task& t) {
    Tile a = t.full<float>({64}, 1), b = t.full<float>({32}, 2);
    out.store({0}, a + b);
    out.store({n / 2.5}, a);
  });
  return k;
}

/// A consumer that takes more slots than the producer fills.
Kernel stuck() {
  Kernel k{"stuck"};
  auto n = k.dim("N");
  auto x = k.tensor<float>("x", {n, 64});
  auto ring = k.ring(2).slot<float>("x", {16, 64});
  k.grid(1);
  k.task(Producer).warps(1).body([&] { ring.acquire().load("x", x, {0, 0}); });
  k.task(Consumer).warps(4).body([&] { k.range(2).each([&] { ring.wait(); }); });
  return k;
}

TEST(Guide, ErrorsAreValues) {
  Engine engine(with_plugin());
  auto device = engine.device("cpu");
  ASSERT_TRUE(device);
  auto exe = engine.compile(wrong(), *device);
  if (!exe) {
    const Error& error = exe.error();
    std::printf("%s\n", to_string(error).c_str());  // file:line: what is wrong, and the way out
    EXPECT_EQ(error.kind, ErrorKind::user);
    EXPECT_EQ(error.stage, Stage::build);
    EXPECT_EQ(error.code, ErrorCode::invalid_kernel);
  }
  ASSERT_FALSE(exe);
  EXPECT_THAT(exe.error().message, HasSubstr("add: the operands differ: tile<64xf32> and tile<32xf32>"));
  EXPECT_THAT(exe.error().log, HasSubstr("a real number meets i32"));
}

TEST(Guide, FaultsOfAKernel) {
  Kernel kernel = wrong();
  for (const Error& fault : kernel.verify()) std::printf("%s\n", to_string(fault).c_str());
  EXPECT_EQ(kernel.verify().size(), 2u);
}

TEST(Guide, ACallThatDoesNotFit) {
  Engine engine(with_plugin());
  Kernel k{"twos"};
  auto n = k.dim("N");
  auto out = k.tensor<float>("out", {n});
  k.grid(ceil_div(n, 64));
  k.task("main").body([&](Task& t) { out.store({k.program_id() * 64}, t.full<float>({64}, 2)); });
  auto device = engine.device("cpu");
  auto exe = engine.compile(k, *device);
  ASSERT_TRUE(exe) << to_string(exe.error());
  std::vector<double> wide(100);
  auto done = exe->launch({tensor<double>(wide.data(), {100})});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::bad_argument);
  EXPECT_THAT(done.error().message, HasSubstr("argument `out`"));
}

TEST(Guide, ADeadlock) {
  Engine engine(with_plugin());
  auto device = engine.device("cpu");
  auto exe = engine.compile(stuck(), *device);
  ASSERT_TRUE(exe) << to_string(exe.error());
  std::vector<float> x(16 * 64);
  auto done = exe->launch({tensor<float>(x.data(), {16, 64})});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::deadlock);
  EXPECT_THAT(done.error().log, HasSubstr("program 0: consumer (replica 0) waits for phase 0 of `ring0.full`, slot 1"));
}

TEST(Guide, Exceptions) {
  Engine engine(with_plugin());
  try {
    auto device = unwrap(engine.device("cpu"));
    auto exe = unwrap(engine.compile(wrong(), device));
    FAIL() << "no exception";
  } catch (const Failure& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    EXPECT_EQ(failure.error().code, ErrorCode::invalid_kernel);
  }
}

}  // namespace

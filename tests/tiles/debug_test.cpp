// tests/tiles/debug_test.cpp — what kernels print and assert, and the clock.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "tests/tiles/fixture.h"

namespace tiles_test {
namespace {

using testing::UnorderedElementsAre;

struct Lines {
  std::vector<std::string> lines;
  Engine engine;
  Lines() : engine(options()) {}
  EngineOptions options() {
    EngineOptions options = engine_options();
    options.print = [this](std::string_view line) { lines.emplace_back(line); };
    return options;
  }
};

TEST(Print, TellsKernelTaskProgramTextAndValues) {
  Lines told;
  Kernel k{"speaks"};
  k.grid(2);
  k.task("main").replicas(2).body([&](Task& t) {
    const Index p = k.program_id();
    k.print("p = {}, half = {}!", {p, p.to<float>() * 0.5f});
    k.when((p == 1) & (t.replica() == 0), [&] {
      k.print("{}, {} and {}", {t.iota({2, 3}, 1), t.iota({2}, 0) > 0, t.full<bf16>({1}, p.to<bf16>())});
      k.print("no value");
      k.print("{}", {2.5});
    });
  });
  TLXJIT_MUST(run(k, {}, told.engine));
  EXPECT_THAT(told.lines,
              UnorderedElementsAre(
                  "speaks main[0] of program 0: p = 0, half = 0!", "speaks main[1] of program 0: p = 0, half = 0!",
                  "speaks main[0] of program 1: p = 1, half = 0.5!", "speaks main[1] of program 1: p = 1, half = 0.5!",
                  "speaks main[0] of program 1: [[0, 1, 2], [0, 1, 2]], [false, true] and [1]",
                  "speaks main[0] of program 1: no value", "speaks main[0] of program 1: 2.5"));
}

TEST(Print, LongTilesAreCut) {
  Lines told;
  Kernel k{"long"};
  in_task(k, [&](Task& t) { k.print("{}", {t.full<int8_t>({2000}, -1)}); });
  TLXJIT_MUST(run(k, {}, told.engine));
  ASSERT_EQ(told.lines.size(), 1u);
  EXPECT_TRUE(told.lines[0].starts_with("long main of program 0: [-1, -1,"));
  EXPECT_TRUE(told.lines[0].ends_with("-1, …]"));
  EXPECT_EQ(std::count(told.lines[0].begin(), told.lines[0].end(), '-'), 1024);
}

TEST(Print, GoesToStandardErrorByDefault) {
  Kernel k{"default"};
  in_task(k, [&](Task&) { k.print("x = {}", {3}); });
  testing::internal::CaptureStderr();
  TLXJIT_MUST(run(k, {}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "default main of program 0: x = 3\n");
}

TEST(Print, AReaderThatThrowsLosesItsLine) {
  EngineOptions options = engine_options();
  options.print = [](std::string_view) { throw 1; };
  const Engine engine(std::move(options));
  Kernel k{"throws"};
  in_task(k, [&](Task&) { k.print("x"); });
  TLXJIT_MUST(run(k, {}, engine));
}

TEST(Print, TheReaderMayLaunchAKernelThatPrints) {
  std::optional<Executable> inner;
  std::vector<std::string> lines;
  EngineOptions options = engine_options();
  options.cpu_threads = 2;
  int calls = 0;
  options.print = [&](std::string_view line) {
    lines.emplace_back(line);
    const auto launch = [&] { EXPECT_TRUE(inner->launch({}).ok()); };
    ++calls;
    if (calls == 1) launch();
    if (calls == 2) std::thread(launch).join();
  };
  const Engine engine(std::move(options));
  const auto printing = [&](const char* name, int programs) {
    Kernel k{name};
    k.grid(programs);
    k.task("main").body([&] { k.print("p"); });
    return engine.compile(k, cpu(engine));
  };
  auto made = printing("inner", 2), outer = printing("outer", 3);
  TLXJIT_MUST(made);
  TLXJIT_MUST(outer);
  inner = *made;
  TLXJIT_MUST(outer->launch({}));
  std::ranges::sort(lines);
  EXPECT_THAT(lines, testing::ElementsAre("inner main of program 0: p", "inner main of program 0: p",
                                          "inner main of program 1: p", "inner main of program 1: p",
                                          "outer main of program 0: p", "outer main of program 1: p",
                                          "outer main of program 2: p"));
}

TEST(Assert, EndsTheLaunchWithItsMessageAndLine) {
  Data<Elem::i32> x({8});
  for (int i = 0; i < 8; ++i) x[i] = i;
  Kernel k{"asserts"};
  const Tensor tx = k.tensor<int32_t>("x", {8});
  const Scalar limit = k.scalar<int32_t>("limit");
  k.grid(3);
  k.task("main").body([&] {
    const Tile a = tx.load_tile({0}, {8});
    k.require(k.program_id() >= 0, "programs count from 0");
    k.require(a < limit, "x is below the limit");
  });
  const int line = __LINE__ - 2;
  auto exe = engine().compile(k, cpu());
  TLXJIT_MUST(exe);
  TLXJIT_MUST(exe->launch({x, 8}));
  const auto failed = exe->launch({x, 5});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::assertion_failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::user);
  EXPECT_THAT(
      failed.error().message,
      testing::MatchesRegex("assertion in `asserts`: x is below the limit \\(main of program [012], element 5\\)"));
  EXPECT_EQ(failed.error().location.line, static_cast<uint32_t>(line));
  TLXJIT_MUST(exe->launch({x, 8}));  // the kernel goes on working
}

TEST(Assert, OfAScalarHasNoElement) {
  Kernel k{"asserts"};
  in_task(k, [&](Task&) { k.require(k.program_id() > 0, "never"); });
  const auto failed = run(k, {});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "assertion in `asserts`: never (main of program 0)");
}

TEST(Clock, GoesOn) {
  Data<Elem::i64> out({2});
  Kernel k{"clock"};
  const Tensor to = k.tensor<int64_t>("o", {2});
  in_task(k, [&](Task& t) {
    const Scalar from = k.clock();
    Tile x = t.full<float>({64}, 1);
    k.range(1000).each([&] { x = x * 1.5f; });
    to.store({1}, t.full<int64_t>({1}, sum(x, 0).to<int64_t>()));
    to.store({0}, t.full<int64_t>({1}, k.clock() - from));
  });
  TLXJIT_MUST(run(k, {out}));
  EXPECT_GT(out[0], 0);
}

}  // namespace
}  // namespace tiles_test

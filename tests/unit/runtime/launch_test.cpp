// tests/unit/runtime/launch_test.cpp — empty launches, launches that allocate nothing, launches at once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <thread>
#include <tuple>

#include "tests/reference/tolerance.h"
#include "tests/support/allocations.h"
#include "tests/unit/runtime/engine_fixture.h"

namespace tlxjit::runtime_test {
namespace {

using Launch = EngineTest;

TEST_F(Launch, WithoutProgramsItDoesNothing) {
  for (const char* as : {"", "sm_90a"}) {
    const Executable exe = compile(gemm(gemm_config(*as ? as : "cpu")), as);
    alignas(16) bf16 room[256];
    const TensorArg none = tensor<bf16>(nullptr, {0, 16}), some = tensor<bf16>(room, {8, 16});
    EXPECT_EQ(message(exe.launch({none, some, tensor<bf16>(nullptr, {0, 8})})), "success");
    EXPECT_EQ(message(exe.launch({some, none, tensor<bf16>(nullptr, {8, 0})})), "success");
    EXPECT_EQ(message(exe.launch({none, none, tensor<bf16>(nullptr, {0, 0})})), "success");
  }
}

TEST_F(Launch, WithoutDepthItGivesZeros) {
  for (const char* as : {"", "sm_90a"}) {
    const Executable exe = compile(gemm(gemm_config(*as ? as : "cpu")), as);
    alignas(16) bf16 d[64];
    for (bf16& x : d) x = 7.f;
    const TensorArg none = tensor<bf16>(nullptr, {8, 0});
    EXPECT_EQ(message(exe.launch({none, none, tensor<bf16>(d, {8, 8})})), "success");
    for (const bf16& x : d) EXPECT_EQ(float(x), 0.f);
  }
}

TEST_F(Launch, EmptyBatchesOfAttention) {
  for (const char* as : {"", "sm_90a"}) {
    const Executable exe = compile(attention(attention_config(*as ? as : "cpu", {.head = 64, .jagged = true})), as);
    int32_t zeros[3] = {};
    for (int64_t batch : {0, 2}) {
      const TensorArg none = tensor<bf16>(nullptr, {0, 2, 64});
      EXPECT_EQ(message(exe.launch({none, none, none, none, tensor<float>(nullptr, {2, 0}),
                                    tensor<int32_t>(zeros, {batch + 1}), 1.f})),
                "success");
    }
    EXPECT_EQ(exe.resources().workspace_words > 0, true) << "a dynamic schedule counts in a workspace";
  }
}

TEST_F(Launch, BL_127_StridesOfAnInnermostAxisOf1) {
  Kernel k{"column"};
  auto [m, n] = k.dims("M", "N");
  const Tensor x = k.tensor<int32_t>("x", {m, n}), y = k.tensor<int32_t>("y", {m, n});
  k.grid(m);
  k.task("main").warps(1).body([&] { y.store({k.program_id(), 0}, x.load_tile({k.program_id(), 0}, {1, 1}) + 100); });
  const Executable exe = compile(k);
  for (const int64_t inner : {2, 1, 0, -7}) {
    int32_t in[] = {3, 4, 5, 6}, out[] = {-1, -1, -1, -1};
    const auto column = [&](int32_t* data) { return tensor<int32_t>(data, {2, 1}).with_strides({1, inner}); };
    EXPECT_EQ(message(exe.launch({column(in), column(out)})), "success") << inner;
    EXPECT_THAT(out, ::testing::ElementsAre(103, 104, -1, -1)) << inner;
  }
  // Where tensor maps are made of them.
  const Executable product = compile(gemm(gemm_config("sm_90a")), "sm_90a");
  alignas(16) bf16 room[64], d[16] = {};
  for (int i = 0; i < 64; ++i) room[i] = i % 8 ? NAN : static_cast<float>(1 + i / 8);
  const auto rows = [&](int64_t n) { return tensor<bf16>(room, {n, 1}).with_strides({8, 2}); };
  EXPECT_EQ(message(product.launch({rows(2), rows(8), tensor<bf16>(d, {2, 8})})), "success");
  for (int i = 0; i < 16; ++i) EXPECT_EQ(float(d[i]), static_cast<float>((1 + i / 8) * (1 + i % 8))) << i;
}

/// Eight rows of 16 bytes or more through a tensor map: of `in` to `out`.
template <class T>
Kernel eight_rows() {
  Kernel k{"eight_rows"};
  auto [r, c, p, q] = k.dims("R", "C", "P", "Q");
  const Tensor in = k.tensor<T>("in", {r, c}), out = k.tensor<T>("out", {p, q});
  auto buf = k.buffer<T>(1, {8, 16});
  auto full = k.barrier(1, 1);
  k.grid(1);
  k.task("main").warps(1).body([&] {
    full[0].expect(buf.bytes());
    full[0].load(buf[0], in, {0, 0});
    full[0].wait(0);
    k.fence();
    buf[0].copy_to(out, {0, 0});
    k.copies_drain();
  });
  return k;
}

// The same by a generic kernel and by a version that has the strides as constants.
TEST_F(Launch, BL_119_BL_121_RowsOfTensorMapsCountInBytes) {
  const auto rows_apart = [&]<class T>(int64_t columns, int64_t stride, T) {
    const auto module = eight_rows<T>().module();
    CompileOptions as;
    as.as = "sm_90a";
    const auto exe = engine.compile(*module, device, as);
    if (!exe) return to_string(exe.error());
    JitOptions o;
    o.other_tensors.strides = true;
    o.tier = Tier::wait;
    o.compile = as;
    const JitFunction f(engine, device, "eight_rows", *module, o);
    alignas(16) T in[8 * 512] = {}, out[2][8 * 16] = {};
    for (int64_t i = 0; i < 8 * columns; ++i) in[i / columns * stride + i % columns] = T(static_cast<float>(i % 100));
    const auto arguments = [&](T* to) {
      return std::vector<Argument>{tensor<T>(in, {8, columns}).with_strides({stride, 1}), tensor<T>(to, {8, 16})};
    };
    const std::string said = message(exe->launch(arguments(out[0])));
    EXPECT_EQ(message(f.launch(Stream(), arguments(out[1]))), said);
    EXPECT_EQ(f.counters().failures, 0u);
    if (said != "success") return said;
    for (const auto& result : out)
      for (int64_t i = 0; i < 8 * 16; ++i)
        EXPECT_EQ(static_cast<float>(result[i]),
                  i % 16 < columns ? static_cast<float>((i / 16 * columns + i % 16) % 100) : 0.f)
            << i;
    return said;
  };
  const auto refused = [](int64_t stride) {
    return "argument `in` has a stride of " + std::to_string(stride) +
           " bytes in dimension 0, no multiple of 16, which the copies of this target need: pad the rows";
  };
  EXPECT_EQ(rows_apart(511, 511, bf16()), refused(1022));
  EXPECT_EQ(rows_apart(4, 6, 0.f), refused(24));
  EXPECT_EQ(rows_apart(4, 4, 0.f), "success") << "16 bytes";
  EXPECT_EQ(rows_apart(8, 8, int8_t{}), refused(8));
  EXPECT_EQ(rows_apart(8, 16, int8_t{}), "success");
  EXPECT_EQ(rows_apart(8, 8, bf16()), "success") << "16 bytes";
}

/// Program p writes p + add to element p.
Kernel numbering() {
  Kernel k{"numbering"};
  const Index n = k.dim("N");
  Tensor out = k.tensor<int32_t>("out", {n});
  Scalar add = k.scalar<int32_t>("add");
  k.grid(n);
  k.task("main").warps(4).body([&](Task& t) {
    const Index p = k.program_id();
    out.store({p}, t.full<int32_t>({1}, p + add));
  });
  return k;
}

TEST_F(Launch, BL_117_BL_163_AsManyProgramsAsTheGridSays) {
  const Executable exe = compile(numbering());
  for (int64_t n : {1, 65535, 65536, 65538}) {
    std::vector<int32_t> out(static_cast<size_t>(n) + 1, -1);
    EXPECT_EQ(message(exe.launch({tensor<int32_t>(out.data(), {n}), 5})), "success");
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out[static_cast<size_t>(i)], i + 5);
    EXPECT_EQ(out.back(), -1);
  }
}

TEST_F(Launch, ArgumentsOfAListMadeAtRunTime) {
  const Executable exe = compile(numbering());
  std::vector<int32_t> out(5, -1);
  std::vector<Argument> arguments{tensor<int32_t>(out.data(), {5})};
  const auto missing = exe.launch(arguments);
  const uint32_t line = __LINE__ - 1;
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::bad_argument);
  EXPECT_EQ(missing.error().location, Location(__FILE__, line));
  arguments.emplace_back(3);
  EXPECT_EQ(message(exe.launch(arguments)), "success");
  EXPECT_EQ(out, (std::vector<int32_t>{3, 4, 5, 6, 7}));
  arguments[1] = 10;
  EXPECT_EQ(message(exe.launch(Stream(), arguments)), "success");
  EXPECT_EQ(out, (std::vector<int32_t>{10, 11, 12, 13, 14}));
}

TEST_F(Launch, BL_113_ScalarsAtTheEndsOfTheirTypePassWholeOrAreRefused) {
  const Executable exe = compile(numbering());
  int32_t out = 0;
  for (int64_t add : {int64_t{INT32_MAX}, int64_t{INT32_MIN}}) {
    EXPECT_EQ(message(exe.launch({tensor<int32_t>(&out, {1}), static_cast<int32_t>(add)})), "success");
    EXPECT_EQ(out, add);
  }
  for (int64_t add : {int64_t{INT32_MAX} + 1, int64_t{INT32_MIN} - 1}) {
    out = 77;
    EXPECT_THAT(message(exe.launch({tensor<int32_t>(&out, {1}), add})), ::testing::HasSubstr("`add`"));
    EXPECT_EQ(out, 77);
  }
}

/// Counts how often a value that starts as an argument can be halved.
Kernel halvings() {
  Kernel k{"halvings"};
  Scalar from = k.scalar<int32_t>("from");
  Tensor out = k.tensor<int64_t>("out", {2});
  k.grid(1);
  k.task("main").warps(4).body([&](Task& t) {
    Index x = from + 0, count = from * 0;
    k.loop([&] { return x > 1; },
           [&] {
             x = x / 2;
             count = count + 1;
           });
    out.store({0}, t.full<int64_t>({1}, from.to<int64_t>() * 42));
    out.store({1}, t.full<int64_t>({1}, count.to<int64_t>()));
  });
  return k;
}

TEST_F(Launch, BL_215_BL_217_AnArgumentOfOneIsLikeAnyOther) {
  const Executable exe = compile(halvings());
  for (const auto& [from, count] : {std::pair{1, 0}, {16, 4}, {3, 1}, {42, 5}, {0, 0}}) {
    int64_t out[2] = {-1, -1};
    EXPECT_EQ(message(exe.launch({tensor<int64_t>(out, {2}), from})), "success");
    EXPECT_EQ(out[0], int64_t{42} * from);
    EXPECT_EQ(out[1], count) << from;
  }
}

// The same where the number is known to the code: a constant, a multiple, a range.
TEST_F(Launch, BL_215_BL_217_AVersionForOneIsLikeThoseForOthers) {
  const std::tuple<const char*, Policy, size_t> policies[] = {
      {"exact", Policy::exact(), 5},                  // 0, 1, 3, 16 and 42
      {"powers of two", Policy::powers_of_two(), 4},  // up to 1, 4, 16 and 64
      {"divisible by 16", Policy::divisible(16), 2},
      {"divisible by 3", Policy::divisible(3), 2}};
  const std::pair<int32_t, int> calls[] = {{1, 0}, {16, 4}, {3, 1}, {42, 5}, {0, 0}, {1, 0}};
  const auto module = halvings().module();
  TLXJIT_MUST(module);
  for (const auto& [name, policy, versions] : policies)
    for (const bool backwards : {false, true}) {  // 1 before 42, and 42 before 1
      JitOptions o;
      o.numbers = {{"from", policy}};
      o.tier = Tier::wait;
      const JitFunction f(engine, device, "halvings", *module, o);
      for (size_t i = 0; i < std::size(calls); ++i) {
        const auto [from, count] = calls[backwards ? std::size(calls) - 1 - i : i];
        int64_t out[2] = {-1, -1};
        EXPECT_EQ(message(f.launch({tensor<int64_t>(out, {2}), from})), "success") << name << ' ' << from;
        EXPECT_EQ(out[0], int64_t{42} * from) << name << ' ' << from;
        EXPECT_EQ(out[1], count) << name << ' ' << from;
      }
      EXPECT_EQ(f.counters().failures, 0u) << name;
      EXPECT_EQ(f.counters().versions, versions) << name;
    }
}

TEST(LaunchPath, AllocatesNothing) {
  for (int threads : {1, 2}) {
    const Engine engine(options(threads));
    const Device device = *engine.device("cpu");
    auto exe = engine.compile(attention(attention_config("cpu", {.head = 64, .jagged = true})), device);
    TLXJIT_MUST(exe);
    std::vector<bf16> x(200 * 64), out(200 * 64);
    std::vector<float> lse(200);
    const int32_t offsets[] = {0, 90, 200};
    const auto launch = [&] {
      const TensorArg t = tensor<bf16>(x.data(), {200, 1, 64});
      return exe->launch({t, t, t, tensor<bf16>(out.data(), {200, 1, 64}), tensor<float>(lse.data(), {1, 200}),
                          tensor<int32_t>(offsets, {3}), arg("scale", 1.f)});
    };
    // The first launch makes what all threads need, whichever take part in it.
    if (auto done = launch(); !done) FAIL() << to_string(done.error());
    const int before = allocations_so_far();
    for (int i = 0; i < 100; ++i)
      if (auto done = launch(); !done) FAIL() << to_string(done.error());
    EXPECT_EQ(allocations_so_far(), before) << "with " << threads << " threads";
  }
}

TEST_F(Launch, ThreadsShareAnExecutable) {
  const Executable exe = compile(attention(attention_config("cpu", {.head = 64, .jagged = true})));
  const auto run = [&](float value, std::vector<float>& lse) {
    std::vector<bf16> x(150 * 64, bf16(value)), out(150 * 64);
    lse.resize(150);
    const int32_t offsets[] = {0, 50, 150};
    const TensorArg t = tensor<bf16>(x.data(), {150, 1, 64});
    for (int i = 0; i < 20; ++i) {
      lse.assign(150, -1.f);
      const auto done = exe.launch({t, t, t, tensor<bf16>(out.data(), {150, 1, 64}),
                                    tensor<float>(lse.data(), {1, 150}), tensor<int32_t>(offsets, {3}), 1.f});
      if (!done) ADD_FAILURE() << to_string(done.error());
    }
  };
  std::vector<float> first, second;
  std::thread other([&] { run(0.5f, first); });
  run(0.25f, second);
  other.join();
  for (size_t i = 0; i < 150; ++i) {
    const float keys = i < 50 ? 50.f : 100.f;
    for (auto [is, score] : {std::pair(first[i], 16), std::pair(second[i], 4)}) {
      const double exact = score + std::log(double(keys));
      EXPECT_NEAR(is, exact, reference::tolerance(exact, score, keys, 4 * reference::roundoff_f32));
    }
  }
}

TEST_F(Launch, ATensorBehindItsBufferIsRefused) {
  const Executable exe = compile(gemm(gemm_config("cpu")));
  alignas(16) bf16 room[256];
  const TensorArg some = tensor<bf16>(room, {8, 16}), none = tensor<bf16>(nullptr, {0, 16});
  const auto d = device.allocate(1024);
  TLXJIT_MUST(d);
  for (size_t offset : {size_t{1024}, size_t{1028}, size_t{1} << 40, SIZE_MAX})
    EXPECT_THAT(message(exe.launch({some, some, d->tensor<bf16>({8, 8}, offset)})),
                ::testing::HasSubstr("ends 128 bytes behind its buffer"))
        << offset;
  EXPECT_EQ(message(exe.launch({none, some, d->tensor<bf16>({0, 8}, 4096)})), "success");
  EXPECT_THAT(message(exe.launch({some, some, d->tensor<bf16>({8, 8}, 960)})), ::testing::HasSubstr("ends 64 bytes"));
}

TEST(LaunchPath, OutlivesTheEngine) {
  std::optional<Executable> exe;
  std::optional<Buffer> d;
  {
    const Engine engine(options());
    const Device device = *engine.device("cpu");
    auto made = engine.compile(gemm(gemm_config("cpu")), device);
    TLXJIT_MUST(made);
    exe = *made;
    d = *device.upload(std::vector<bf16>(64, bf16(7.f)));
  }
  const TensorArg none = tensor<bf16>(nullptr, {8, 0});
  EXPECT_EQ(message(exe->launch({none, none, d->tensor<bf16>({8, 8})})), "success");
  std::vector<bf16> result(64);
  TLXJIT_MUST(d->download(result));
  EXPECT_EQ(float(result[63]), 0.f);
}

}  // namespace
}  // namespace tlxjit::runtime_test

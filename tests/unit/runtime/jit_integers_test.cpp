// tests/unit/runtime/jit_integers_test.cpp — classes of integer parameters of all types, and their ends.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <limits>

#include "tests/unit/runtime/jit_fixture.h"

namespace tlxjit::runtime_test {
namespace {

using testing::HasSubstr;

struct Integers : EngineTest {
  JitFunction function(Policy policy) {
    JitOptions o;
    o.numbers = {{"n", std::move(policy)}};
    o.tier = Tier::wait;
    return {engine, device, "says", says, std::move(o)};
  }
  /// out = {n < 100, n % 3 = 0}.
  static Kernel says(const Signature& signature, const Config&) {
    Kernel k{"says"};
    const Tensor out = k.tensor<int32_t>("out", {2});
    const Scalar n = k.scalar(signature.arguments[1].elem, "n");
    k.grid(1);
    k.task("main").body([&](Task& t) {
      const auto put = [&](int at, Scalar condition) {
        const auto store = [&](int32_t x) { return [=, &t, &out] { out.store({at}, t.full<int32_t>({1}, x)); }; };
        k.when(condition, store(1), store(0));
      };
      put(0, n < 100);
      put(1, n % 3 == 0);
    });
    return k;
  }
  template <class T>
  static void call(const JitFunction& f, T n) {
    int32_t out[2] = {-7, -7};
    TLXJIT_MUST(f.launch({tensor<int32_t>(out, {2}), n}));
    EXPECT_EQ(out[0], n < 100) << +n;
    EXPECT_EQ(out[1], n % 3 == 0) << +n;
  }
  template <class T>
  void ends() {
    using L = std::numeric_limits<T>;
    for (const Policy& policy : {Policy::exact(), Policy::divisible(3), Policy::divisible(1000),
                                 Policy::powers_of_two(), Policy::buckets({-5, 16, 70000})}) {
      const JitFunction f = function(policy);
      for (const T n : {L::min(), T(L::min() + 1), T(0), T(1), T(16), T(65), T(99), T(100), T(L::max() / 2),
                        T(L::max() / 2 + 1), T(L::max() - 1), L::max()})
        call(f, n);
      const JitCounters counters = f.counters();
      EXPECT_EQ(counters.failures, 0u) << policy.text() << " of " << to_string(elem_of<T>);
    }
  }
};

TEST_F(Integers, BL_113_EveryClassOfEveryTypeCompiles) {
  ends<int8_t>();
  ends<uint8_t>();
  ends<int16_t>();
  ends<uint16_t>();
  ends<int32_t>();
  ends<uint32_t>();
  ends<int64_t>();
  ends<uint64_t>();
}

TEST_F(Integers, BL_113_ANumberThatDoesNotFitIsRefusedAndNotCut) {
  const auto module = says({{{true, Elem::i32, 1, ""}, {false, Elem::i32, 0, ""}}, "cpu"}, {}).module();
  TLXJIT_MUST(module);
  for (const Policy& policy : {Policy::any(), Policy::exact(), Policy::divisible(3), Policy::powers_of_two()}) {
    JitOptions o;
    o.numbers = {{"n", policy}};
    o.tier = Tier::wait;
    const JitFunction f(engine, device, "says", *module, o);
    for (const int64_t n : {int64_t{1} << 31, -(int64_t{1} << 31) - 1}) {
      int32_t out[2] = {-7, -7};
      EXPECT_THAT(message(f.launch({tensor<int32_t>(out, {2}), n})), HasSubstr("wants i32")) << policy.text();
      EXPECT_EQ(out[0], -7) << "nothing ran";
      call(function(policy), n);  // of a generator, which makes the kernel for an i64
    }
    call(f, INT32_MAX);
    call(f, INT32_MIN);
  }
}

TEST_F(Integers, NumbersThatOnlyU64HasAreAClassOfTheirOwn) {
  constexpr uint64_t half = uint64_t{1} << 63;
  for (const auto& [policy, versions] : {std::pair{Policy::exact(), 2u},
                                         {Policy::divisible(3), 2u},
                                         {Policy::powers_of_two(), 2u},
                                         {Policy::buckets({16, 64}), 2u}}) {
    const JitFunction f = function(policy);
    for (const uint64_t n : {half + 5, half, UINT64_MAX, UINT64_MAX - 2}) call(f, n);
    call(f, uint64_t{9});
    EXPECT_EQ(f.counters().versions, versions) << policy.text();
  }
}

TEST_F(Integers, PromisesOfU64AreCheckedUnsigned) {
  constexpr uint64_t half = uint64_t{1} << 63;
  const JitFunction f = function(Policy::buckets({16}));
  int32_t out[2] = {};
  const TensorArg to = tensor<int32_t>(out, {2});
  auto small = f.version({to, uint64_t{9}});
  TLXJIT_MUST(small);
  EXPECT_EQ(message(small->launch({to, half + 5})),
            "argument `n` is 9223372036854775813, and the kernel was promised at most 16");
  const JitFunction g = function(Policy::divisible(3));
  auto threes = g.version({to, uint64_t{9}});
  TLXJIT_MUST(threes);
  EXPECT_EQ(message(threes->launch({to, UINT64_MAX - 2})),  // −3 as i64
            "argument `n` is 18446744073709551613, and the kernel was promised a multiple of 3");
  EXPECT_EQ(message(threes->launch({to, UINT64_MAX})), "success");

  const auto promised = [&](const char* name, int64_t number) {
    auto module = says({{{true, Elem::i32, 1, ""}, {false, Elem::u64, 0, ""}}, "cpu"}, {}).module();
    EXPECT_TRUE(module.ok());
    for (const auto& op : module->body.ops)
      if (op->code == OpCode::scalar) op->attrs.set(name, number);
    auto exe = engine.compile(*module, device);
    EXPECT_TRUE(exe.ok());
    return message(exe->launch({to, UINT64_MAX}));
  };
  EXPECT_EQ(promised("min", 0), "success");
  EXPECT_EQ(promised("min", INT64_MAX), "success");
  EXPECT_THAT(promised("max", INT64_MAX), HasSubstr("promised at most 9223372036854775807"));
}

}  // namespace
}  // namespace tlxjit::runtime_test

// tests/unit/runtime/jit_memory_test.cpp — calls that differ in where their tensors lie, or in nothing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstring>
#include <new>

#include "tests/unit/runtime/jit_fixture.h"

namespace tlxjit::runtime_test {
namespace {

using testing::SizeIs;

struct Memory : JitTest {
  static constexpr int64_t size = 200;
  alignas(16) bf16 in[size + 8], out[size + 8];

  void SetUp() override {
    for (size_t i = 0; i < size + 8; ++i) in[i] = bf16(static_cast<float>(i % 61));
  }
  /// Both tensors begin so many elements behind an aligned address.
  void call_at(const JitFunction& f, size_t offset) {
    std::fill(std::begin(out), std::end(out), bf16(-7.f));
    TLXJIT_MUST(f.launch({tensor<bf16>(in + offset, {size}), tensor<bf16>(out + offset, {size}), int32_t{3}}));
    for (size_t i = 0; i < size + 8; ++i)
      ASSERT_EQ(float(out[i]), i >= offset && i < offset + size ? 2 * float(in[i]) + 3 : -7.f) << i;
  }
};

TEST_F(Memory, BL_131_AnUnalignedCallAfterAnAlignedOne) {
  for (const Tier tier : {Tier::wait, Tier::background, Tier::warn}) {
    JitOptions o;
    o.tier = tier;
    const JitFunction f = function(o);
    for (int round = 0; round < 3; ++round) {
      for (size_t offset : {0, 1, 8, 3}) call_at(f, offset);
      f.wait();
    }
    if (tier != Tier::warn) {
      EXPECT_EQ(f.counters().versions, 2u) << "aligned, and not";
    }
  }
  // The executable itself says what it was promised.
  const JitFunction f = function();
  auto aligned = f.version({tensor<bf16>(in, {size}), tensor<bf16>(out, {size}), int32_t{3}});
  TLXJIT_MUST(aligned);
  EXPECT_EQ(message(aligned->launch({tensor<bf16>(in + 1, {size}), tensor<bf16>(out, {size}), int32_t{3}})),
            "argument `in` begins at an address that is no multiple of the promised 16 bytes");
}

/// Leaves bytes where the caller's next objects will lie.
[[gnu::noinline]] void soil_stack(int byte) {
  volatile char room[8192];
  std::memset(const_cast<char*>(room), byte, sizeof room);
}

TEST_F(Memory, BL_133_EqualCallsOverDirtyMemoryAreOneKey) {
  JitOptions o;
  o.tier = Tier::wait;
  o.other_tensors.strides = true;
  const JitFunction f = function(o);
  alignas(Argument) unsigned char room[3 * sizeof(Argument)];
  for (int i = 0; i < 5000; ++i) {
    soil_stack(i);
    std::memset(room, i * 37, sizeof room);
    auto* const arguments = reinterpret_cast<Argument*>(room);
    new (arguments) Argument(tensor<bf16>(in, {size}));
    new (arguments + 1) Argument(tensor<bf16>(out, {size}));
    new (arguments + 2) Argument(int32_t{3});
    TLXJIT_MUST(f.launch(Stream(), {arguments, 3}));
  }
  const JitCounters counters = f.counters();
  EXPECT_EQ(counters.signatures, 1u);
  EXPECT_EQ(counters.misses, 1u);
  EXPECT_EQ(counters.versions, 1u);
  EXPECT_THAT(f.keys(), SizeIs(1));
  EXPECT_EQ(engine.counters().compiles, 1u);
}

}  // namespace
}  // namespace tlxjit::runtime_test

// tests/unit/runtime/jit_versions_test.cpp — the table of versions: what stands in, what goes, what is used meanwhile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/jit_versions_p.h"

#include "tests/unit/runtime/jit_fixture.h"

namespace tlxjit::runtime_test {
namespace {

using runtime::CallClass;
using runtime::Family;
using runtime::Standing;
using runtime::VersionTable;
using runtime::VersionUse;
using testing::IsEmpty;
using testing::SizeIs;

/// A family whose keys are of three numbers: of N, of n and of `in`.
struct VersionsTest : EngineTest {
  JitOptions policies = [] {
    JitOptions o;
    o.numbers = {{"N", Policy::exact()}, {"n", Policy::divisible(16)}};
    o.tensors = {{"in", {.aligned = true, .narrow = false}}};
    o.other_tensors = {.aligned = false, .narrow = false};
    return o;
  }();
  alignas(16) float in[80] = {}, out[80] = {};
  std::unique_ptr<Family> family = [&] {
    const auto all = arguments(64, 16);
    auto signature = runtime::signature_of(all, "cpu");
    auto module = doubled(*signature, {}).module();
    return Family::make(*signature, std::move(*module), policies, 1).value();
  }();
  VersionTable table;
  std::vector<Executable> dropped;

  std::vector<Argument> arguments(int64_t size, int32_t n, bool aligned = true) {
    return {tensor<float>(aligned ? in : in + 1, {size}), tensor<float>(out, {size}), n};
  }
  CallClass class_of(const std::vector<Argument>& arguments) const {
    CallClass c;
    family->classify(arguments, c);
    return c;
  }
  Executable any() { return compile(doubled({}, {})); }
  VersionTable::Put put(const CallClass& c, const Executable& exe, Standing standing = Standing::own, size_t most = 8,
                        VersionTable::Room room = VersionTable::Room::any) {
    return table.put({family.get(),
                      {c.view().begin(), c.view().end()},
                      c.hash,
                      exe,
                      standing,
                      standing == Standing::own ? family->promises(c.view()) : Promises()},
                     most, room, dropped);
  }
  /// Whether a version runs this code.
  static bool runs(const runtime::Version* v, const Executable& exe) {
    return v && &v->executable->name() == &exe.name();
  }
};

TEST_F(VersionsTest, TheMostSpecialOfThoseThatAreValidIsChosen) {
  CompileOptions anew;
  anew.reuse = false;
  const auto made = [&] { return *engine.compile(doubled({}, {}), device, anew); };
  const Executable size = made(), number = made(), both = made(), all = made(), other = made();
  const auto call = arguments(64, 32);
  const auto most = [&] { return table.most_special(*family, call); };
  EXPECT_EQ(most(), nullptr);
  put(class_of(arguments(64, 17, false)), size);  // N = 64
  EXPECT_TRUE(runs(most(), size));
  put(class_of(arguments(65, 16)), other);  // not valid: N = 65, n % 16 = 0, in aligned
  EXPECT_TRUE(runs(most(), size));
  put(class_of(arguments(64, 16, false)), both);  // N = 64, n % 16 = 0
  EXPECT_TRUE(runs(most(), both));
  put(class_of(arguments(64, 17)), number);  // N = 64, in aligned: less
  EXPECT_TRUE(runs(most(), both));
  put(class_of(call), all, Standing::queued);  // only stands in
  EXPECT_TRUE(runs(most(), both));
  put(class_of(call), all);
  EXPECT_TRUE(runs(most(), all));
}

TEST_F(VersionsTest, WhatStandsInReplacesNoVersionOfTheKeysOwn) {
  const CallClass c = class_of(arguments(64, 16));
  EXPECT_TRUE(put(c, any(), Standing::queued).in);
  EXPECT_TRUE(put(c, any()).in);
  EXPECT_FALSE(put(c, any(), Standing::queued).in);
  const VersionUse use = table.find(family.get(), c);
  ASSERT_TRUE(use);
  EXPECT_TRUE(use->own());
  EXPECT_EQ(table.own_count(), 1u);
}

// It is never out of its slot, where a launch of a sealed function would look in vain.
TEST_F(VersionsTest, AKeysOwnVersionStaysWhenItIsPutAgain) {
  const CallClass c = class_of(arguments(64, 16));
  ASSERT_TRUE(put(c, any()).in);
  const runtime::Version* const first = table.at(family.get(), c);
  VersionUse use = table.find(family.get(), c);
  EXPECT_FALSE(put(c, any()).in);
  EXPECT_EQ(table.at(family.get(), c), first);
  EXPECT_FALSE(use.leave()) << "it was taken out";
  EXPECT_THAT(dropped, IsEmpty());
}

TEST_F(VersionsTest, OwnVersionsStayWhereOnlyOthersMayGo) {
  constexpr auto stand_ins = VersionTable::Room::stand_ins;
  const auto key = [&](int32_t size) { return class_of(arguments(size, 16)); };
  EXPECT_TRUE(put(key(1), any(), Standing::own, 2, stand_ins).in);
  EXPECT_TRUE(put(key(2), any(), Standing::stable, 2, stand_ins).in);
  EXPECT_TRUE(table.has_room(2, stand_ins));
  const auto third = put(key(3), any(), Standing::own, 2, stand_ins);
  EXPECT_TRUE(third.in);
  EXPECT_EQ(third.evicted, 1u);
  EXPECT_FALSE(table.has_room(2, stand_ins));
  EXPECT_FALSE(put(key(4), any(), Standing::own, 2, stand_ins).in);
  EXPECT_TRUE(table.at(family.get(), key(1)) && table.at(family.get(), key(3)));
  EXPECT_TRUE(put(key(4), any(), Standing::own, 2).in);
  EXPECT_EQ(table.at(family.get(), key(1)), nullptr) << "the least recently used";
}

// Keys whose hashes are equal are told apart by themselves; where there are more than are looked for at one place, one
// makes room for another.
TEST_F(VersionsTest, BL_205_KeysOfOneHashAreTwoVersions) {
  CompileOptions anew;
  anew.reuse = false;
  const auto key = [&](int64_t size) {
    CallClass c = class_of(arguments(size, 16));
    c.hash = 12345;
    return c;
  };
  constexpr int64_t keys = 18;
  std::vector<Executable> made;
  for (int64_t i = 0; i < keys; ++i) made.push_back(*engine.compile(doubled({}, {}), device, anew));
  const auto check = [&](int64_t i) {
    const VersionUse use = table.find(family.get(), key(i));
    EXPECT_TRUE(!use || runs(&*use, made[static_cast<size_t>(i)])) << i << " runs another's code";
    EXPECT_EQ(table.at(family.get(), key(i)) != nullptr, static_cast<bool>(use)) << i;
    return static_cast<bool>(use);
  };
  size_t evicted = 0;
  for (int64_t i = 0; i < keys; ++i) {
    EXPECT_FALSE(check(i));
    const auto done = put(key(i), made[static_cast<size_t>(i)], Standing::own, 64);
    EXPECT_TRUE(done.in) << i;
    evicted += done.evicted;
    EXPECT_TRUE(check(i)) << i;
    EXPECT_TRUE(i != 1 || check(0)) << "both are in";
  }
  int64_t in = 0;
  for (int64_t i = 0; i < keys; ++i) in += check(i);
  EXPECT_EQ(in, keys - static_cast<int64_t>(evicted));
  EXPECT_EQ(evicted, 2u) << "16 have room";
  EXPECT_THAT(dropped, SizeIs(evicted));
}

TEST_F(VersionsTest, OneThatIsTakenOutWhileItIsUsedEndsAfterThat) {
  const CallClass c = class_of(arguments(64, 16));
  put(c, any());
  VersionUse first = table.find(family.get(), c), second = table.find(family.get(), c);
  ASSERT_TRUE(first && second);
  put(class_of(arguments(65, 16)), any(), Standing::own, 1);
  EXPECT_THAT(dropped, IsEmpty());
  EXPECT_FALSE(table.find(family.get(), c));
  EXPECT_TRUE(first.leave());
  table.collect(dropped);
  EXPECT_THAT(dropped, IsEmpty()) << "the other is inside";
  EXPECT_TRUE(second.leave());
  table.collect(dropped);
  EXPECT_THAT(dropped, SizeIs(1));
  VersionUse last = table.find(family.get(), class_of(arguments(65, 16)));
  ASSERT_TRUE(last);
  EXPECT_FALSE(last.leave()) << "it is in";
}

}  // namespace
}  // namespace tlxjit::runtime_test

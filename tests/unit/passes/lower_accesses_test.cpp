// tests/unit/passes/lower_accesses_test.cpp — accesses to views become accesses to the tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include "tests/unit/passes/lowering.h"

#include "tlxjit/builder/kernel.h"
#include "tlxjit/ir/text.h"

namespace tlxjit {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string lowered_text(const std::function<void(Kernel&, Tensor, Task&)>& body, const char* target = "cpu") {
  Kernel k{"k"};
  const Index n = k.dim("N");
  const Tensor x = k.tensor<float>("x", {n, n, n});
  k.grid(n);
  k.task("t").body([&](Task& t) { body(k, x, t); });
  auto module = k.module();
  EXPECT_TRUE(module) << to_string(module.error());
  if (!module) return {};
  auto lowered = lower(*module, with_all_ops(target));
  EXPECT_TRUE(lowered) << to_string(lowered.error());
  return lowered ? print(*lowered) : std::string();
}

TEST(LowerAccesses, BoxesGetAbsoluteCoordinates) {
  for (const char* target : {"cpu", "sm_90a"})
    EXPECT_THAT(lowered_text(
                    [](Kernel& k, Tensor x, Task& t) {
                      const Tensor view = x.at(0, 7).window(0, 3, k.program_id());
                      const Tile tile = view.load_tile({0, 0}, {8, 4}, {.other = 1.0f});
                      view.store({0, 0}, tile, {.mask = t.iota({8, 4}, 0) > 2});
                    },
                    target),
                AllOf(HasSubstr("[box = <1, 8, 4>, ragged = 1] : tile<8x4xf32>"), HasSubstr("tile.store.masked"),
                      Not(HasSubstr("window")), Not(HasSubstr("select_axis"))));
}

TEST(LowerAccesses, IndicesOutsideAWindowBecomeOutsideAll) {
  EXPECT_THAT(
      lowered_text([](Kernel&, Tensor x, Task& t) {
        const Tile i = t.iota({8}, 0);
        const Tile found = x.at(0, 7).window(0, 3, 5).load_at({i, i});
        (void)x.window(2, 1, 1).atomic(Atomic::add, {0, 1, i}, found);
      }),
      AllOf(HasSubstr("[value = -1] : i64"), HasSubstr("load.at"), HasSubstr("atomic.tile"), Not(HasSubstr("window"))));
}

TEST(LowerAccesses, ScalarLoadsOfViews) {
  EXPECT_THAT(lowered_text([](Kernel& k, Tensor x, Task& t) {
                const Scalar s = x.at(0, k.program_id()).at(0, 2).load({5});
                x.at(0, 0).at(0, 0).store({0}, t.full<float>({4}, s));
              }),
              AllOf(HasSubstr("= load %"), Not(HasSubstr("select_axis"))));
}

}  // namespace
}  // namespace tlxjit

// tests/tiles/many_test.cpp — kernels of so many tiles that the CPU compiles them with fewer passes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/tiles/fixture.h"

namespace tiles_test {
namespace {

TEST(ManyTiles, AreCarriedByALoop) {
  constexpr int tiles = 200, rows = 3, columns = 20, turns = 3;
  Data<Elem::i32> x({tiles * rows, columns}), out({tiles * rows, columns});
  Random random(7);
  std::vector<uint32_t> wanted;
  for (int i = 0; i < tiles * rows * columns; ++i) {
    x[i] = static_cast<int32_t>(random.integer(INT32_MIN, INT32_MAX));
    wanted.push_back(static_cast<uint32_t>(x[i]));
  }
  Kernel k{"many"};
  const Tensor tx = k.tensor<int32_t>("x", {tiles * rows, columns}),
               to = k.tensor<int32_t>("o", {tiles * rows, columns});
  in_task(k, [&](Task&) {
    std::vector<Tile> all;
    for (int i = 0; i < tiles; ++i) all.push_back(tx.load_tile({i * rows, 0}, {rows, columns}));
    k.range(turns).each([&] {
      for (size_t i = 0; i < tiles; ++i) all[i] = all[i] * 3 + all[(i + 1) % tiles];
    });
    for (int i = 0; i < tiles; ++i) to.store({i * rows, 0}, all[static_cast<size_t>(i)]);
  });
  TLXJIT_MUST(run(k, {x, out}));
  constexpr size_t elements = rows * columns;
  for (int turn = 0; turn < turns; ++turn)
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = wanted[i] * 3 + wanted[(i + elements) % wanted.size()];
  for (int i = 0; i < tiles * rows * columns; ++i)
    ASSERT_EQ(static_cast<uint32_t>(out[i]), wanted[static_cast<size_t>(i)]) << "element " << i;
}

}  // namespace
}  // namespace tiles_test

// tests/unit/cpu/copy_test.cpp — boxes between tensors and shared memory, inside, across and outside of bounds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>

#include "tests/unit/cpu/plugin_p.h"

namespace cpu_test {
namespace {

// Copies the box <8, 1, 16> at (row, head, column) through a buffer; `RAGGED` and the bounds limit the rows.
const char* const box_text = R"(tlx 1 lowered cpu
kernel "box" [threads = 32, shared_bytes = 512] {
  %rows = dim [name = "T"] : i32
  %heads = dim [name = "H"] : i32
  %columns = dim [name = "D"] : i32
  %x = tensor %rows, %heads, %columns [name = "x"] : tensor<3xu16>
  %y = tensor %rows, %heads, %columns [name = "y"] : tensor<3xu16>
  %row = scalar [name = "row"] : i32
  %head = scalar [name = "head"] : i32
  %column = scalar [name = "column"] : i32
  %load_bound = scalar [name = "load_bound"] : i32
  %store_bound = scalar [name = "store_bound"] : i32
  %zero = const [value = 0] : i32
  %one = const [value = 1] : i32
  grid %one
  %buf = buffer [swizzle = 32, offset = 0] : buffer<1, 8x16xu16>
  %bar = barrier [count = 1, name = "full", offset = 256] : barrier<1>
  task [name = "main", warps = 1, replicas = 1, registers = 0] {
    copy.load %x, %buf, %zero, %bar, %zero, %row, %head, %columnLOAD [box = <8, 1, 16>, ragged = RAGGED]
    expect %bar, %zero [bytes = 256]
    wait %bar, %zero, %zero
    fence
    copy.store %y, %buf, %zero, %row, %head, %columnSTORE [box = <8, 1, 16>, ragged = RAGGED]
    copy.drain [pending = 0, read = 0]
  }
}
)";

std::string box_kernel(bool ragged) {
  std::string text = box_text;
  auto replace = [&](const std::string& what, const std::string& by) {
    for (size_t at; (at = text.find(what)) != std::string::npos;) text.replace(at, what.size(), by);
  };
  replace("LOAD", ragged ? ", %load_bound" : "");
  replace("STORE", ragged ? ", %store_bound" : "");
  replace("RAGGED", ragged ? "0" : "-1");
  return numbered(text);
}

void check(bool ragged) {
  Random random;
  Kernel kernel(box_kernel(ragged));
  ASSERT_COMPILED(kernel);
  for (int round = 0; round < 500; ++round) {
    const int t = random.integer(1, 20), h = random.integer(1, 3), d = random.integer(1, 40);
    Tensor<uint16_t> x({t, h, d}), y({t, h, d});
    for (uint16_t& v : x.data) v = uint16_t(random.integer(1, 60000));
    for (uint16_t& v : y.data) v = 0xfffe;
    const int row = random.integer(-12, 24), head = random.integer(-1, 3), column = random.integer(-20, 44);
    const int load_bound = random.integer(0, 24), store_bound = random.integer(0, 24);
    Launch launch;
    launch.dims = {t, h, d};
    launch.tensors = {x, y};
    launch.scalars = {bits_of(row), bits_of(head), bits_of(column), bits_of(load_bound), bits_of(store_bound)};
    ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_OK) << kernel.failure.message;
    for (int i = 0; i < t; ++i)
      for (int j = 0; j < h; ++j)
        for (int k = 0; k < d; ++k) {
          const bool inside =
              i >= row && i < row + 8 && j == head && k >= column && k < column + 16 && (!ragged || i < store_bound);
          const size_t at = size_t((i * h + j) * d + k);
          const uint16_t loaded = !ragged || i < load_bound ? x.data[at] : 0;
          ASSERT_EQ(y.data[at], inside ? loaded : 0xfffe) << i << ' ' << j << ' ' << k;
        }
  }
}

TEST(Copy, BoxesAcrossTheTensorsBounds) { check(false); }
TEST(Copy, RaggedBounds) { check(true); }

// A scalar load of a tensor with strides, and a tile store with a ragged bound.
const char* const load_text = R"(tlx 1 lowered cpu
kernel "load" [threads = 128, shared_bytes = 0] {
  %n = dim [name = "N"] : i32
  %m = dim [name = "M"] : i32
  %x = tensor %n, %m [name = "x"] : tensor<2xbf16>
  %y = tensor %n, %m [name = "y"] : tensor<2xf32>
  %i = scalar [name = "i"] : i32
  %j = scalar [name = "j"] : i32
  %bound = scalar [name = "bound"] : i32
  %zero = const [value = 0] : i32
  %one = const [value = 1] : i32
  grid %one
  task [name = "main", warps = 4, replicas = 1, registers = 0] {
    %v = load %x, %i, %j : bf16
    %f = cast %v : f32
    %t = splat %f : tile<64x8xf32>
    tile.store %y, %t, %zero, %j, %bound [box = <64, 8>, ragged = 0]
  }
}
)";

TEST(Copy, ScalarLoadAndTileStore) {
  Random random;
  Kernel kernel(numbered(load_text));
  ASSERT_COMPILED(kernel);
  Tensor<bf16> x({10, 12});
  Tensor<float> y({10, 12});
  x.fill(random);
  Launch launch;
  launch.dims = {10, 12};
  launch.tensors = {x, y};
  launch.scalars = {7, 5, 3};
  ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_OK) << kernel.failure.message;
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 12; ++j) {
      const float got = y.data[size_t(i * 12 + j)];
      if (i < 3 && j >= 5)
        ASSERT_EQ(got, float(x.data[7 * 12 + 5]));
      else
        ASSERT_TRUE(std::isnan(got));
    }
}

}  // namespace
}  // namespace cpu_test

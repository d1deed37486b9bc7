// tests/unit/runtime/map_spec_test.cpp — tensor maps of a call's tensors: plain, jagged, without elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/nvidia/loaded_kernel_p.h"

namespace tlxjit::nvidia {
namespace {

using ::testing::ElementsAre;

AbiTensor tensor3() {
  AbiTensor t;
  t.elem = Elem::bf16;
  t.extents = {0, 1, 2};
  return t;
}

runtime::BoundTensor rows(int64_t n) {
  runtime::BoundTensor b;
  b.data = reinterpret_cast<void*>(0x10000);
  b.dims = {n, 4, 128};
  b.strides = {600, 144, 1};
  b.empty = n == 0;
  return b;
}

AbiMap map_of(int ragged) {
  AbiMap m;
  m.box = {64, 1, 64};
  m.swizzle = 128;
  m.ragged = ragged;
  return m;
}

TEST(MapSpec, Plain) {
  const TensorMapSpec s = map_spec(map_of(-1), tensor3(), rows(1000), 0x500);
  EXPECT_EQ(s.base, 0x10000u);
  EXPECT_EQ(s.rank, 3u);
  EXPECT_THAT(std::vector(s.dims.begin(), s.dims.begin() + 3), ElementsAre(128, 4, 1000));
  EXPECT_THAT(std::vector(s.byte_strides.begin(), s.byte_strides.begin() + 2), ElementsAre(288, 1200));
  EXPECT_THAT(std::vector(s.box.begin(), s.box.begin() + 3), ElementsAre(64, 1, 64));
}

TEST(MapSpec, JaggedRowsEndAtAMovingBound) {
  const TensorMapSpec s = map_spec(map_of(0), tensor3(), rows(1000), 0x500);
  EXPECT_EQ(s.rank, 5u);
  EXPECT_THAT(s.dims, ElementsAre(128, 4, 1u << 30, 0x7fff0000, 0x7fff0000));
  EXPECT_THAT(s.byte_strides, ElementsAre(288, 1200, 1200, (uint64_t{1} << 34) - 1200));
  EXPECT_THAT(s.box, ElementsAre(64, 1, 64, 1, 1));
  // The address of row c under any bound is that of c.
  for (uint64_t bound : {1u, 300u, 1000u})
    for (uint64_t c : {0u, 7u, 999u}) {
      const uint64_t at = ((uint64_t{1} << 30) - bound + c) * s.byte_strides[1] + bound * s.byte_strides[2] +
                          (uint64_t{1} << 30) * s.byte_strides[3];
      EXPECT_EQ(at, c * 1200);
    }
}

TEST(MapSpec, WithoutElementsNothingOfTheTensorIsTouched) {
  for (int ragged : {-1, 0}) {
    const TensorMapSpec s = map_spec(map_of(ragged), tensor3(), rows(0), 0x500);
    EXPECT_EQ(s.base, 0x500u);
    for (uint32_t i = 0; i < s.rank; ++i) EXPECT_EQ(s.dims[i], 1u);
    for (uint32_t i = 0; i + 1 < s.rank; ++i) EXPECT_EQ(s.byte_strides[i], 16u);
  }
}

}  // namespace
}  // namespace tlxjit::nvidia

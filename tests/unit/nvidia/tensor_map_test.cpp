// tests/unit/nvidia/tensor_map_test.cpp — what a tensor map may describe, and what is refused and why.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "backends/nvidia/launch_p.h"
#include "tests/unit/nvidia/fake_driver.h"

using namespace tlxjit;
using namespace tlxjit::nvidia;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TensorMapSpec matrix() {
  TensorMapSpec spec;
  spec.base = 0x7f0000000000;
  spec.rank = 2;
  spec.dims = {4096, 8192};
  spec.byte_strides = {8192};
  spec.box = {64, 128};
  spec.swizzle = 128;
  return spec;
}

std::string refusal(const std::function<void(TensorMapSpec&)>& change) {
  const auto driver = fake_driver();
  auto spec = matrix();
  change(spec);
  CuTensorMap map;
  const auto result = encode_tensor_map(*driver, spec, map);
  if (result.ok()) return "";
  EXPECT_EQ(result.error().kind, ErrorKind::user);
  EXPECT_EQ(result.error().code, ErrorCode::bad_argument);
  EXPECT_EQ(fake_log().encoded, 0);
  return result.error().message;
}

TEST(TensorMap, EncodesAMatrix) {
  const auto driver = fake_driver();
  CuTensorMap map;
  ASSERT_TRUE(encode_tensor_map(*driver, matrix(), map).ok());
  EXPECT_EQ(fake_log().tensor_type, 9);  // BFLOAT16
  EXPECT_EQ(fake_log().swizzle, 3);      // 128B
  EXPECT_THAT(fake_log().dims, ElementsAre(4096, 8192));
  EXPECT_THAT(fake_log().strides, ElementsAre(8192));
}

// A ragged batch: a huge first dimension whose stride wraps the address around, so that the copy is
// cut off exactly at a sequence's end.
TEST(TensorMap, WrapAroundStridesPass) {
  EXPECT_EQ(refusal([](auto& s) {
              s.rank = 4;
              s.dims = {128, uint64_t{1} << 30, 8192, uint64_t{1} << 32};
              s.byte_strides = {256, (uint64_t{1} << 34) - 256, (uint64_t{1} << 40) - 16};
              s.box = {64, 128, 1, 1};
            }),
            "");
}

TEST(TensorMap, RefusalsNameTheDimension) {
  EXPECT_THAT(refusal([](auto& s) { s.rank = 0; }), HasSubstr("rank 0"));
  EXPECT_THAT(refusal([](auto& s) { s.rank = 6; }), HasSubstr("rank 6"));
  EXPECT_THAT(refusal([](auto& s) { s.base = 0; }), HasSubstr("null"));
  EXPECT_THAT(refusal([](auto& s) { s.base += 8; }), HasSubstr("multiple of 16"));
  EXPECT_THAT(refusal([](auto& s) { s.dims[1] = 0; }), HasSubstr("dimension 1 has 0 elements"));
  EXPECT_THAT(refusal([](auto& s) { s.dims[0] = (uint64_t{1} << 32) + 1; }), HasSubstr("dimension 0"));
  EXPECT_THAT(refusal([](auto& s) { s.byte_strides[0] = 8200; }),
              HasSubstr("stride of dimension 1 is 8200 bytes, not a multiple of 16"));
  EXPECT_THAT(refusal([](auto& s) { s.byte_strides[0] = uint64_t{1} << 40; }), HasSubstr("below 2^40"));
  EXPECT_THAT(refusal([](auto& s) { s.box[1] = 257; }), HasSubstr("257 wide in dimension 1"));
  EXPECT_THAT(refusal([](auto& s) { s.box[1] = 0; }), HasSubstr("0 wide"));
  EXPECT_THAT(refusal([](auto& s) { s.box[0] = 4; }), HasSubstr("rows have 8 bytes"));
  EXPECT_THAT(refusal([](auto& s) { s.box[0] = 128; }), HasSubstr("rows have 256 bytes and a swizzle of 128"));
  EXPECT_THAT(refusal([](auto& s) { s.swizzle = 48; }), HasSubstr("no swizzle of 48"));
  EXPECT_THAT(refusal([](auto& s) { s.l2_promotion = 1; }), HasSubstr("L2 promotion"));
}

TEST(TensorMap, BL_119_BL_121_StridesCountInBytes) {
  /// A matrix whose rows are `elements` apart.
  const auto rows_of = [](TensorElem elem, uint64_t elements) {
    return refusal([=](TensorMapSpec& s) {
      s.elem = elem;
      s.dims = {4, 4};
      s.byte_strides = {elements * size_of(elem)};
      s.box = {static_cast<uint32_t>(16 / size_of(elem)), 4};
      s.swizzle = 0;
    });
  };
  EXPECT_EQ(rows_of(TensorElem::f32, 4), "");
  EXPECT_EQ(rows_of(TensorElem::bf16, 8), "");
  EXPECT_THAT(rows_of(TensorElem::u8, 8), HasSubstr("stride of dimension 1 is 8 bytes, not a multiple of 16"));
  EXPECT_THAT(rows_of(TensorElem::bf16, 511), HasSubstr("stride of dimension 1 is 1022 bytes, not a multiple of 16"));
}

TEST(TensorMap, WideRowsPassWithoutSwizzle) {
  EXPECT_EQ(refusal([](auto& s) { s.box[0] = 256, s.swizzle = 0; }), "");
  EXPECT_EQ(refusal([](auto& s) { s.elem = TensorElem::f32, s.box[0] = 32, s.byte_strides[0] = 16384; }), "");
  EXPECT_EQ(refusal([](auto& s) { s.rank = 1; }), "");
}

TEST(TensorMap, OldDriverCannotReplaceTheAddress) {
  const auto driver = fake_driver();
  CuTensorMap map;
  EXPECT_EQ(replace_address(*driver, map, 0x100).error().code, ErrorCode::unsupported);
  EXPECT_EQ(replace_address(*driver, map, 0x101).error().code, ErrorCode::bad_argument);
}

}  // namespace

// tests/unit/ir/type_test.cpp — types print and parse back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/ir/type.h"

#include <gtest/gtest.h>

namespace tlxjit {
namespace {

TEST(Type, PrintsAndParsesBack) {
  const std::pair<Type, std::string> cases[] = {
      {Type::scalar(Elem::i32), "i32"},
      {Type::scalar(Elem::f8e4m3), "f8e4m3"},
      {Type::tile({64, 128}, Elem::f32), "tile<64x128xf32>"},
      {Type::tile({72}, Elem::bf16).as_variable(), "var<tile<72xbf16>>"},
      {Type::scalar(Elem::b1).as_variable(), "var<b1>"},
      {Type::buffer(4, {128, 64}, Elem::bf16), "buffer<4, 128x64xbf16>"},
      {Type::view({3, 5}, Elem::i8), "view<3x5xi8>"},
      {Type::barrier(4), "barrier<4>"},
      {Type::tensor(3, Elem::f16), "tensor<3xf16>"},
      {Type::ring(2), "ring<2>"},
      {Type::slot(), "slot"},
      {Type::accumulator({64, 256}, Elem::f32), "accumulator<64x256xf32>"},
      {Type::schedule(4), "schedule<4>"},
  };
  for (const auto& [type, text] : cases) {
    EXPECT_EQ(to_string(type), text);
    const auto parsed = parse_type(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(*parsed, type) << text;
  }
}

TEST(Type, RefusesMalformedText) {
  for (const char* text : {"", "i33", "tile", "tile<", "tile<>", "tile<64x>", "tile<0xf32>", "tile<-1xf32>",
                           "tile<64xf32", "tile<1x1x1x1x1x1xf32>", "var<var<i32>>", "buffer<4>", "buffer<x, 4xf32>",
                           "barrier<>", "tensor<xf32>", "tensor<99999999999xf32>", "tile<99999999999999999999xf32>"})
    EXPECT_FALSE(parse_type(text).has_value()) << text;
}

TEST(Shape, KnowsItsLimits) {
  EXPECT_TRUE(Shape({64, 128}).valid());
  EXPECT_FALSE(Shape({0}).valid());
  EXPECT_FALSE(Shape({-4, 4}).valid());
  EXPECT_FALSE(Shape({1 << 20, 1 << 20}).valid());
  EXPECT_FALSE(Shape({1, 1, 1, 1, 1, 1}).valid());
  EXPECT_EQ(Shape({3, 5, 7}).elements(), 105);
}

TEST(Shape, WithMoreExtentsThanFit) {
  const Shape six{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(six.rank, 6);
  EXPECT_FALSE(six.valid());
  EXPECT_EQ(six.elements(), 120);
  EXPECT_EQ(to_string(Type::tile(six, Elem::f32)), "tile<1x2x3x4x5x?xf32>");
  Shape most{1};
  most.rank = 255;
  EXPECT_EQ(most.elements(), 0);
  EXPECT_FALSE(most.valid());
#define EIGHT 1, 1, 1, 1, 1, 1, 1, 1
#define SIXTY_FOUR EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT
  EXPECT_FALSE((Shape{SIXTY_FOUR, SIXTY_FOUR, SIXTY_FOUR, SIXTY_FOUR}).valid()) << "256 extents";
}

TEST(Shape, ProductsDoNotWrap) {
  EXPECT_FALSE(Shape({1 << 20, 1 << 20, 1 << 20, 1 << 20}).valid());
  EXPECT_EQ(Shape({1 << 20, 1 << 20, 1 << 20, 1 << 20}).elements(), INT64_MAX);
}

TEST(Type, DeepTextIsRefused) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "var<";
  EXPECT_FALSE(parse_type(text + "i32" + std::string(200000, '>')).has_value());
}

TEST(Elem, SizesAndKinds) {
  EXPECT_EQ(bytes(Elem::bf16), 2);
  EXPECT_EQ(bits(Elem::f4e2m1), 4);
  EXPECT_TRUE(is_float(Elem::f8e5m2));
  EXPECT_FALSE(is_float(Elem::b1));
  EXPECT_TRUE(is_signed_int(Elem::i64));
  EXPECT_TRUE(is_unsigned_int(Elem::u8));
  EXPECT_FALSE(is_int(Elem::b1));
}

}  // namespace
}  // namespace tlxjit

// tests/unit/codegen/abi_test.cpp — parameters of the library's two kernels, and copies that no map can do.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/codegen/abi_p.h"

#include <gmock/gmock.h>

#include "tests/support/text_module.h"

using namespace tlxjit;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TEST(AbiTest, Gemm) {
  const Module module = module_file("gemm_sm_90a.tlx");
  auto abi = make_abi(module);
  ASSERT_TRUE(abi) << to_string(abi.error());
  ASSERT_EQ(abi->maps.size(), 3u);
  EXPECT_THAT(abi->maps[0].box, ElementsAre(128, 64));
  EXPECT_THAT(abi->maps[1].box, ElementsAre(256, 64));
  EXPECT_EQ(abi->tensors[abi->maps[1].tensor].name, "b");
  EXPECT_TRUE(abi->maps[2].store);
  EXPECT_EQ(abi->dims.size(), 3u);
  EXPECT_EQ(abi->threads, 384);
  EXPECT_EQ(abi->workspace_words, 0);
  for (const AbiTensor& tensor : abi->tensors) EXPECT_FALSE(tensor.direct);
  EXPECT_EQ(module.def(abi->grid)->code, OpCode::min);
}

TEST(AbiTest, Attention) {
  const Module module = module_file("attention_sm_90a.tlx");
  auto abi = make_abi(module);
  ASSERT_TRUE(abi) << to_string(abi.error());
  // A box of 128 columns is two of 64: the swizzle span.
  ASSERT_EQ(abi->maps.size(), 4u);
  for (const AbiMap& map : abi->maps) EXPECT_EQ(map.box.back(), 64);
  EXPECT_EQ(abi->workspace_words, 2);
  EXPECT_TRUE(abi->tensors.back().direct);
  EXPECT_EQ(abi->scalars.size(), 1u);
}

TEST(AbiTest, RefusesCopiesThatNoMapCanDo) {
  const std::string head = R"(
    %0 = const [value = 1024] : i32
    %1 = const [value = 0] : i32
    %2 = tensor %0, %0 [name = "x"] : tensor<2xbf16>
    %4 = barrier [count = 1, name = "b", offset = 0] : barrier<1>
    %3 = buffer [swizzle = 128, offset = 1024] : buffer<1, 512x64xbf16>
    task [name = "t", warps = 1, replicas = 1] {
  )";
  auto wide =
      make_abi(lowered(head + "copy.load %2, %3, %1, %4, %1, %1, %1 [box = <512, 64>, ragged = -1] @\"u.cpp\" 5\n}\n"));
  ASSERT_FALSE(wide);
  EXPECT_THAT(wide.error().message, HasSubstr("256"));
  EXPECT_EQ(wide.error().location.line, 5u);
  EXPECT_FALSE(make_abi(lowered(head + "copy.load %2, %3, %1, %4, %1, %1, %1, %1 [box = <64, 64>, ragged = 1]\n}\n")));
  auto ragged = make_abi(lowered(head + "copy.load %2, %3, %1, %4, %1, %1, %1, %1 [box = <64, 64>, ragged = 0]\n}\n"));
  ASSERT_TRUE(ragged);
  EXPECT_EQ(ragged->maps[0].rank(2), 4);
}

TEST(AbiTest, WithoutTensorMaps) {
  const Module module = module_file("attention_sm_90a.tlx");
  auto maps = make_abi(module), plain = make_abi(module, false);
  ASSERT_TRUE(plain) << to_string(plain.error());
  EXPECT_TRUE(plain->maps.empty());
  for (const AbiTensor& tensor : plain->tensors) EXPECT_TRUE(tensor.direct);
  EXPECT_EQ(plain->tensors.size(), maps->tensors.size());
  EXPECT_EQ(plain->dims.size(), maps->dims.size());
  EXPECT_EQ(plain->grid, maps->grid);
  EXPECT_EQ(plain->workspace_words, 2);
  // What no tensor map can do is no fault then.
  EXPECT_TRUE(make_abi(lowered(R"(
    %0 = const [value = 1024] : i32
    %1 = tensor %0, %0 [name = "x"] : tensor<2xbf16>
    %2 = barrier [count = 1, name = "b", offset = 0] : barrier<1>
    %3 = buffer [swizzle = 0, offset = 1024] : buffer<1, 512x64xbf16>
    task [name = "t", warps = 1, replicas = 1] {
      %4 = const [value = 0] : i32
      copy.load %1, %3, %4, %2, %4, %4, %4 [box = <512, 64>, ragged = -1]
    }
  )"),
                       false));
}

}  // namespace

// tests/unit/nvidia/image_test.cpp — images of kernels as bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/image_p.h"

#include <gtest/gtest.h>

namespace tlxjit::nvidia {
namespace {

std::vector<char> bytes() { return write_image({"gemm", "a log", "source of it", {'\x7f', 'E', 'L', 'F', '\0'}}); }

TEST(NvidiaImage, ReadsWhatItWrote) {
  const auto image = read_image(bytes());
  ASSERT_TRUE(image);
  EXPECT_EQ(image->entry, "gemm");
  EXPECT_EQ(image->log, "a log");
  EXPECT_EQ(image->source, "source of it");
  EXPECT_EQ(image->cubin, (std::vector<char>{'\x7f', 'E', 'L', 'F', '\0'}));
}

TEST(NvidiaImage, CutLongerOrOfOtherSizesIsNone) {
  const std::vector<char> whole = bytes();
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(read_image(std::span(whole).first(length))) << length;
  std::vector<char> longer = whole;
  longer.push_back('\0');
  EXPECT_FALSE(read_image(longer));
  EXPECT_FALSE(read_image(write_image({"gemm", "", "", {}}))) << "no cubin";
  // Whatever a size becomes: it no longer ends where the bytes do.
  for (size_t at = 0; at < 8; ++at)
    for (const size_t field : {size_t{8}, size_t{20}, size_t{33}, size_t{53}})
      for (const int bits : {1, 0x80}) {
        std::vector<char> bad = whole;
        bad[field + at] = static_cast<char>(bad[field + at] ^ bits);
        EXPECT_FALSE(read_image(bad)) << field << " " << at;
      }
}

}  // namespace
}  // namespace tlxjit::nvidia

// tests/unit/runtime/material_test.cpp — what kernels are looked up by, with and without their compilers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/material_p.h"

#include <gmock/gmock.h>

#include <set>

namespace tlxjit::runtime_test {
namespace {

using runtime::material_of;
using runtime::MaterialParts;
using runtime::without_compiler;

constexpr MaterialParts usual{"sm_90a", "sm_90a", false, "", "nvrtc 1", "tlx 1 portable\nkernel \"k\" {\n}\n"};

/// Materials that differ in one part each, first the usual one.
std::vector<MaterialParts> different() {
  std::vector<MaterialParts> all(6, usual);
  all[1].target = "cpu";
  all[2].as = "sm_90a\nlineinfo 1";
  all[3].lineinfo = true;
  all[4].runs_on = "znver4\nby 3\nabc";
  all[5].module = "by 0\n\n";
  return all;
}

TEST(Material, NoTwoReadAlike) {
  std::set<std::string> materials;
  for (MaterialParts parts : different())
    for (const char* compiler : {"", "nvrtc 1", "nvrtc 1\n", "nvrtc 2", "a\non 1\nb", "0\n\n"}) {
      parts.compiler = compiler;
      EXPECT_TRUE(materials.insert(material_of(parts)).second);
    }
  EXPECT_THAT(material_of(usual), ::testing::StartsWith("tlxjit "));
  EXPECT_THAT(material_of(usual), ::testing::EndsWith(usual.module));
}

TEST(Material, WithoutCompilersThoseThatDifferInThemAloneAreOne) {
  std::set<std::string> materials;
  for (MaterialParts parts : different()) {
    parts.compiler = "";
    const std::string none = material_of(parts);
    EXPECT_TRUE(materials.insert(none).second) << "all else stays";
    for (const char* compiler : {"", "nvrtc 1", "nvrtc 2\nby 0\n\n", "0\n\n"}) {
      parts.compiler = compiler;
      EXPECT_EQ(without_compiler(material_of(parts)), none) << compiler;
    }
  }
}

TEST(Material, OfAnotherShapeIsLeftAsItIs) {
  const std::string whole = material_of(usual);
  const size_t head = whole.size() - usual.module.size();
  for (size_t length = 0; length < head; ++length)
    EXPECT_EQ(without_compiler(whole.substr(0, length)), whole.substr(0, length)) << length;
  for (const char* text : {"tlxjit 1\nfor cpu\nas 99999999999999999999 cpu\n", "tlxjit 1\nfor cpu\nas -1 cpu\n",
                           "tlxjit 1\nfor cpu\nas 18446744073709551615 cpu\nlineinfo 0\n", "material 7"})
    EXPECT_EQ(without_compiler(text), text);
}

}  // namespace
}  // namespace tlxjit::runtime_test

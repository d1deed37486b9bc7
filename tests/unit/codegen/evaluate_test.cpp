// tests/unit/codegen/evaluate_test.cpp — host expressions are exact or an error at the op.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include "src/codegen/abi_p.h"
#include "tests/support/text_module.h"

using namespace tlxjit;
using testing::HasSubstr;

namespace {

/// The value of the grid of a module with this body.
Result<int64_t> grid(const std::string& body, HostInputs inputs) {
  const Module module = lowered("%0 = dim [name = \"M\"] : i32\n%1 = dim [name = \"N\"] : i32\n" + body);
  auto abi = make_abi(module);
  EXPECT_TRUE(abi);
  return evaluate(module, abi->grid, inputs);
}

TEST(EvaluateTest, Arithmetic) {
  const auto value = [](const std::string& op, int64_t m, int64_t n) {
    auto r = grid("%2 = " + op + "\ngrid %2\n", {{m, n}, {}, 132});
    EXPECT_TRUE(r) << to_string(r.error());
    return r ? *r : -999;
  };
  EXPECT_EQ(value("add %0, %1 : i32", 3, 4), 7);
  EXPECT_EQ(value("ceil_div %0, %1 : i32", 257, 128), 3);
  EXPECT_EQ(value("ceil_div %0, %1 : i32", 256, 128), 2);
  EXPECT_EQ(value("ceil_div %0, %1 : i32", 2147483647, 128), 16777216);
  EXPECT_EQ(value("div %0, %1 : i32", -7, 2), -3);
  EXPECT_EQ(value("mod %0, %1 : i32", -7, 2), -1);
  EXPECT_EQ(value("min %0, %1 : i32", 5, 9), 5);
  EXPECT_EQ(value("max %0, %1 : i32", 5, 9), 9);
  EXPECT_EQ(value("shl %0, %1 : i32", 5, 3), 40);
  EXPECT_EQ(value("sms : i32", 0, 0), 132);
  EXPECT_EQ(value("cmp %0, %1 [pred = \"le\"] : b1", 5, 5), 1);
}

TEST(EvaluateTest, SelectEvaluatesOneSide) {
  auto r = grid("%2 = cmp %1, %1 [pred = \"eq\"] : b1\n%3 = div %0, %1 : i32\n%4 = select %2, %0, %3 : i32\ngrid %4\n",
                {{6, 0}, {}, 1});
  ASSERT_TRUE(r) << to_string(r.error());
  EXPECT_EQ(*r, 6);
}

TEST(EvaluateTest, FaultsNameTheLine) {
  auto overflow = grid("%2 = mul %0, %1 : i32 @\"u.cpp\" 9\ngrid %2\n", {{65536, 65536}, {}, 1});
  ASSERT_FALSE(overflow);
  EXPECT_EQ(to_string(overflow.error().location), "u.cpp:9");
  EXPECT_THAT(overflow.error().message, HasSubstr("4294967296"));
  EXPECT_FALSE(grid("%2 = div %0, %1 : i32\ngrid %2\n", {{1, 0}, {}, 1}));
  auto unbound = grid("grid %1\n", {{1}, {}, 1});
  ASSERT_FALSE(unbound);
  EXPECT_THAT(unbound.error().message, HasSubstr("'N' is not bound"));
}

}  // namespace

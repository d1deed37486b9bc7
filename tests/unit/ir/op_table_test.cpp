// tests/unit/ir/op_table_test.cpp — the op table is consistent.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <set>

#include "tlxjit/ir/op.h"

namespace tlxjit {
namespace {

TEST(OpTable, RowsAreUniqueAndFoundByName) {
  std::set<std::string_view> names;
  for (int i = 0; i < op_count(); ++i) {
    const OpInfo& row = info(static_cast<OpCode>(i));
    EXPECT_EQ(static_cast<int>(row.code), i) << row.text;
    EXPECT_TRUE(names.insert(row.text).second) << row.text << " stands twice";
    EXPECT_EQ(parse_op_code(row.text), row.code);
    EXPECT_FALSE(row.meaning.empty()) << row.text;
    EXPECT_LE(row.min_operands, row.max_operands < 0 ? 0 : row.max_operands) << row.text;
  }
  EXPECT_FALSE(parse_op_code("no such op").has_value());
}

TEST(OpTable, PureOpsHaveResultsAndNoRegionsButTheirElements) {
  for (int i = 0; i < op_count(); ++i) {
    const OpInfo& row = info(static_cast<OpCode>(i));
    if (row.scope != Scope::pure) continue;
    EXPECT_NE(row.results, 0) << row.text;
    EXPECT_EQ(row.regions, row.family == Family::reduce && row.results < 0 ? 1 : 0) << row.text;
  }
}

TEST(OpTable, NamesTakenAreNoOps) {
  ASSERT_FALSE(later_ops().empty());
  for (const LaterOp& op : later_ops()) {
    EXPECT_FALSE(parse_op_code(op.text).has_value()) << op.text;
    EXPECT_NE(op.types.find("→"), std::string_view::npos) << op.text;
    EXPECT_FALSE(op.needs.empty()) << op.text;
    EXPECT_FALSE(op.meaning.empty()) << op.text;
  }
}

TEST(OpTable, EveryOpHasRules) {
  for (int i = 0; i < op_count(); ++i) {
    const OpInfo& row = info(static_cast<OpCode>(i));
    EXPECT_NE(row.family, Family::tmem) << row.text << ": check_op knows no rules of its family";
  }
}

TEST(Attrs, KeepOrderAndReplace) {
  Attrs attrs;
  attrs.set("b", int64_t{1});
  attrs.set("a", std::string("x"));
  attrs.set("b", int64_t{2});
  ASSERT_EQ(attrs.all().size(), 2u);
  EXPECT_EQ(attrs.all()[0].first, "b");
  EXPECT_EQ(attrs.integer("b"), 2);
  EXPECT_EQ(attrs.integer("a", 7), 7) << "of another kind";
  EXPECT_EQ(attrs.text("a"), "x");
  EXPECT_TRUE(attrs.list("a").empty());
}

}  // namespace
}  // namespace tlxjit

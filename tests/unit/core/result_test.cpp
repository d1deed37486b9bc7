// tests/unit/core/result_test.cpp — Result holds a value or an Error; how an Error prints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/core/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace {

using namespace tlxjit;

Error bad_argument(std::string message) {
  Error error;
  error.kind = ErrorKind::user;
  error.stage = Stage::launch;
  error.code = ErrorCode::bad_argument;
  error.message = std::move(message);
  return error;
}

Result<int> half(int n) {
  if (n % 2 != 0) return bad_argument("the number is odd");
  return n / 2;
}

Result<void> check_twice(int n, int* reached) {
  TLXJIT_TRY(half(n));
  *reached = 1;
  TLXJIT_TRY(half(n / 2));
  *reached = 2;
  return {};
}

TEST(Result, HoldsAValue) {
  Result<int> r = half(8);
  ASSERT_TRUE(r.ok());
  EXPECT_TRUE(static_cast<bool>(r));
  EXPECT_EQ(*r, 4);
  r.value() = 5;
  EXPECT_EQ(r.value(), 5);
}

TEST(Result, HoldsAnError) {
  Result<int> r = half(7);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, ErrorCode::bad_argument);
  EXPECT_EQ(r.error().message, "the number is odd");
}

TEST(Result, MovesAValueThatCannotBeCopied) {
  Result<std::unique_ptr<std::string>> r = std::make_unique<std::string>("text");
  ASSERT_TRUE(r);
  EXPECT_EQ(r->get()->size(), 4u);
  std::unique_ptr<std::string> taken = std::move(r).value();
  EXPECT_EQ(*taken, "text");
}

TEST(Result, CanHoldAnErrorAsItsValue) {
  // What the constructors decide by type must not depend on the order of alternatives.
  Result<std::string> text = std::string("ok");
  EXPECT_TRUE(text.ok());
  Result<std::string> error = bad_argument("no");
  EXPECT_FALSE(error.ok());
}

TEST(ResultVoid, IsSuccessByDefault) {
  Result<void> r;
  EXPECT_TRUE(r.ok());
  Result<void> bad = bad_argument("no");
  ASSERT_FALSE(bad);
  EXPECT_EQ(std::move(bad).error().message, "no");
}

TEST(Result, TryReturnsTheFirstError) {
  int reached = 0;
  EXPECT_FALSE(check_twice(3, &reached).ok());
  EXPECT_EQ(reached, 0);
  EXPECT_FALSE(check_twice(6, &reached).ok());
  EXPECT_EQ(reached, 1);
  EXPECT_TRUE(check_twice(8, &reached).ok());
  EXPECT_EQ(reached, 2);
}

TEST(Location, IsTheCallSite) {
  const uint32_t line = __LINE__ + 1;
  const Location here = std::source_location::current();
  EXPECT_TRUE(here.known());
  EXPECT_EQ(here.line, line);
  EXPECT_EQ(to_string(here), here.file + ":" + std::to_string(line));
  EXPECT_NE(here.file.find("result_test.cpp"), std::string::npos);
}

TEST(Location, MayBeUnknown) {
  EXPECT_FALSE(Location().known());
  EXPECT_EQ(to_string(Location()), "<unknown>");
}

TEST(Error, PrintsLineKindStageAndMessage) {
  Error error = bad_argument("`a` needs 2 dims");
  EXPECT_EQ(to_string(error), "user error in launch: `a` needs 2 dims");
  error.location = Location("main.cpp", 12);
  EXPECT_EQ(to_string(error), "main.cpp:12: user error in launch: `a` needs 2 dims");
  error.log = "first\nsecond";
  EXPECT_EQ(to_string(error), "main.cpp:12: user error in launch: `a` needs 2 dims\nfirst\nsecond");
}

TEST(Error, IsInternalUnlessSaidOtherwise) {
  const Error error;
  EXPECT_EQ(error.kind, ErrorKind::internal);
  EXPECT_EQ(error.code, ErrorCode::internal_error);
  EXPECT_STREQ(to_string(error.kind), "internal error");
}

TEST(Error, CodesHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  const int last = static_cast<int>(ErrorCode::assertion_failed);
  for (int code = 0; code <= last; ++code) names.insert(to_string(static_cast<ErrorCode>(code)));
  EXPECT_EQ(names.size(), static_cast<size_t>(last + 1));
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_STREQ(to_string(static_cast<ErrorCode>(0xffff)), "unknown");
}

}  // namespace

// tests/unit/core/throwing_test.cpp — results as exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/core/throwing.h"

#include <gtest/gtest.h>

#include <memory>

namespace tlxjit {
namespace {

Error broken() {
  Error error;
  error.message = "broken";
  error.code = ErrorCode::bad_argument;
  return error;
}

TEST(Throwing, GivesTheValue) {
  EXPECT_EQ(*unwrap(Result<std::unique_ptr<int>>(std::make_unique<int>(7))), 7);
  EXPECT_NO_THROW(unwrap(Result<void>()));
}

TEST(Throwing, ThrowsTheError) {
  try {
    unwrap(Result<int>(broken()));
    FAIL() << "nothing was thrown";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.error().code, ErrorCode::bad_argument);
    EXPECT_EQ(failure.what(), to_string(broken()));
  }
  EXPECT_THROW(unwrap(Result<void>(broken())), std::exception);
}

}  // namespace
}  // namespace tlxjit

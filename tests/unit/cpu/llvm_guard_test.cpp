// tests/unit/cpu/llvm_guard_test.cpp — fatal errors of LLVM end the guarded call, and nothing but it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/llvm_guard_p.h"

#include <gtest/gtest.h>
#include <llvm/Support/ErrorHandling.h>

#include <mutex>
#include <new>

// The test is not linked to LLVM: it stands in for what the guard asks of it.
static llvm::fatal_error_handler_t handler = nullptr, no_memory = nullptr;
void llvm::install_fatal_error_handler(fatal_error_handler_t h, void*) { handler = h; }
void llvm::install_bad_alloc_error_handler(fatal_error_handler_t h, void*) { no_memory = h; }

namespace tlxjit::cpu {
namespace {

std::string text;
bool outer_went_on = false;

void fatal(void*) { handler(nullptr, "no such register", true); }
void nothing(void*) {}

TEST(LlvmGuard, AFatalErrorEndsTheCall) {
  for (int i = 0; i < 2; ++i) {
    std::string message;
    EXPECT_FALSE(guarded(fatal, nullptr, message));
    EXPECT_EQ(message, "no such register");
    message = "as before";
    EXPECT_TRUE(guarded(nothing, nullptr, message));
    EXPECT_EQ(message, "as before");
  }
}

TEST(LlvmGuard, NoMemoryIsAnException) {
  std::string message = "as before";
  for (int i = 0; i < 2; ++i)
    EXPECT_THROW(guarded([](void*) { no_memory(nullptr, "Buffer allocation failed", false); }, nullptr, message),
                 std::bad_alloc);
  EXPECT_TRUE(guarded(nothing, nullptr, message));
  EXPECT_EQ(message, "as before");
}

TEST(LlvmGuard, NothingIsLeftBehindByAnException) {
  std::string message;
  EXPECT_THROW(guarded([](void*) { throw 1; }, nullptr, message), int);
  // Not within a guard: returns to LLVM, and does not jump to where the guard was.
  handler(nullptr, "later", true);
}

TEST(LlvmGuard, GuardsNest) {
  std::string message;
  EXPECT_FALSE(guarded(
      [](void*) {
        (void)guarded(fatal, nullptr, text);
        outer_went_on = true;
        handler(nullptr, "outer", true);
      },
      nullptr, message));
  EXPECT_TRUE(outer_went_on);
  EXPECT_EQ(text, "no such register");
  EXPECT_EQ(message, "outer");
}

TEST(LlvmGuard, InsideCallOnceTheFlagIsNotHeld) {
  static std::once_flag once;
  int runs = 0;
  for (int i = 0; i < 2; ++i)
    std::call_once(once, [&] {
      ++runs;
      EXPECT_FALSE(guarded(fatal, nullptr, text));
    });
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace tlxjit::cpu

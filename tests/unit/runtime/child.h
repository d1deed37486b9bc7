// tests/unit/runtime/child.h — code in a forked child.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tlxjit::runtime_test {

/// Runs `fn` in a forked child; whether it gave true there and the child ended by itself.
template <class Fn>
::testing::AssertionResult in_child(Fn fn) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a hang ends in a signal
    _exit(fn() ? 0 : 1);
  }
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) return ::testing::AssertionFailure() << "no child";
  if (!WIFEXITED(status)) return ::testing::AssertionFailure() << "signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) != 0) return ::testing::AssertionFailure() << "status " << WEXITSTATUS(status);
  return ::testing::AssertionSuccess();
}

}  // namespace tlxjit::runtime_test

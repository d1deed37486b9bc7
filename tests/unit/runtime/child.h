// tests/unit/runtime/child.h — code in a forked child.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tlxjit::runtime_test {

/// A forked child that runs `fn`.
template <class Fn>
pid_t start_child(Fn fn) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a hang ends in a signal
    _exit(fn() ? 0 : 1);
  }
  return child;
}

/// Whether `fn` gave true in the child and that ended by itself.
inline ::testing::AssertionResult ended_well(pid_t child) {
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) return ::testing::AssertionFailure() << "no child";
  if (!WIFEXITED(status)) return ::testing::AssertionFailure() << "signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) != 0) return ::testing::AssertionFailure() << "status " << WEXITSTATUS(status);
  return ::testing::AssertionSuccess();
}

/// Runs `fn` in a forked child; whether it gave true there and the child ended by itself.
template <class Fn>
::testing::AssertionResult in_child(Fn fn) {
  return ended_well(start_child(fn));
}

}  // namespace tlxjit::runtime_test

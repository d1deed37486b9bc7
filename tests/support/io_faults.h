// tests/support/io_faults.h — calls to the file system that fail when a test says so.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

namespace tlxjit::io_faults {

/// From here on calls are counted, and the one with this number (0: the next one) fails with this errno. The calls are
/// those that open, read, write, list, name and lock files; io_faults.cpp has them.
void fail(int number, int error);
/// Each call of this name fails from here on.
void fail_all(const std::string& name, int error);
/// The process is killed at that call.
void kill(int number);
/// Counts only.
void count();
/// Ends it; the names of the calls that were made meanwhile.
std::vector<std::string> stop();

}  // namespace tlxjit::io_faults

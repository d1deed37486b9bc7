// tests/support/no_disk_cache.cpp — a test that is run by hand keeps no kernels either.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdlib>

namespace {
const int off = setenv("TLXJIT_DISK_CACHE", "0", 0);
}

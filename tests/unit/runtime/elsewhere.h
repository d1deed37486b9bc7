// tests/unit/runtime/elsewhere.h — a place in a source of another build.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <source_location>

namespace tlxjit::runtime_test {

#line 7 "/other/build/x.cpp"
inline std::source_location elsewhere() { return std::source_location::current(); }

}  // namespace tlxjit::runtime_test

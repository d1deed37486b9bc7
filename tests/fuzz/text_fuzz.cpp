// tests/fuzz/text_fuzz.cpp — libFuzzer target: any text is read or refused; what was read prints and reads back equal.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tlxjit/ir/text.h"
#include "tlxjit/ir/verify.h"

using namespace tlxjit;

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto module = parse({reinterpret_cast<const char*>(data), size});
  if (!module) {
    require(module.error().code == ErrorCode::invalid_text, "a refused text has another code than invalid_text");
    require(module.error().message.starts_with("line "), "a refused text's message names no line");
    return 0;
  }
  const auto faults = verify(*module);
  for (const Error& fault : faults) require(!fault.message.empty(), "a fault without a message");

  for (bool locations : {false, true}) {
    const std::string printed = print(*module, locations);
    const auto again = parse(printed);
    require(again.ok(), "a printed module cannot be read");
    require(print(*again, locations) == printed, "a module that was read back prints otherwise");
    require(verify(*again).size() == faults.size(), "a module that was read back has other faults");
  }
  return 0;
}

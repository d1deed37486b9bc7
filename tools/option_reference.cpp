// tools/option_reference.cpp — writes docs/reference/options.md from the table of options.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>

#include "src/runtime/options_p.h"

int main() {
  std::puts("# Options in the environment\n");
  std::puts(
      "Made from `src/runtime/options.def`. An engine reads them once, when it is made, unless\n"
      "`EngineOptions::read_environment` is false or the program has raised rights. A field of `EngineOptions` that "
      "the\n"
      "program has set to another value than its default wins: one that is to have its default whatever the "
      "environment\n"
      "says needs `read_environment` false. Empty is as if it were not set. `include/tlxjit/runtime/engine.h` says "
      "more "
      "of\n"
      "each.\n");
  std::puts("| environment | field of `EngineOptions` | default | meaning |\n|---|---|---|---|");
  for (const auto& option : tlxjit::runtime::option_table())
    std::printf("| `%s` | `%s` | %s | %s |\n", option.environment, std::string(option.field).c_str(),
                option.otherwise.c_str(), std::string(option.meaning).c_str());
  return 0;
}

// tools/event_reference.cpp — writes docs/reference/events.md from the table of events.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <string>

#include "tlxjit/runtime/event.h"

int main() {
  std::puts("# Events of an engine\n");
  std::puts(
      "Made from `include/tlxjit/runtime/events.def`. `EngineOptions::event` is told them ([guide](../guide/"
      "observability.md)).\n"
      "A counter is the sum of its events' `count`, `bytes_read`, `bytes_written` and `evicted_bytes` of their "
      "`bytes`.\n"
      "Fields that a row does not name are empty, and `count` is 1. A `key` of 32 digits stands for a kernel with its "
      "device and options, that of\nan entry for what is kept of it on disk (in a bundle: for any compiler); functions "
      "(`version_miss` to `call_refused`, `kernel` is the\nfunction's name) have the key of the call as JSON, as in a "
      "manifest, or none for the generic version.\n");
  std::puts("| kind | counter | fields | when, and what the fields hold |\n|---|---|---|---|");
  for (const tlxjit::EventInfo& event : tlxjit::event_table())
    std::printf("| `%s` | %s | %s | %s |\n", std::string(event.name).c_str(),
                event.counter.empty() ? "" : ("`" + std::string(event.counter) + "`").c_str(),
                std::string(event.fields).c_str(), std::string(event.meaning).c_str());
  return 0;
}

// tests/guide/observability_test.cpp — the code of docs/guide/observability.md.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <sstream>

#include "tlxjit/tlxjit.h"

using namespace tlxjit;

namespace {

/// What a service exports: how often each kind happened, and the seconds of compiles.
struct Seen {
  std::array<std::atomic<uint64_t>, event_kinds> counts{};
  std::atomic<double> compile_seconds{0};

  void note(const Event& e) {
    counts[static_cast<size_t>(e.kind)] += e.count;
    if (e.kind == EventKind::compile_finished) compile_seconds += e.times->total() / 1000;
  }
  void write(std::ostream& out) const {
    for (const EventInfo& info : event_table())
      out << "tlxjit_events_total{kind=\"" << info.name << "\"} " << counts[static_cast<size_t>(info.kind)] << '\n';
    out << "tlxjit_compile_seconds_total " << compile_seconds << '\n';
  }
};

Kernel filled(int value) {
  Kernel k{"filled"};
  auto out = k.tensor<int32_t>("out", {k.dim("N")});
  k.grid(1);
  k.task("main").body([&](Task& t) { out.store({0}, t.full<int32_t>({8}, value)); });
  return k;
}

TEST(GuideObservability, EventsAreNotedAndWritten) {
  auto seen = std::make_shared<Seen>();
  EngineOptions options;
  options.event = [seen](const Event& e) { seen->note(e); };
  options.cpu_plugin = TLXJIT_TEST_PLUGIN;
  options.disk_cache = false;
  Engine engine{options};
  auto device = engine.device("cpu");
  ASSERT_TRUE(device.ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(engine.compile(filled(1), *device).ok());
  std::ostringstream out;
  seen->write(out);
  EXPECT_NE(out.str().find("tlxjit_events_total{kind=\"memory_hit\"} 2\n"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("tlxjit_events_total{kind=\"compile_finished\"} 1\n"), std::string::npos) << out.str();
  EXPECT_GT(seen->compile_seconds, 0);
  EXPECT_EQ(engine.counters().memory_hits, 2u);
}

}  // namespace

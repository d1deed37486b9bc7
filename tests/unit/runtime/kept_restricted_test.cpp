// tests/unit/runtime/kept_restricted_test.cpp — kept kernels where the system forbids execution: of files, of memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/unit/runtime/jit_fixture.h"
#include "tests/unit/runtime/restrictions.h"

namespace tlxjit::runtime_test {
namespace {

bool right(const Executable& exe) {
  float in[3] = {1, 2, 3}, out[3] = {};
  return exe.launch({tensor<float>(in, {3}), tensor<float>(out, {3}), int32_t{5}}) && out[0] == 7 && out[1] == 9 &&
         out[2] == 11;
}

struct Seen {
  bool right = false;
  EngineCounters counters;
  Error error;
  std::vector<std::string> log;
};

/// What an engine of its own that keeps kernels in this directory makes of one.
Seen compiled(const std::string& directory) {
  Seen seen;
  const auto log = std::make_shared<Log>();
  EngineOptions o = options();
  o.cache_directory = directory;
  o.log = [log](std::string_view text) { log->tell(text); };
  const Engine engine(o);
  const auto exe = engine.compile(doubled({}, {}), *engine.device("cpu"));
  if (exe)
    seen.right = right(*exe);
  else
    seen.error = exe.error();
  engine.settle();
  seen.counters = engine.counters();
  const std::lock_guard lock(log->mutex);
  seen.log = log->told;
  return seen;
}

TEST(KeptRestricted, BL_213_AnEngineLoadsFromADiskWithoutExecution) {
  bool there = false;
  EXPECT_TRUE(on_disk("size=4m,mode=700", MS_NOEXEC | MS_NOSUID | MS_NODEV, there,
                      [](const std::string& disk, auto make_noexec) {
                        if (!make_noexec()) return false;
                        const Seen made = compiled(disk), loaded = compiled(disk);
                        return made.right && made.counters.compiles == 1 && made.counters.disk.published == 1 &&
                               loaded.right && loaded.counters.compiles == 0 && loaded.counters.disk_hits == 1 &&
                               made.log.empty() && loaded.log.empty();
                      }));
  if (!there) GTEST_SKIP() << "NOT RUN: this process may mount no file system";
}

TEST(KeptRestricted, BL_248_WhatIsKeptIsNotLoadedAgainstAPolicyAndStays) {
  if (!in_child(refuse_executable_memory)) GTEST_SKIP() << "NOT RUN: the system has no seccomp filters";
  const TemporaryDirectory place;
  EXPECT_TRUE(compiled(place.path()).right);
  const std::string why = "may not make memory executable (mprotect PROT_EXEC: Permission denied)";
  EXPECT_TRUE(in_child([&] {
    if (!refuse_executable_memory()) return false;
    const Seen refused = compiled(place.path());
    return !refused.right && refused.error.kind == ErrorKind::environment &&
           refused.error.message.find(why) != std::string::npos && refused.counters.disk.bad_entries == 0 &&
           refused.log.size() == 1 && refused.log[0].find(why) != std::string::npos;
  }));
  const Seen again = compiled(place.path());
  EXPECT_TRUE(again.right);
  EXPECT_EQ(again.counters.disk_hits, 1u) << "the entry is good for those who may";
  EXPECT_EQ(again.counters.compiles, 0u);
}

}  // namespace
}  // namespace tlxjit::runtime_test

// tests/unit/runtime/events_test.cpp — what an engine tells agrees with what it counts, and does no harm.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "tests/support/allocations.h"
#include "tests/support/slow_kernel.h"
#include "tests/unit/runtime/entries.h"
#include "tests/unit/runtime/jit_fixture.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Sums by kind of what was told.
struct Told {
  uint64_t count = 0, bytes = 0;
  std::string kernel, key, text;  // of the last
  StageTimes times;
};

/// What the table says that a kind adds up to.
std::map<std::string_view, uint64_t> values(const EngineCounters& e, const JitCounters& j) {
  return {{"EngineCounters::compiles", e.compiles},
          {"EngineCounters::failures", e.failures},
          {"EngineCounters::timed_out", e.timed_out},
          {"EngineCounters::cancelled", e.cancelled},
          {"EngineCounters::memory_hits", e.memory_hits},
          {"EngineCounters::memory_misses", e.memory_misses},
          {"EngineCounters::memory_evictions", e.memory_evictions},
          {"EngineCounters::disk_hits", e.disk_hits},
          {"EngineCounters::disk_misses", e.disk_misses},
          {"EngineCounters::refused_launches", e.refused_launches},
          {"EngineCounters::module_evictions", e.module_evictions},
          {"CacheCounters::store_hits", e.disk.store_hits},
          {"CacheCounters::user_hits", e.disk.user_hits},
          {"CacheCounters::system_hits", e.disk.system_hits},
          {"CacheCounters::bundle_hits", e.disk.bundle_hits},
          {"CacheCounters::misses", e.disk.misses},
          {"CacheCounters::bytes_read", e.disk.bytes_read},
          {"CacheCounters::published", e.disk.published},
          {"CacheCounters::bad_entries", e.disk.bad_entries},
          {"CacheCounters::errors", e.disk.errors},
          {"CacheCounters::evictions", e.disk.evictions},
          {"CacheCounters::waits", e.disk.waits},
          {"JitCounters::signatures", j.signatures},
          {"JitCounters::misses", j.misses},
          {"JitCounters::compiles", j.compiles},
          {"JitCounters::failures", j.failures},
          {"JitCounters::waits", j.waits},
          {"JitCounters::stand_ins", j.stand_ins},
          {"JitCounters::evictions", j.evictions},
          {"JitCounters::held_back", j.held_back},
          {"JitCounters::queue_full", j.queue_full},
          {"JitCounters::refused", j.refused}};
}

/// What the callback uses. It owns it: the callback may come a moment after the engine has ended.
struct Heard {
  std::mutex mutex;
  std::map<EventKind, Told> told;
  std::set<std::string> unlisted;            // fields that the table does not know of
  std::function<void(const Event&)> beside;  // called first, without the lock; set before there is an engine

  void hear(const Event& e) {
    if (beside) beside(e);
    std::lock_guard lock(mutex);
    const std::pair<bool, std::string_view> set[] = {
        {!e.kernel.empty(), "kernel"}, {!e.key.empty(), "key"}, {e.count != 1, "count"},
        {e.bytes != 0, "bytes"},       {e.times, "times"},      {!e.text.empty(), "text"}};
    const std::string_view fields = event_table()[static_cast<size_t>(e.kind)].fields;
    for (const auto& [is_set, name] : set) {
      if (is_set && fields.find(name) == fields.npos)
        unlisted.insert(std::string(to_string(e.kind)).append(" ").append(name));
    }
    Told& t = told[e.kind];
    t.count += e.count;
    t.bytes += e.bytes;
    t.kernel = e.kernel;
    t.key = e.key;
    t.text = e.text;
    if (e.times) t.times = *e.times;
  }
};

struct EventsTest : ::testing::Test {
  TemporaryDirectory place;
  const std::shared_ptr<Heard> heard = std::make_shared<Heard>();
  ~EventsTest() override {
    std::lock_guard lock(heard->mutex);
    EXPECT_THAT(heard->unlisted, IsEmpty());
  }

  EngineOptions with_events() {
    EngineOptions o = options();
    o.cache_directory = place / "cache";
    o.event = [own = heard](const Event& e) { own->hear(e); };
    return o;
  }
  Told of(EventKind kind) {
    std::lock_guard lock(heard->mutex);
    return heard->told[kind];
  }
  uint64_t count(EventKind kind) { return of(kind).count; }

  /// Names of counters that are not what was told.
  std::vector<std::string> differences(const Engine& engine, const JitCounters& functions) {
    std::vector<std::string> different;
    auto counted = values(engine.counters(), functions);
    for (const EventInfo& info : event_table()) {
      if (info.counter.empty()) continue;
      const auto found = counted.find(info.counter);
      if (found == counted.end()) return {"there is no " + std::string(info.counter)};
      const Told t = of(info.kind);
      if (found->second != (info.kind == EventKind::entry_read ? t.bytes : t.count))
        different.emplace_back(info.counter);
      counted.erase(found);
    }
    for (const auto& [name, value] : counted) different.push_back("no event adds up to " + std::string(name));
    const CacheCounters disk = engine.counters().disk;
    if (disk.bytes_written != of(EventKind::entry_published).bytes) different.emplace_back("bytes_written");
    if (disk.evicted_bytes != of(EventKind::swept).bytes) different.emplace_back("evicted_bytes");
    return different;
  }
  /// The same when what goes on beside has ended: a counter is there a moment before its event is told.
  std::vector<std::string> differences_in_the_end(const Engine& engine, std::span<const JitFunction> functions) {
    std::vector<std::string> different;
    for (int i = 0; i < 200; ++i) {
      JitCounters sum;
      for (const JitFunction& f : functions) {
        const JitCounters c = f.counters();
        sum.signatures += c.signatures, sum.misses += c.misses, sum.compiles += c.compiles, sum.waits += c.waits;
        sum.failures += c.failures, sum.stand_ins += c.stand_ins, sum.evictions += c.evictions;
        sum.held_back += c.held_back, sum.queue_full += c.queue_full, sum.refused += c.refused;
      }
      different = differences(engine, sum);
      if (different.empty()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return different;
  }
};

JitOptions by_number(Tier tier, size_t most = 64) {
  JitOptions o;
  o.numbers = {{"N", Policy::any()}, {"n", Policy::exact()}};
  o.tier = tier;
  o.max_versions = most;
  return o;
}

/// Stores 8 times `value`, and is promised room for it.
Kernel stores(int value, const char* name = "stores") {
  Kernel k{name};
  const Tensor out = k.tensor<int32_t>("out", {k.dim("N", 8)});
  k.grid(1);
  k.task("main").body([&](Task& t) { out.store({0}, t.full<int32_t>({8}, value)); });
  return k;
}

TEST(EventTable, NamesAreDistinct) {
  std::set<std::string_view> names, counters;
  size_t at = 0;
  for (const EventInfo& info : event_table()) {
    EXPECT_EQ(static_cast<size_t>(info.kind), at++);
    EXPECT_EQ(to_string(info.kind), info.name);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(info.counter.empty() || counters.insert(info.counter).second) << info.counter;
    EXPECT_FALSE(info.meaning.empty());
  }
  // Part of the ABI: kinds are added behind the last.
  const std::pair<EventKind, int> numbers[] = {{EventKind::memory_hit, 0},
                                               {EventKind::compile_started, 5},
                                               {EventKind::disk_hit, 10},
                                               {EventKind::signature_made, 24},
                                               {EventKind::launch_refused, 36}};
  for (const auto& [kind, number] : numbers) EXPECT_EQ(static_cast<int>(kind), number) << to_string(kind);
  EXPECT_EQ(to_string(EventKind::memory_hit), "memory_hit");
  EXPECT_EQ(to_string(static_cast<EventKind>(255)), "?");
}

TEST_F(EventsTest, CountersAreTheSumsOfWhatWasTold) {
  EngineOptions o = with_events();
  o.kept_kernels = 6;
  o.loaded_modules = 12;
  o.cache_bytes = 80'000;
  o.background_queue = 2;
  const Engine engine(o);
  const Device device = *engine.device("cpu");
  const JitFunction functions[] = {{engine, device, "waits", doubled, by_number(Tier::wait, 4)},
                                   {engine, device, "background", doubled, by_number(Tier::background, 4)}};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int32_t n = 0; n < 24; ++n) {
        JitTest::call(functions[(i + n) % 2], 20 + n, (n * 7 + i) % 10);
        EXPECT_TRUE(engine.compile(stores((n + i) % 8), device).ok());
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const JitFunction& f : functions) f.wait();
  // Whether the disk had what memory no longer did was up to the threads above; one kernel more than memory keeps,
  // one after the other, are never in memory, and published in a while.
  for (int round = 0; round < 200 && count(EventKind::disk_hit) == 0; ++round)
    for (int i = 0; i < 7; ++i) EXPECT_TRUE(engine.compile(stores(i), device).ok());
  for (int32_t n = 100; n < 108; ++n)  // more than it may have, each with its third call
    for (int i = 0; i < 3; ++i) JitTest::call(functions[0], 20, n);
  for (int32_t n = 101; n < 118; n += 2) {  // more than it may have
    JitTest::call(functions[1], 20, n);
    functions[1].wait();
  }
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(engine.compile(stores(0), device).ok());

  CompileOptions bad;
  bad.as = "sm_00";
  EXPECT_FALSE(engine.compile(stores(100), device, bad).ok());
  CompileOptions cancelled;
  std::stop_source stop;
  stop.request_stop();
  cancelled.stop = stop.get_token();
  // One that takes a while: what has ended when the token is looked at is no cancelled one.
  EXPECT_FALSE(engine.compile(slow(), device, cancelled).ok());
  functions[0].set_tier(Tier::sealed);
  float x[8] = {};
  EXPECT_FALSE(functions[0].launch({tensor<float>(x, {0}), tensor<float>(x, {0}), int32_t{-5}}).ok());
  int32_t out[8];
  EXPECT_FALSE(engine.compile(stores(1), device)->launch({tensor<int32_t>(out, {7})}).ok()) << "promised: at least 8";

  EXPECT_THAT(differences_in_the_end(engine, functions), IsEmpty());
  for (const EventKind kind : {EventKind::memory_hit,      EventKind::memory_miss,      EventKind::memory_eviction,
                               EventKind::compile_started, EventKind::compile_finished, EventKind::compile_cancelled,
                               EventKind::user_hit,        EventKind::disk_hit,         EventKind::disk_miss,
                               EventKind::tier_miss,       EventKind::entry_read,       EventKind::entry_published,
                               EventKind::version_miss,    EventKind::version_ready,    EventKind::version_evicted,
                               EventKind::call_waited,     EventKind::stand_in,         EventKind::held_back,
                               EventKind::call_refused,    EventKind::launch_refused})
    EXPECT_GT(count(kind), 0u) << to_string(kind);
  EXPECT_EQ(count(EventKind::storm), 2u) << "once for each function";
  EXPECT_EQ(count(EventKind::signature_made), 2u);
  EXPECT_EQ(count(EventKind::compile_started), count(EventKind::compile_finished) + count(EventKind::compile_failed) +
                                                   count(EventKind::compile_timed_out) +
                                                   count(EventKind::compile_cancelled));
  EXPECT_EQ(count(EventKind::version_started), count(EventKind::version_ready) + count(EventKind::version_failed));
  EXPECT_THAT(of(EventKind::call_refused).key, HasSubstr("{"));
  EXPECT_EQ(of(EventKind::call_refused).kernel, "waits");
  EXPECT_THAT(of(EventKind::launch_refused).text, HasSubstr("at least 8"));
}

TEST_F(EventsTest, StagesBytesAndKeysAreTold) {
  {
    const Engine engine(with_events());
    EXPECT_TRUE(engine.compile(stores(1), *engine.device("cpu")).ok());
  }
  const Told made = of(EventKind::compile_finished), published = of(EventKind::entry_published);
  EXPECT_EQ(made.kernel, "stores");
  EXPECT_GT(made.bytes, 0u);
  EXPECT_GT(made.times.lower, 0);
  EXPECT_GT(made.times.emit, 0);
  EXPECT_GT(made.times.compile, 0);
  EXPECT_EQ(made.times.look_up, 0);
  EXPECT_GT(published.bytes, made.bytes) << "an entry has its image and more";
  EXPECT_EQ(published.text, "user");
  EXPECT_EQ(published.key.size(), 32u);
  EXPECT_EQ(of(EventKind::memory_miss).key.size(), 32u);

  const Engine engine(with_events());
  EXPECT_TRUE(engine.compile(stores(1), *engine.device("cpu")).ok());
  const Told found = of(EventKind::disk_hit), hit = of(EventKind::user_hit);
  EXPECT_EQ(hit.bytes, published.bytes);
  EXPECT_EQ(hit.key, published.key);
  EXPECT_EQ(found.key, published.key);
  EXPECT_EQ(found.bytes, made.bytes);
  EXPECT_GT(found.times.look_up, 0);
  EXPECT_GT(found.times.load, 0);
  EXPECT_EQ(found.times.compile, 0);
  EXPECT_EQ(count(EventKind::compile_started), 1u);
}

TEST_F(EventsTest, FailuresOfTiersAndCompilesAreTold) {
  {
    const Engine engine(with_events());
    EXPECT_TRUE(engine.compile(stores(1), *engine.device("cpu")).ok());
  }
  namespace fs = std::filesystem;
  for (const auto& file : fs::recursive_directory_iterator(place.path()))
    if (file.is_regular_file() && file.path().filename().string().size() == 32) fs::resize_file(file.path(), 100);
  EngineOptions o = with_events();
  o.cache_bundles = {place / "none"};
  o.background_queue = 0;
  const Engine engine(o);
  const Device device = *engine.device("cpu");
  EXPECT_EQ(count(EventKind::tier_error), 1u);
  EXPECT_TRUE(engine.compile(stores(1), device).ok());
  EXPECT_EQ(count(EventKind::bad_entry), 1u);
  EXPECT_EQ(of(EventKind::bad_entry).key, of(EventKind::entry_published).key);
  CompileOptions limited;
  limited.time_limit = std::chrono::milliseconds(1);
  EXPECT_FALSE(engine.compile(slow(), device, limited).ok());
  EXPECT_EQ(count(EventKind::compile_timed_out), 1u);
  const JitFunction f(engine, device, "doubled", doubled, by_number(Tier::background));
  JitTest::call(f, 20, 5);
  EXPECT_EQ(count(EventKind::queue_full), 1u);
  EXPECT_EQ(f.counters().queue_full, 1u);
  EXPECT_THAT(of(EventKind::queue_full).key, HasSubstr("5"));
}

/// A callback that asks for all that locks: it would wait for ever if one were held.
TEST_F(EventsTest, NoLockIsHeldAndWhatIsThrownIsDropped) {
  EngineOptions o = with_events();
  o.kept_kernels = 2;
  struct Asking {
    std::atomic<bool> asks = false;
    std::atomic<int> inside = 0, calls = 0;
    std::function<void()> ask;
  };
  const auto asking = std::make_shared<Asking>();
  heard->beside = [asking](const Event&) {
    ++asking->inside;
    if (asking->asks) asking->ask(), ++asking->calls;
    --asking->inside;
    throw 7;
  };
  const Engine engine(o);
  const Device device = *engine.device("cpu");
  const JitFunction f(engine, device, "doubled", doubled, by_number(Tier::background, 2));
  const Executable there = *engine.compile(stores(7), device);
  asking->ask = [&] {
    static_cast<void>(engine.counters());
    static_cast<void>(f.counters());
    static_cast<void>(f.keys());
    f.set_tier(Tier::background);
  };
  asking->asks = true;
  for (int32_t n = 0; n < 8; ++n) {
    JitTest::call(f, 20, n);
    EXPECT_TRUE(engine.compile(stores(n), device).ok());
    f.wait();
  }
  int32_t out[8] = {};
  EXPECT_FALSE(there.launch({tensor<int32_t>(out, {7})}).ok());
  EXPECT_TRUE(there.launch({tensor<int32_t>(out, {8})}).ok());
  EXPECT_EQ(out[3], 7);
  EXPECT_GT(asking->calls, 20);
  asking->asks = false;
  while (asking->inside > 0) std::this_thread::yield();
}

TEST_F(EventsTest, WarmCallsTellNothingAndAllocateNothing) {
  struct Counting {
    std::atomic<bool> warm = false;
    std::atomic<int> calls = 0;
  };
  const auto counting = std::make_shared<Counting>();
  heard->beside = [counting](const Event& e) {
    counting->calls += counting->warm && e.kind != EventKind::entry_published;
  };
  const Engine engine(with_events());
  const Device device = *engine.device("cpu");
  const JitFunction f(engine, device, "doubled", doubled, by_number(Tier::wait));
  std::vector<float> in(64, 1.f), out(64);
  const Argument call[] = {tensor<float>(in.data(), {64}), tensor<float>(out.data(), {64}), int32_t{1}};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(f.launch(Stream(), call).ok());
  counting->warm = true;
  const int before = allocations_so_far();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(f.launch(Stream(), call).ok());
  EXPECT_EQ(allocations_so_far(), before);
  EXPECT_EQ(counting->calls, 0);
}

TEST_F(EventsTest, WhatOutlivesTheEngineTellsNothing) {
  auto engine = std::make_unique<Engine>(with_events());
  const Executable exe = *engine->compile(stores(7), *engine->device("cpu"));
  engine.reset();
  int32_t out[8] = {};
  EXPECT_FALSE(exe.launch({tensor<int32_t>(out, {7})}).ok());
  EXPECT_EQ(count(EventKind::launch_refused), 0u);
}

}  // namespace
}  // namespace tlxjit::runtime_test

// src/runtime/events.cpp — the table of events, and the counters that are sums of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/events_p.h"

#include "tlxjit/runtime/jit_function.h"

TLXJIT_NAMESPACE_BEGIN

std::span<const EventInfo> event_table() {
  static constexpr EventInfo table[] = {
#define TLXJIT_EVENT(kind, counter, fields, meaning) {EventKind::kind, #kind, counter, fields, meaning},
#include "tlxjit/runtime/events.def"
#undef TLXJIT_EVENT
  };
  return table;
}

std::string_view to_string(EventKind kind) {
  const auto at = static_cast<size_t>(kind);
  return at < event_table().size() ? event_table()[at].name : "?";
}

namespace runtime {

CacheCounters cache_counters(const EventSums& sums) {
  CacheCounters c;
  c.store_hits = sums.count(EventKind::store_hit);
  c.user_hits = sums.count(EventKind::user_hit);
  c.system_hits = sums.count(EventKind::system_hit);
  c.bundle_hits = sums.count(EventKind::bundle_hit);
  c.misses = sums.count(EventKind::tier_miss);
  c.published = sums.count(EventKind::entry_published);
  c.bytes_read = sums.bytes(EventKind::entry_read);
  c.bytes_written = sums.bytes(EventKind::entry_published);
  c.bad_entries = sums.count(EventKind::bad_entry);
  c.errors = sums.count(EventKind::tier_error);
  c.evictions = sums.count(EventKind::swept);
  c.evicted_bytes = sums.bytes(EventKind::swept);
  c.waits = sums.count(EventKind::process_wait);
  return c;
}

EngineCounters engine_counters(const EventSums& sums) {
  EngineCounters c;
  // How compiles ended is read before how many began: none is counted that did not.
  c.failures = sums.count(EventKind::compile_failed);
  c.timed_out = sums.count(EventKind::compile_timed_out);
  c.cancelled = sums.count(EventKind::compile_cancelled);
  c.compiles = sums.count(EventKind::compile_started);
  c.memory_hits = sums.count(EventKind::memory_hit);
  c.memory_misses = sums.count(EventKind::memory_miss);
  c.memory_evictions = sums.count(EventKind::memory_eviction);
  c.disk_hits = sums.count(EventKind::disk_hit);
  c.disk_misses = sums.count(EventKind::disk_miss);
  c.disk = cache_counters(sums);
  c.module_evictions = sums.count(EventKind::module_eviction);
  c.refused_launches = sums.count(EventKind::launch_refused);
  return c;
}

JitCounters jit_counters(const EventSums& sums) {
  JitCounters c;
  c.signatures = sums.count(EventKind::signature_made);
  c.misses = sums.count(EventKind::version_miss);
  c.failures = sums.count(EventKind::version_failed);  // first, as above
  c.compiles = sums.count(EventKind::version_started);
  c.waits = sums.count(EventKind::call_waited);
  c.stand_ins = sums.count(EventKind::stand_in);
  c.evictions = sums.count(EventKind::version_evicted);
  c.held_back = sums.count(EventKind::held_back);
  c.queue_full = sums.count(EventKind::queue_full);
  c.refused = sums.count(EventKind::call_refused);
  return c;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END

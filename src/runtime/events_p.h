// src/runtime/events_p.h — counts what happens, and tells the host.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <string>

#include "tlxjit/runtime/event.h"

TLXJIT_NAMESPACE_BEGIN

struct EngineCounters;
struct CacheCounters;
struct JitCounters;

namespace runtime {

/// Sums over events, by kind: what the counters are read from, so that they agree with what was told. Who has read one
/// with an event also finds what was added before that event. Thread safe.
class EventSums {
 public:
  void add(const Event& event) {
    Sum& sum = sums_[static_cast<size_t>(event.kind)];
    sum.count.fetch_add(event.count, std::memory_order_release);
    sum.bytes.fetch_add(event.bytes, std::memory_order_release);
  }
  uint64_t count(EventKind kind) const { return sums_[static_cast<size_t>(kind)].count; }
  uint64_t bytes(EventKind kind) const { return sums_[static_cast<size_t>(kind)].bytes; }

 private:
  struct Sum {
    std::atomic<uint64_t> count = 0, bytes = 0;
  };
  std::array<Sum, event_kinds> sums_;
};

/// All but EngineCounters::loaded_modules.
EngineCounters engine_counters(const EventSums& sums);
CacheCounters cache_counters(const EventSums& sums);
/// All but JitCounters::versions.
JitCounters jit_counters(const EventSums& sums);

/// The events of an engine. Thread safe.
class Events {
 public:
  using Tell = std::function<void(const Event&)>;
  explicit Events(Tell tell = {}) : tell_(std::move(tell)) {}

  /// To be called with no lock held. What the host's function throws is dropped.
  void happened(const Event& event) noexcept {
    sums_.add(event);
    if (!tell_) return;
    try {
      tell_(event);
    } catch (...) {  // it is the host's own
    }
  }
  /// The same with a key that is made only if somebody listens; with too little memory for it, it is empty.
  template <class Key>
  void happened(Event event, Key&& key) noexcept {
    std::string text;
    if (tell_) {
      try {
        text = key();
      } catch (...) {
      }
    }
    event.key = text;
    happened(event);
  }
  const EventSums& sums() const { return sums_; }

 private:
  const Tell tell_;
  EventSums sums_;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END

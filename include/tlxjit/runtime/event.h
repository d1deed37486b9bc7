// include/tlxjit/runtime/event.h — what an engine tells its host as it happens.
//
//     EngineOptions options;
//     options.event = [](const Event& e) { std::clog << to_string(e.kind) << ' ' << e.kernel << '\n'; };
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN

struct StageTimes;

/// docs/reference/events.md says what each means.
enum class EventKind : uint8_t {
#define TLXJIT_EVENT(kind, counter, fields, meaning) kind,
#include "tlxjit/runtime/events.def"
#undef TLXJIT_EVENT
};
#define TLXJIT_EVENT(kind, counter, fields, meaning) +1
inline constexpr size_t event_kinds = 0
#include "tlxjit/runtime/events.def"
    ;
#undef TLXJIT_EVENT

/// Valid until the callback returns.
struct Event {
  EventKind kind;
  std::string_view kernel = {};  ///< or function
  std::string_view key = {};
  uint64_t count = 1;  ///< how many at once
  uint64_t bytes = 0;
  const StageTimes* times = nullptr;
  std::string_view text = {};
};

/// What is known of a kind.
struct EventInfo {
  EventKind kind;
  std::string_view name;     ///< `memory_hit`
  std::string_view counter;  ///< `EngineCounters::memory_hits`, which adds it up; empty: none
  std::string_view fields;   ///< of Event that are set: `kernel key bytes`
  std::string_view meaning;
};
/// All kinds, in their order.
TLXJIT_API std::span<const EventInfo> event_table();
/// `memory_hit`.
TLXJIT_API std::string_view to_string(EventKind kind);

TLXJIT_NAMESPACE_END

// src/runtime/memory_cache_p.h — compiled kernels of an engine, by content.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "src/runtime/deadline_p.h"
#include "src/runtime/events_p.h"
#include "src/runtime/loaded_modules_p.h"
#include "src/runtime/per_process_p.h"
#include "tlxjit/core/result.h"
#include "tlxjit/runtime/engine.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

struct ExecutableState;

/// Keeps the kernels used last. A key is compared whole: two keys of one hash are two kernels. Thread safe.
class MemoryCache : public ModuleHolder {
 public:
  using State = Result<std::shared_ptr<ExecutableState>>;
  using Hash = size_t (*)(std::string_view);
  static size_t default_hash(std::string_view key) { return std::hash<std::string_view>()(key); }

  /// Keeps at most `capacity` kernels, 0: none. `hash` is replaced by tests only.
  MemoryCache(size_t capacity, std::shared_ptr<Events> events, Hash hash = default_hash,
              std::shared_ptr<UseClock> clock = std::make_shared<UseClock>());

  /// The kernel of this key: one that is kept, the one that another thread makes just now, or what `make` gives.
  /// Errors are not kept; those who waited for a thread that failed get its error, so that a fault of the environment
  /// is met once. Only who waited for one that timed out tries by itself. At the deadline a wait for another thread
  /// ends with an error; `make` is left to look at it by itself.
  State get(const std::string& key, const Deadline& deadline, const std::function<State()>& make);

  void list(std::vector<Kept>& kept, Dropped& dropped) override;
  void let_go(const ExecutableState* state, Dropped& dropped) override;

 private:
  struct Entry {
    const std::string key;
    uint64_t last_use = 0;
    std::optional<State> result;  // none while it is made; an error: no longer in the index
    explicit Entry(std::string k) : key(std::move(k)) {}
  };
  using Recent = std::list<std::shared_ptr<Entry>>;
  using Index = std::unordered_map<std::string_view, Recent::iterator, Hash>;
  struct Store {
    std::mutex mutex;
    std::condition_variable made;
    Recent recent;                 // the last used first
    Index index{0, default_hash};  // by the entries' own keys
    void inherit(Store& parents);
  };
  Recent evict(Store& kept) const;
  void happened(EventKind kind, const std::string& key, std::string_view kernel = {}) const noexcept;

  const size_t capacity_;
  const std::shared_ptr<Events> events_;
  const std::shared_ptr<UseClock> clock_;
  PerProcess<Store> kept_;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END

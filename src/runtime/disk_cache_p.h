// src/runtime/disk_cache_p.h — compiled kernels kept between processes: the tiers, one behind the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/runtime/deadline_p.h"
#include "src/runtime/entry_p.h"
#include "src/runtime/events_p.h"
#include "src/runtime/key_lock_p.h"
#include "src/runtime/key_p.h"
#include "src/runtime/sweeper_p.h"
#include "tlxjit/runtime/store.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

struct DiskCacheOptions {
  std::shared_ptr<Store> store;      ///< the service's own, asked first; none: null
  std::string user_directory;        ///< read and written; none: empty
  std::string system_directory;      ///< root's, read only; none: empty
  std::vector<std::string> bundles;  ///< files of write_bundle
  /// Bound of the user's directory; 0: none.
  uint64_t most_bytes = uint64_t{1} << 30;
  /// Longest wait for another process that compiles the same; 0: no wait.
  std::chrono::milliseconds longest_wait{10000};
  /// Told each kind of failure once for each tier, with no lock held; what it throws is dropped.
  std::function<void(std::string_view)> log;
  /// Told what happens. Null: the cache makes its own.
  std::shared_ptr<Events> events;
  /// Replaced by tests only.
  std::string (*key)(std::string_view) = key_text;
};

/// Looks a kernel up by all that it depends on, its material, which is compared whole: two materials of one key are two
/// kernels. Stores that say so are asked for it without its compiler (Store::any_compiler). No failure of a tier fails
/// a call: it is counted, told once, and the next tier is asked. Entries that are not whole are taken out of the tiers
/// that are written, never because of an error of reading. Thread safe.
class DiskCache {
 public:
  explicit DiskCache(DiskCacheOptions options);
  ~DiskCache();

  /// What a compile holds on to while it goes on.
  struct Flight {
    std::optional<Entry> entry;  ///< what another process published meanwhile
    KeyLock lock;
  };

  std::optional<Entry> find(std::string_view material);
  /// After `find` found nothing and before a compile: where another process compiles the same, waits until it has, or
  /// until a limit, and looks again. Other processes wait as long as the Flight is kept: until after `publish`.
  Flight begin(std::string_view material, const Deadline& deadline = {});
  /// An entry that was found and is of no use to anybody: taken out of the tiers that are written, and told of. False:
  /// none of these has it.
  bool drop(std::string_view material, const std::string& why);
  /// Puts the entry into the tiers that are written. Some file systems take tens of milliseconds for it.
  void publish(const Entry& entry);

  CacheCounters counters() const { return cache_counters(options_.events->sums()); }
  /// Whether a tier is asked for kernels of any compiler.
  bool any_compiler() const;
  /// Whether there is any tier.
  bool empty() const { return tiers_.empty(); }
  /// Until a sweep that was started has ended; for tests.
  void wait_for_sweep();

 private:
  enum class Kind : uint8_t { store, user, system, bundle };
  struct Tier {
    Kind kind;
    std::shared_ptr<Store> store;
    std::string name;  // as the store describes itself
    std::atomic<bool> told_read = false, told_write = false, told_bad = false;
    bool any_compiler = false;  // as the store says
    bool written() const { return (kind == Kind::store || kind == Kind::user) && !any_compiler; }
  };
  void add(Kind kind, std::shared_ptr<Store> store);
  std::optional<Entry> look_up(std::string_view material);
  std::optional<Entry> look_up_in(Tier& tier, const std::string& key, std::string_view material);
  void drop_from(Tier& tier, const std::string& key, const std::string& why);
  void failed(Tier& tier, std::atomic<bool>& told, const char* what, const Error& why);
  void tell(std::atomic<bool>& told, const std::string& text) const;
  void happened(const Event& event) const noexcept { options_.events->happened(event); }
  void error(std::string_view what) const noexcept { happened({.kind = EventKind::tier_error, .text = what}); }

  const DiskCacheOptions options_;
  std::vector<std::unique_ptr<Tier>> tiers_;
  std::shared_ptr<DirectoryStore> user_;
  std::atomic<bool> told_sweep_ = false;
  std::unique_ptr<Sweeper> sweeper_;  // last: it tells of itself until it ends
};

}  // namespace runtime
TLXJIT_NAMESPACE_END

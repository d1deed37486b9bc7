// src/runtime/jit_versions_p.h — the versions of a JitFunction, found without a lock.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <optional>
#include <vector>

#include "src/runtime/executable_p.h"
#include "src/runtime/jit_family_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Whose code a version runs, and what becomes of it.
enum class Standing : uint8_t {
  own,     ///< compiled for its key
  queued,  ///< stands in till the key's own is compiled, for which it is in the engine's queue
  failed,  ///< stands in: the key's own could not be compiled, and is tried again from `again` on
  told,    ///< stands in: Tier::warn has told of the key, and nothing is compiled
  stable,  ///< stands in for good, as JitOptions::stable wants it
};

/// What runs calls of one key. Its memory is reused and never freed before the table ends, so that a reader may touch
/// one that has just been taken out. Between being put in and the last reader's leaving after it was taken out,
/// nothing but the atomic ones changes.
struct Version {
  using Clock = std::chrono::steady_clock;

  const Family* family = nullptr;
  std::vector<int64_t> codes;
  uint64_t hash = 0;
  std::optional<Executable> executable;
  Promises promises;  ///< of the executable
  int failures = 0;   ///< of compiles of the key's own, in a row; under the owner's lock
  std::atomic<Standing> standing{Standing::own};
  std::atomic<Clock::rep> again{0};
  std::atomic<bool> retired{false};  ///< taken out
  std::atomic<uint64_t> entered{0}, left{0};
  std::atomic<uint64_t> last_use{0};

  bool own() const { return standing.load(std::memory_order_relaxed) == Standing::own; }

  bool is(const Family* f, const CallClass& c) const {
    return family == f && codes.size() == c.size && std::equal(codes.begin(), codes.end(), c.codes.begin());
  }
  /// Whether no reader is inside. Read in this order: who leaves between the two makes it say no.
  bool idle() const {
    const uint64_t out = left.load();
    return entered.load() == out;
  }
};

/// A version that a reader is inside of.
class VersionUse {
 public:
  VersionUse() = default;
  explicit VersionUse(Version* v) : version_(v) {}
  VersionUse(VersionUse&& other) noexcept : version_(std::exchange(other.version_, nullptr)) {}
  VersionUse& operator=(VersionUse&& other) = delete;
  ~VersionUse() { leave(); }
  /// Whether it has been taken out meanwhile, and may be this use alone that kept it: collect() it then.
  bool leave() {
    Version* v = std::exchange(version_, nullptr);
    if (!v) return false;
    v->left.fetch_add(1);
    return v->retired.load();
  }
  explicit operator bool() const { return version_ != nullptr; }
  const Version* operator->() const { return version_; }
  const Version& operator*() const { return *version_; }

 private:
  Version* version_ = nullptr;
};

/// At most `max_versions_kept` versions, open addressing. find() may be called at any time, the rest under the owner's
/// lock.
class VersionTable {
 public:
  static constexpr size_t max_versions_kept = 256;

  VersionTable();
  /// Uses are told by this clock; to be called before there is a version.
  void count_by(std::shared_ptr<UseClock> clock) { clock_ = std::move(clock); }
  /// The version of a key.
  VersionUse find(const Family* family, const CallClass& c) const;

  struct Content {
    const Family* family;
    std::vector<int64_t> codes;
    uint64_t hash;
    Executable executable;
    Standing standing;
    Promises promises;
  };
  /// What of others may go to make room.
  enum class Room : uint8_t {
    any,        ///< the least recently used
    stand_ins,  ///< of those that are not their keys' own
  };
  struct Put {
    bool in = false;
    size_t evicted = 0;  ///< versions of other keys
  };
  /// Puts a version in, in the place of one that stands in for its key; but not where the key's own is in, nor where
  /// there is no room. What had to go is added to `dropped`: to be destroyed without the lock.
  Put put(Content content, size_t most, Room room, std::vector<Executable>& dropped);
  /// Takes out all that run this.
  void take_out(const ExecutableState* state, std::vector<Executable>& dropped);
  bool has_room(size_t most, Room room) const { return all_.size() < most || victim(room); }
  /// The version of a key, or null.
  Version* at(const Family* family, const CallClass& c) const;
  /// The one of a family's own versions that knows most of a call among those whose promises it keeps, or null.
  Version* most_special(const Family& family, std::span<const Argument> arguments) const;
  /// All that are in, in no order.
  const std::vector<Version*>& all() const { return all_; }
  size_t own_count() const;
  /// Versions that were taken out while they were used, and are not any more.
  void collect(std::vector<Executable>& dropped);

 private:
  static constexpr size_t slots = 2048, window = 16;
  struct Slot {
    std::atomic<uint64_t> hash{0};
    std::atomic<Version*> version{nullptr};
  };
  Slot* slot_of(const Version* v);
  void take_out(Version* v, std::vector<Executable>& dropped);
  Version* victim(Room room) const;
  Version* fresh();

  std::vector<Slot> slots_;
  std::deque<Version> storage_;
  std::vector<Version*> all_, free_, retired_;
  std::shared_ptr<UseClock> clock_ = std::make_shared<UseClock>();
};

}  // namespace runtime
TLXJIT_NAMESPACE_END

// src/runtime/jit_versions_p.h — the versions of a JitFunction, found without a lock.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <vector>

#include "src/runtime/jit_family_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// What runs calls of one key. Its memory is reused and never freed before the table ends, so that a reader may touch
/// one that has just been taken out. Between being put in and the last reader's leaving after it was taken out,
/// nothing but the counters changes.
struct Version {
  const Family* family = nullptr;
  std::vector<int64_t> codes;
  uint64_t hash = 0;
  std::optional<Executable> executable;
  bool own = false;   ///< compiled for this key; else it stands in for what is
  Promises promises;  ///< of the executable
  std::atomic<uint64_t> entered{0}, left{0};
  std::atomic<uint64_t> last_use{0};

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
  ~VersionUse() {
    if (version_) version_->left.fetch_add(1, std::memory_order_release);
  }
  explicit operator bool() const { return version_ != nullptr; }
  const Version* operator->() const { return version_; }

 private:
  Version* version_ = nullptr;
};

/// At most `max_versions_kept` versions, open addressing. find() may be called at any time, the rest under the owner's
/// lock.
class VersionTable {
 public:
  static constexpr size_t max_versions_kept = 256;

  VersionTable();
  /// The version of a key.
  VersionUse find(const Family* family, const CallClass& c) const;

  struct Content {
    const Family* family;
    std::vector<int64_t> codes;
    uint64_t hash;
    Executable executable;
    bool own;
    Promises promises;
  };
  /// Puts a version in, in the place of the one of its key if there is one. What had to go, to make room for it too,
  /// is added to `dropped`: to be destroyed without the lock. Gives how many other keys had to go.
  size_t put(Content content, size_t most, std::vector<Executable>& dropped);
  /// All that are in, in no order.
  const std::vector<Version*>& all() const { return all_; }
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
  Version* fresh();

  std::vector<Slot> slots_;
  std::deque<Version> storage_;
  std::vector<Version*> all_, free_, retired_;
  std::atomic<uint64_t> now_{1};  // counts what was put in: the age of uses
};

}  // namespace runtime
TLXJIT_NAMESPACE_END

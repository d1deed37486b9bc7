// src/runtime/jit_state_p.h — what the copies of a JitFunction share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "src/runtime/jit_versions_p.h"
#include "src/runtime/per_process_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

class JitState : public std::enable_shared_from_this<JitState> {
 public:
  /// Makes the verified kernel of a signature.
  using Generator = std::function<Result<Module>(const Signature&, const Config&)>;
  JitState(Engine engine, Device device, std::string name, Generator generator, JitOptions options);

  Result<void> launch(const Stream& stream, std::span<const Argument> arguments, std::source_location at);
  Result<void> prepare(std::span<const Argument> arguments);
  Result<Executable> version(std::span<const Argument> arguments);
  void wait();
  void set_tier(Tier tier) { tier_.store(tier, std::memory_order_relaxed); }
  JitCounters counters();
  const std::string& name() const { return name_; }
  const std::string& target() const { return device_.target(); }

  // For manifests.
  /// The family of a signature, made if it is not there.
  Result<const Family*> family(const Signature& signature);
  /// The version of its own of a key, compiled if it is not there; `present` says whether it was.
  Result<Executable> own_version(const Family& family, const CallClass& c, bool& present);
  /// Families and codes of the keys whose own versions are loaded.
  std::vector<std::pair<const Family*, std::vector<int64_t>>> loaded();

 private:
  /// One compile that is under way: of a family's generic kernel, or of the version of a key.
  struct Flight {
    std::optional<Result<Executable>> result;
  };
  using Key = std::pair<const Family*, std::optional<std::vector<int64_t>>>;  // none: generic
  struct OfProcess {
    std::mutex mutex;
    std::condition_variable landed, idle;
    std::deque<std::unique_ptr<Family>> families;
    std::atomic<const Family*> first{nullptr};  // the list that launches walk
    std::map<const Family*, Executable> generic;
    std::map<Key, std::shared_ptr<Flight>> flights;
    VersionTable table;
    JitCounters counters;
    std::set<std::pair<const Family*, std::vector<int64_t>>> queued;  // to the engine, till they are compiled
    std::array<uint64_t, 1024> knocks{};                              // hashes of keys that were held back
    size_t next_knock = 0;
    bool told_full = false;
    std::vector<Executable> pinned;  // launched into captures
    std::set<uint64_t> warned;       // hashes of keys that Tier::Warn has told
  };

  Result<void> check_options() const;
  /// Whether a call may run a version that is not its own.
  bool may_stand_in() const {
    const Tier tier = tier_.load(std::memory_order_relaxed);
    return tier == Tier::Background || tier == Tier::Warn;
  }
  static const Family* find_family(const OfProcess& own, std::span<const Argument> arguments);
  Result<const Family*> family_of(OfProcess& own, std::span<const Argument> arguments);
  Result<const Family*> add_family(OfProcess& own, Signature signature);
  /// What a call runs that found no version.
  Result<Executable> miss(OfProcess& own, const Family& family, const CallClass& c, std::span<const Argument> arguments,
                          const Stream& stream);
  Result<Executable> miss_background(OfProcess& own, const Family& family, const CallClass& c,
                                     std::span<const Argument> arguments);
  /// The most special loaded version whose promises the call keeps, or the generic one if it is loaded. Under the lock.
  std::optional<Executable> nearest(const OfProcess& own, const Family& family, std::span<const Argument> arguments,
                                    Promises& promises) const;
  /// Whether a key may have a version; the first that may not is told.
  bool admit(OfProcess& own, const CallClass& c);
  /// The generic executable, compiled if it is not there.
  Result<Executable> generic(OfProcess& own, const Family& family);
  Result<Executable> special(OfProcess& own, const Family& family, const CallClass& c);
  /// Runs `compile` unless another thread does just that, which it then waits for, or has done it: `there`, asked under
  /// the lock.
  Result<Executable> fly(OfProcess& own, const Key& key, const std::function<std::optional<Executable>()>& there,
                         const std::function<Result<Executable>()>& compile);
  static void pin(OfProcess& own, const Executable& executable);
  void put(OfProcess& own, VersionTable::Content content);
  bool enqueue(OfProcess& own, const Family& family, const CallClass& c);
  void compile_queued(const Family& family, const std::vector<int64_t>& codes, uint64_t hash);
  void log(const std::string& text) const;
  Error sealed(const Family& family, const CallClass& c, ErrorCode code, const std::string& why) const;

  const Engine engine_;
  const Device device_;
  const std::string name_;
  const Generator generator_;
  const JitOptions options_;
  std::atomic<Tier> tier_;
  PerProcess<OfProcess> own_;
};

/// One key as JSON, on one line.
std::string key_json(const JitState& state, const Family& family, std::span<const int64_t> codes);

}  // namespace runtime
TLXJIT_NAMESPACE_END

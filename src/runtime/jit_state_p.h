// src/runtime/jit_state_p.h — what the copies of a JitFunction share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "src/runtime/admission_p.h"
#include "src/runtime/events_p.h"
#include "src/runtime/jit_versions_p.h"
#include "src/runtime/per_process_p.h"
#include "src/runtime/single_flight_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

class JitState : public ModuleHolder, public std::enable_shared_from_this<JitState> {
 public:
  /// Makes the verified kernel of a signature.
  using Generator = std::function<Result<Module>(const Signature&, const Config&)>;
  JitState(Engine engine, Device device, std::string name, Generator generator, JitOptions options);

  Result<void> launch(const Stream& stream, std::span<const Argument> arguments, std::source_location at);
  Result<void> prepare(std::span<const Argument> arguments);
  Result<Executable> version(std::span<const Argument> arguments);
  void wait();
  void set_tier(Tier tier);
  JitCounters counters();
  const std::string& name() const { return name_; }
  const std::string& device_target() const { return device_.target(); }
  /// CompileOptions::as.
  const std::string& as() const { return options_.compile.as; }
  /// What is compiled for.
  const std::string& target() const { return as().empty() ? device_target() : as(); }

  // For the engine's bound over loaded modules. Under the lock that set_tier takes, so that a function that is sealed
  // has what it had then.
  void list(std::vector<Kept>& kept, Dropped& dropped) override;
  void let_go(const ExecutableState* state, Dropped& dropped) override;
  /// Registers it as a holder.
  void begin();

  // For manifests.
  /// The family of a signature, made if it is not there.
  Result<const Family*> family(const Signature& signature);
  /// Compiles and loads the version of a key's own; true: it was there. An error too where it may not come in.
  Result<bool> warm(const Family& family, const CallClass& c);
  /// Families and codes of the keys whose own versions are loaded.
  std::vector<std::pair<const Family*, std::vector<int64_t>>> loaded();

 private:
  bool holds_on() const;
  using Codes = std::vector<int64_t>;
  using Key = std::pair<const Family*, std::optional<Codes>>;  // none: generic
  using Queue = std::set<std::pair<const Family*, Codes>>;
  struct OfProcess {
    std::mutex mutex;
    std::condition_variable idle;
    std::deque<std::unique_ptr<Family>> families;
    std::atomic<const Family*> first{nullptr};  // the list that launches walk
    SingleFlight<std::vector<Signature::Argument>, const Family*> generators;
    struct Generic {
      Executable executable;
      uint64_t last_use;
    };
    std::map<const Family*, Generic> generic;
    SingleFlight<Key, Executable> compiles;
    VersionTable table;
    EventSums sums;
    Queue queued;  // to the engine, till they are compiled
    Admission admission;
    std::set<uint64_t> warned;        // hashes of keys that Tier::warn has told
    std::set<const Family*> settled;  // JitOptions::stable: the generic version has served calls of theirs
  };
  /// A key in the engine's queue. It ends when the compile has, or when there will be none: the queue is full, or ends.
  struct Queued;
  /// What went out of the table. Its end, without the lock, tells of it and unloads it.
  struct Removed;
  /// What a call runs.
  struct Served {
    Executable executable;
    Promises promises = {};
    bool stands_in = false;  // for the key's own version; what is to be done about that is done after the launch
  };

  Result<void> check_options() const;
  static const Family* find_family(const OfProcess& own, std::span<const Argument> arguments);
  Result<const Family*> family_of(OfProcess& own, std::span<const Argument> arguments);
  Result<const Family*> add_family(OfProcess& own, const Signature& signature);

  // Tiers.
  /// Whether calls run it now.
  bool serves(const Version& version) const;
  /// What a call runs that found no version that serves it.
  Result<Served> miss(OfProcess& own, const Family& family, const CallClass& c, std::span<const Argument> arguments,
                      const Stream& stream);
  /// The nearest of what is loaded, else the generic version, which the call waits for.
  Result<Served> valid(OfProcess& own, const Family& family, const CallClass& c, std::span<const Argument> arguments,
                       bool waited = false);
  /// The key's own version, or else the most special one whose promises the call keeps, or else the generic one, if
  /// they are loaded.
  std::optional<Served> nearest(OfProcess& own, const Family& family, const CallClass& c,
                                std::span<const Argument> arguments) const;
  /// JitOptions::stable: the generic version has served calls of the family, so that no other may come in.
  bool is_settled(OfProcess& own, const Family& family) const;
  /// Whether a key may have a version; the first that may not is told.
  bool admit(OfProcess& own, const Family& family, const CallClass& c);
  /// After a call of a key that another version stands in for: lets that one do so, and queues the compile.
  void want_own(OfProcess& own, const Family& family, const CallClass& c, Served served);
  void stand_in(OfProcess& own, const Family& family, const CallClass& c, Served served, Standing standing);
  Error refused(OfProcess& own, const Family& family, const CallClass& c, ErrorCode code, const std::string& why) const;

  // Compiles.
  /// Which versions may go for others.
  VersionTable::Room room() const { return options_.stable ? VersionTable::Room::stand_ins : VersionTable::Room::any; }
  Result<Executable> compile(OfProcess& own, const Key& key, const std::function<std::optional<Executable>()>& there,
                             const std::function<Result<Executable>()>& make);
  /// The generic executable, compiled if it is not there.
  Result<Executable> generic(OfProcess& own, const Family& family);
  /// The version of a key's own, compiled if it is not there, and put into the table if it may.
  Result<Executable> special(OfProcess& own, const Family& family, const CallClass& c, VersionTable::Room room);
  void keep(OfProcess& own, const Family& family, const CallClass& c, const Executable& made, const Promises& promises,
            VersionTable::Room room);
  void enqueue(OfProcess& own, const Family& family, const CallClass& c, Served served);
  void compile_queued(const Queued& key);
  /// A key's own version could not be compiled: what serves it now goes on, at most for a while.
  void failed(OfProcess& own, const Family& family, const CallClass& c, const Error& error) noexcept;
  void collect(OfProcess& own) noexcept;

  void log(const std::string& text) const;
  /// Counts an event of a key, or of the generic version, and tells of it.
  void happened(OfProcess& own, EventKind kind, const Family& family, std::optional<std::span<const int64_t>> codes,
                std::string_view text = {}) const noexcept;

  const Engine engine_;
  const Device device_;
  const std::string name_;
  const Generator generator_;
  const JitOptions options_;
  std::atomic<Tier> tier_;
  PerProcess<OfProcess> own_;
};

struct JitState::Removed {
  JitState& function;
  OfProcess& own;
  std::vector<Executable> executables = {};
  size_t evicted = 0;

  /// Under the lock. Whether it is in now.
  bool put(VersionTable::Content content, VersionTable::Room room);
  ~Removed();
};

/// One key as JSON, on one line.
std::string key_json(const JitState& state, const Family& family, std::span<const int64_t> codes);

}  // namespace runtime
TLXJIT_NAMESPACE_END

// src/runtime/kernel_maker_p.h — makes executables: out of the disk cache, or by a compile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "src/runtime/backend_p.h"
#include "src/runtime/compile_threads_p.h"
#include "src/runtime/disk_cache_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/publisher_p.h"
#include "tlxjit/runtime/engine.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

struct ExecutableState;

/// A verified module that is to be run on a device.
struct MakeRequest {
  const Module& module;
  const std::string& text;  ///< of the module, without locations
  const Device& device;
  const std::shared_ptr<DeviceBackend>& backend;
  const CompileOptions& options;
  const Deadline& deadline;
  double verify_ms = 0;       ///< that the verifier took
  std::string_view key = {};  ///< of all this in memory, which events of the compile name
};

/// Thread safe.
class KernelMaker {
 public:
  using State = Result<std::shared_ptr<ExecutableState>>;
  using Log = std::function<void(std::string_view)>;

  /// The options, with the environment applied, say where the tiers are.
  KernelMaker(const EngineOptions& options, Log log, std::shared_ptr<Events> events);
  ~KernelMaker();

  /// What a tier has is loaded: no pass is run and no compiler is loaded. Else it is compiled, and published when the
  /// call has returned. Nothing that goes wrong with a tier fails the call.
  State make(const MakeRequest& request);
  /// A compile, which no tier knows of.
  State compile(const MakeRequest& request);

  /// Until all that was compiled is published.
  void settle();

  /// All that a compiled kernel depends on, as text: what a tier looks it up by.
  static std::string material(const MakeRequest& request, std::string_view compiler);

 private:
  /// What becomes of asking the tiers.
  struct Search {
    StopWatch watch = {};      // since they are asked
    std::string refusal = {};  // why what they have cannot be loaded
  };
  State from_entry(const MakeRequest& request, const Entry& entry);
  std::optional<State> from_tiers(const MakeRequest& request, const std::string& material, std::optional<Entry> entry,
                                  Search& search);
  State compile(const MakeRequest& request, std::vector<char>* image);
  State compile_unseen(const MakeRequest& request, std::vector<char>* image);
  State make_unkept(const MakeRequest& request, const Error& unknown_compiler);
  void tell_once(std::atomic<bool>& told, const std::string& text) const;

  const Log log_;
  const std::shared_ptr<Events> events_;
  CompileThreads threads_;
  std::unique_ptr<DiskCache> disk_;  // null: there are no tiers
  std::unique_ptr<Publisher> publisher_;
  std::atomic<bool> told_identity_ = false, told_refused_ = false;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END

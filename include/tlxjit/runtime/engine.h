// include/tlxjit/runtime/engine.h — the engine: devices, compilers, options.
//
//     Engine engine;
//     auto device = engine.best_device();
//     auto exe = engine.compile(gemm(gemm_config(device->target())), *device);
//     exe->launch({tensor<bf16>(a, {m, k}), tensor<bf16>(b, {n, k}), tensor<bf16>(d, {m, n})});
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "tlxjit/builder/kernel.h"
#include "tlxjit/runtime/executable.h"
#include "tlxjit/runtime/store.h"

TLXJIT_NAMESPACE_BEGIN

namespace runtime {
class Background;
class JitState;
class MemoryCache;
class Registry;
}  // namespace runtime

struct EngineOptions {
  /// File of the CPU plug-in. Empty: TLXJIT_CPU_PLUGIN, then near the library's own file.
  std::string cpu_plugin;
  /// Folders in which libnvrtc is looked for first; TLXJIT_NVRTC_DIR comes after them, then the loader's own places.
  std::vector<std::string> nvrtc_directories;
  /// File of libcuda. Empty: libcuda.so.1 through the loader.
  std::string libcuda;
  /// Threads of a launch on the CPU; 0: as many as the process may run on, by its affinity and its cgroup.
  int cpu_threads = 0;
  /// CPU features that code is made without, though the host has them: names of LLVM, separated by commas, say
  /// `avx512f`. What the system keeps from programs is never used.
  std::string cpu_without_features;
  /// Threads that compile what no call waits for (Tier::Background); 0: a quarter of those that the process may run on,
  /// at least 1.
  int background_threads = 0;
  /// How many such compiles wait at most.
  size_t background_queue = 256;
  /// Compiled kernels that the engine keeps, the least recently used dropped first; 0: none. One that is dropped lives
  /// on with its executables.
  size_t kept_kernels = 256;
  /// Keep compiled kernels between processes, in the places below; what is there is executed (docs/reference/
  /// cache-format.md says who is trusted). TLXJIT_DISK_CACHE=0 switches it off. A place that cannot be used is told to
  /// the log, and fails no call.
  bool disk_cache = true;
  /// A service's own place, asked before the others. None: null.
  std::shared_ptr<Store> store;
  /// The user's directory, an absolute path. Empty: default_cache_directory(), or none where the environment is not
  /// read.
  std::string cache_directory;
  /// A directory of root's, which is only read. Empty: TLXJIT_SYSTEM_CACHE_DIR, or none.
  std::string system_cache_directory;
  /// Files that write_bundle made, asked last.
  std::vector<std::string> cache_bundles;
  /// Bound of the user's directory in bytes; 0: none.
  uint64_t cache_bytes = uint64_t{1} << 30;
  /// Longest wait for another process that compiles the same kernel; 0: no wait.
  std::chrono::milliseconds cache_wait{10000};
  /// Read TLXJIT_* from the environment. Never done in a program with raised rights (AT_SECURE).
  bool read_environment = true;
  /// Told what is worth knowing and no error: devices that could not be opened, and why. May come from any thread,
  /// with no lock held; what it throws is dropped.
  std::function<void(std::string_view)> log;
  /// Told each line that kernels print, one at a time, from any thread, while the launch waits. Empty: standard error.
  /// It may launch kernels: no lock is held. What those print is told when it has returned, as is what a launch beside
  /// prints meanwhile. What it throws is dropped.
  std::function<void(std::string_view)> print;
};

struct CompileOptions {
  /// On the CPU: lower for this target (`sm_90a`) instead of `cpu`, so that its protocol of copies and barriers is
  /// what runs; ops that the target has no code for are refused, as there. Empty: the device's own target.
  std::string as;
  /// Line tables in the binary, for profilers.
  bool lineinfo = false;
  /// Take what the engine, or an earlier process, has compiled of an equal kernel, and keep this one for later. false:
  /// compile anew, with a workspace that no other executable has.
  bool reuse = true;
  /// Longest time that the call may take once the kernel is verified, also where it waits for another thread that
  /// compiles an equal one; 0: any. A compile that takes longer is an error, and goes on by itself until it ends; while
  /// four such compiles of an engine run, all its compiles are refused. Four with a limit run at a time, others wait
  /// for their turn. Lowering and emission, a few milliseconds, are not broken off.
  std::chrono::milliseconds time_limit{0};
  /// Cancels the call within some 10 ms of the request: ErrorCode::cancelled. The compile is left behind as at a
  /// limit, and counts as one of the four.
  std::stop_token stop = {};
};

/// What an engine has done so far.
struct EngineCounters {
  uint64_t compiles = 0;          ///< started, failed ones included; refusals of the verifier are none
  uint64_t memory_hits = 0;       ///< executables that were there, or that another thread was making
  uint64_t memory_evictions = 0;  ///< kernels dropped for EngineOptions::kept_kernels
  uint64_t disk_hits = 0;         ///< executables made of what the disk cache had: no pass and no compiler ran
  uint64_t disk_misses = 0;       ///< compiles of kernels that it did not have
  CacheCounters disk;             ///< what its tiers did
};

/// Everything that tlxjit knows in a process hangs on an engine; there is no state outside. The environment is
/// read once, here. Threads may share it. Devices and executables stay valid when it ends. A forked child goes on with
/// what its parent had compiled for the CPU.
class TLXJIT_API Engine {
 public:
  /// With too little memory it is made empty, as one that was moved from is: its calls give errors.
  explicit Engine(EngineOptions options = {});
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  /// The devices that can be opened, the best first. Those that cannot are told to the log.
  std::vector<Device> devices() const;
  /// `cpu`; `cuda:0`, `cuda:1`, …; or the name of a GPU target, `sm_90a`, for a device that only compiles.
  Result<Device> device(std::string_view name) const;
  /// The first GPU that there is code for, if NVRTC is there too; else the CPU.
  Result<Device> best_device() const;

  /// Verifies, lowers, compiles and loads. All faults of the kernel are in the error's log.
  ///
  /// Equal kernels for one device, with equal options, are compiled once: the engine keeps the executables used last
  /// (EngineOptions::kept_kernels), and threads that ask for one at the same time wait for the first of them. Equal
  /// means equal IR, whatever lines and C++ code built it: what such an executable reports (times, lines in errors) is
  /// that of the kernel that was compiled. Failures are not kept; threads that waited for one get it too.
  ///
  /// Behind the engine's own there is a disk cache (EngineOptions::disk_cache), whose key is the IR, the full target
  /// with its features, the options, the build-ids of the compiler's libraries and the sources of tlxjit, and not the
  /// device's name. Lines are not in it either, so an executable may report those of another process's source. A kernel
  /// is published by a thread of the engine once the call has returned; the end of the engine waits for it.
  Result<Executable> compile(const Kernel& kernel, const Device& device, const CompileOptions& options = {}) const;
  /// The same for a module, portable or lowered for the target already.
  Result<Executable> compile(const Module& module, const Device& device, const CompileOptions& options = {}) const;

  EngineCounters counters() const;

 private:
  friend class JitFunction;
  friend class runtime::JitState;
  /// Another handle on what it is made of, so that a JitFunction may outlive it.
  Engine share() const;
  Engine(std::shared_ptr<runtime::MemoryCache> kernels, std::shared_ptr<runtime::Registry> registry,
         std::shared_ptr<runtime::Background> background);
  std::shared_ptr<runtime::MemoryCache> kernels_;
  std::shared_ptr<runtime::Registry> registry_;
  std::shared_ptr<runtime::Background> background_;
};

TLXJIT_NAMESPACE_END

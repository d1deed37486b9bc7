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
#include "tlxjit/runtime/event.h"
#include "tlxjit/runtime/executable.h"
#include "tlxjit/runtime/store.h"

TLXJIT_NAMESPACE_BEGIN

namespace runtime {
class Background;
class JitState;
class MemoryCache;
class Registry;
}  // namespace runtime

/// Callbacks (log, event, print) may end no handle that the call that they come from uses: they run inside of it.
struct EngineOptions {
  /// File of the CPU plug-in. Empty: TLXJIT_CPU_PLUGIN, then near the library's own file.
  std::string cpu_plugin;
  /// Folders in which libnvrtc is looked for first; TLXJIT_NVRTC_DIR comes after them, then the loader's own places.
  std::vector<std::string> nvrtc_directories;
  /// File of libcuda. Empty: libcuda.so.1 through the loader.
  std::string libcuda;
  /// Threads of a launch on the CPU; 0 or less: as many as the process may run on, by its affinity and its cgroup.
  int cpu_threads = 0;
  /// CPU features that code is made without, though the host has them: names of LLVM, separated by commas, say
  /// `avx512f`. What the system keeps from programs is never used.
  std::string cpu_without_features;
  /// Threads that compile what no call waits for (Tier::background); 0 or less: a quarter of those that the process may
  /// run on, at least 1.
  int background_threads = 0;
  /// How many such compiles wait at most; with 0 there are none.
  size_t background_queue = 256;
  /// Compiled kernels that the engine keeps, the least recently used dropped first; 0: none. One that is dropped lives
  /// on with its executables.
  size_t kept_kernels = 256;
  /// Kernels that are loaded on devices at most, those of all functions and kept_kernels together; 0: any number. What
  /// is above it is taken from the engine's cache and from functions, the least recently used first, and unloaded once
  /// the device is idle. Not taken is what the program has an Executable of, what was launched into a capture, and what
  /// functions have that would not compile it again (Tier::sealed, Tier::warn, JitOptions::stable): where that is more
  /// than the bound, more is loaded. While the engine is full, functions treat new keys as when they have max_versions.
  size_t loaded_modules = 1024;
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
  /// Files that write_bundle made, asked last, whatever compiler there is, and where there is none.
  std::vector<std::string> cache_bundles;
  /// Bound of the user's directory in bytes; 0: none.
  uint64_t cache_bytes = uint64_t{1} << 30;
  /// Longest wait for another process that compiles the same kernel; 0: no wait.
  std::chrono::milliseconds cache_wait{10000};
  /// Read TLXJIT_* from the environment, for the fields that have their defaults. Never done in a program with raised
  /// rights (AT_SECURE).
  bool read_environment = true;
  /// Told what is worth knowing and no error: devices that could not be opened, caches that cannot be used, keys that
  /// Tier::warn misses. Empty: nothing is said. May come from any thread, several at once, with no lock of the engine
  /// held, and a moment after the engine and its functions have ended, from one that finishes its work: let it own what
  /// it uses. Others may wait for the compile that it is told of: it neither compiles, launches functions, nor waits
  /// for them. What it throws is dropped.
  std::function<void(std::string_view)> log;
  /// Told of hits, misses, compiles, evictions, fallbacks as they happen (docs/guide/observability.md), with no lock
  /// held, by the thread that they happen on: a caller's or the engine's, several at once. That thread goes on when it
  /// returns, so it should only note the event, and neither compile, launch, settle nor wait: what it is told of may be
  /// what that would wait for. It may be called a moment after the engine and its functions have ended, by a thread
  /// that finishes its work: let it own what it uses. It should not throw; what it throws is dropped. Empty: nothing is
  /// made for it. Warm launches tell nothing.
  std::function<void(const Event&)> event;
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
  uint64_t failures = 0;          ///< of them, that gave an error
  uint64_t timed_out = 0;         ///< of them, left behind at a time limit
  uint64_t cancelled = 0;         ///< of them, left behind as a token asked
  uint64_t memory_hits = 0;       ///< executables that were there, or that another thread was making
  uint64_t memory_misses = 0;     ///< kernels that were not there
  uint64_t memory_evictions = 0;  ///< kernels dropped for EngineOptions::kept_kernels
  uint64_t disk_hits = 0;         ///< executables made of what the disk cache had: no pass and no compiler ran
  uint64_t disk_misses = 0;       ///< compiles of kernels that it did not have
  CacheCounters disk;             ///< what its tiers did
  uint64_t loaded_modules = 0;    ///< kernels that are loaded now, with those that only graphs have
  uint64_t module_evictions = 0;  ///< kernels unloaded for EngineOptions::loaded_modules
  uint64_t refused_launches = 0;  ///< arguments that did not fit, or broke what a kernel was promised
};

/// Everything that tlxjit knows in a process hangs on an engine. What is outside has no options: which process it is,
/// LLVM in the plug-in and its threads' stacks, whether a compiler runs (docs/design/0005). The environment is read
/// once, here. Threads may share it. Devices and executables stay valid when it ends. A forked child goes on with what
/// its parent had compiled for the CPU, with counters from where its parent's were, and with no kernel that is loaded.
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
  /// is published by a thread of the engine once the call has returned; settle() and the end of the engine wait for it.
  Result<Executable> compile(const Kernel& kernel, const Device& device, const CompileOptions& options = {}) const;
  /// The same for a module, portable or lowered for the target already.
  Result<Executable> compile(const Module& module, const Device& device, const CompileOptions& options = {}) const;

  /// Waits until what has been compiled so far is in the disk cache, or could not be written: the counters say which.
  void settle() const;
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

// include/tlxjit/runtime/jit_function.h — a kernel that is specialised to the calls it sees.
//
//     JitFunction gemm(engine, device, "gemm", [](const Signature& s, const Config&) { return make_gemm(s); },
//                      {.numbers = {{"K", Policy::exact()}}, .tier = Tier::background});
//     gemm.launch({tensor<bf16>(a, {m, k}), tensor<bf16>(b, {n, k}), tensor<bf16>(d, {m, n})});
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tlxjit/runtime/engine.h"
#include "tlxjit/runtime/policy.h"

TLXJIT_NAMESPACE_BEGIN

namespace runtime {
class JitState;
}

/// What a generator is told of a call, or of a key of a manifest: types, not numbers. Right or wrong: they may be any,
/// and none. What does not fit the generator's kernel is an error of the call.
struct Signature {
  struct Argument {
    bool is_tensor = false;
    Elem elem = Elem::none;
    int rank = 0;      ///< of a tensor
    std::string name;  ///< empty: by position
    bool operator==(const Argument&) const = default;
  };
  std::vector<Argument> arguments;
  std::string target;  ///< what is compiled for: CompileOptions::as, else what the device runs: `cpu`, `sm_90a`
};

/// Numbers that a generator may be tuned by, by name.
using Config = std::map<std::string, int64_t, std::less<>>;

/// What a call does for which no version of its own is there yet.
enum class Tier : uint8_t {
  wait,        ///< compiles it; where that fails, runs what is valid for it
  background,  ///< runs the most special version that is valid for it, at last the generic one, while its own compiles
               ///< on a thread of the engine; calls that begin after that run it. Where nothing is loaded yet
               ///< (prepare), the first call waits for the generic version
  sealed,      ///< an error with the key
  warn,        ///< tells the log the key, once each, and runs what is valid for it; compiles no version of its own, but
               ///< the generic one where nothing is loaded yet
};

struct JitOptions {
  /// By name of a dim or an integer parameter of the kernel; a name that it has not is an error.
  std::map<std::string, Policy, std::less<>> numbers = {};
  Policy other_dims = Policy::divisible(16);
  Policy other_integers = Policy::any();
  /// By name of a tensor.
  std::map<std::string, TensorPolicy, std::less<>> tensors = {};
  TensorPolicy other_tensors = {};
  Tier tier = Tier::background;
  /// Special versions that are kept, 1 to 256, the least recently used dropped first. When there are so many, or
  /// EngineOptions::loaded_modules in the engine, a key gets a version of its own with its third call; until then it
  /// runs what is valid for it, and the log is told once.
  size_t max_versions = 64;
  /// Equal calls give equal bits for as long as the function lives: keys that were warmed run their own versions, which
  /// are never dropped, and all others the generic one. After the first call of a signature that runs that one, no
  /// version of the signature comes in: warm() says so, and calls do not run what version() gives. Tier::wait compiles
  /// versions until then, max_versions of them.
  bool stable = false;
  Config config = {};
  CompileOptions compile = {};
};

/// What a function has done so far, in this process.
struct JitCounters {
  uint64_t signatures = 0;  ///< kernels that the generator made
  uint64_t versions = 0;    ///< special ones that are loaded now
  uint64_t misses = 0;      ///< calls that found no version of their own, once for each that was looked for
  uint64_t compiles = 0;    ///< versions made, generic ones included; they may come from the engine's caches
  uint64_t failures = 0;    ///< of them, that failed: their keys run what is valid for them
  uint64_t waits = 0;       ///< calls that waited for a compile
  uint64_t stand_ins = 0;   ///< keys that a less special version served for a while
  uint64_t evictions = 0;   ///< versions dropped for max_versions
  uint64_t held_back = 0;   ///< misses that got no version, for there were max_versions, or the engine was full
  uint64_t queue_full = 0;  ///< compiles that the engine's queue had no room for; the next miss asks again
  uint64_t refused = 0;     ///< calls of Tier::sealed, or while a stream is captured, that were errors
};

struct WarmProgress {
  size_t done = 0, total = 0;
  std::string_view key;     ///< the one that was done last
  double seconds_left = 0;  ///< as the ones before took
};

struct WarmOptions {
  int threads = 1;  ///< 1 to 64, with this one
  /// Told after each key, one at a time; false, or an exception, which is then the result: the rest is left.
  std::function<bool(const WarmProgress&)> progress = {};
};

struct WarmReport {
  size_t compiled = 0;  ///< now there, and were not: compiled, or loaded from a cache (EngineCounters tells them apart)
  size_t present = 0;   ///< were there
  size_t left = 0;      ///< not looked at, as progress said
  /// Keys of another function, kernel, target or policy, those whose compile failed, those beyond max_versions or
  /// EngineOptions::loaded_modules, and with JitOptions::stable those that came too late. None of them is loaded.
  std::vector<Error> errors;
};

/// A function over versions of one kernel: for each call it runs one whose promises the call keeps (an executable
/// checks them again). Thread safe. A handle: copies share the versions. It stays valid when the engine ends. One that
/// was moved from is an error to launch. In a forked child it begins anew.
///
/// Two functions are two, whatever their names: they share nothing but the engine's caches.
class TLXJIT_API JitFunction {
 public:
  /// Signatures that a function has kernels for at most. Calls of further ones are errors (out_of_resources).
  static constexpr size_t most_signatures = 256;

  /// Makes the portable kernel of a signature: called by a thread that launches or warms, once for each however many
  /// threads call, and again by the next call after an error. Of several signatures it may be called at once. It must
  /// not call the function that it is the generator of. What it throws is an error of the call (host_threw).
  using Generator = std::function<Kernel(const Signature&, const Config&)>;

  JitFunction(const Engine& engine, const Device& device, std::string name, Generator generator,
              JitOptions options = {});
  /// A function of one kernel, portable IR, whatever the calls: say one read from text.
  JitFunction(const Engine& engine, const Device& device, std::string name, const Module& kernel,
              JitOptions options = {});

  /// Runs the call. A warm one takes no lock and allocates nothing, unless the stream is captured (Executable::launch
  /// says what else it does). A call that is refused has its key, as JSON, in Error::key.
  Result<void> launch(const Stream& stream, std::span<const Argument> arguments,
                      std::source_location at = std::source_location::current()) const;
  Result<void> launch(const Stream& stream, std::initializer_list<Argument> arguments,
                      std::source_location at = std::source_location::current()) const {
    return launch(stream, std::span<const Argument>(arguments.begin(), arguments.size()), at);
  }
  Result<void> launch(std::initializer_list<Argument> arguments,
                      std::source_location at = std::source_location::current()) const {
    return launch(Stream(), arguments, at);
  }
  /// On the default stream.
  Result<void> launch(std::span<const Argument> arguments,
                      std::source_location at = std::source_location::current()) const {
    return launch(Stream(), arguments, at);
  }

  /// Compiles and loads the generic version for calls of these types, so that their first call need not wait for it.
  Result<void> prepare(std::span<const Argument> arguments) const;
  Result<void> prepare(std::initializer_list<Argument> arguments) const {
    return prepare(std::span<const Argument>(arguments.begin(), arguments.size()));
  }
  /// The version of this call's own, compiled now if it is not there. Calls run it from now on.
  Result<Executable> version(std::span<const Argument> arguments) const;
  Result<Executable> version(std::initializer_list<Argument> arguments) const {
    return version(std::span<const Argument>(arguments.begin(), arguments.size()));
  }
  /// Waits until what this function has put into the engine's queue is compiled. Not to be called from the engine's
  /// callbacks, which the queue's threads wait for.
  void wait() const;
  /// What misses do from now on.
  void set_tier(Tier tier) const;

  /// The keys whose own versions are loaded, one JSON object each, as Tier::sealed prints them.
  std::vector<std::string> keys() const;
  /// All of them as one JSON document, for warm, here or elsewhere (docs/reference/manifest.md).
  std::string manifest() const;
  /// Compiles and loads the keys of a manifest, or of a single key. No version is dropped for them: keys beyond
  /// max_versions are left out, and reported. An Error only if the text is no manifest, if progress throws, or without
  /// memory; keys that were done by then are loaded.
  Result<WarmReport> warm(std::string_view manifest, const WarmOptions& options = {}) const;

  const std::string& name() const;
  JitCounters counters() const;

 private:
  using Modules = std::function<Result<Module>(const Signature&, const Config&)>;
  void make(const Engine& engine, const Device& device, std::string name, Modules modules, JitOptions options);
  std::shared_ptr<runtime::JitState> state_;
};

TLXJIT_NAMESPACE_END

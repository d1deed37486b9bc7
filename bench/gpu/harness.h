// bench/gpu/harness.h — bursts of launches, variants by turns, medians.
//
// A card at its power limit slows down, so kernels are timed in short bursts after a pause, and only against a peer
// measured in the same run.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backends/nvidia/context_p.h"
#include "bench/common/options.h"
#include "bench/common/report.h"
#include "tlxjit/runtime/engine.h"

namespace tlxjit::bench {

/// Something to measure: queues one launch on the harness's stream, with input set number `set`.
struct Variant {
  std::string name;
  std::function<Result<void>(int set)> launch;
};

struct Timing {
  double ms = 0;      ///< of one launch: median over the rounds
  double spread = 0;  ///< (slowest − fastest) / median
};

/// Times of a compile are those of one.
inline EngineOptions without_disk_cache() {
  EngineOptions options;
  options.disk_cache = false;
  return options;
}

/// What ours is compiled for: the first GPU; in a dry run `sm_90a`, which only compiles.
Result<Device> open_device(const Engine& engine, const Options& options);

/// Outcome of a launch in a dry run, which gets as far as the checks of its arguments.
Result<void> dry_launch(const Result<void>& launched);

/// An address for dry runs, nothing's own.
inline void* fake_address(uintptr_t number) { return reinterpret_cast<void*>(number << 28); }

/// `offset` bytes into a buffer.
inline void* address_in(const Buffer& buffer, size_t offset) { return static_cast<char*>(buffer.data()) + offset; }

class Harness {
 public:
  /// For the device of `open_device`, in whose context peers run too.
  static Result<std::unique_ptr<Harness>> open(const Options& options, const Device& device);

  /// Every round, in a new random order, for each variant: 20 ms of rest, two launches, then about 9 ms of launches
  /// between two events. Launches take the input sets by turns.
  Result<std::vector<Timing>> measure(const std::vector<Variant>& variants, int sets);

  /// One launch with input set 0, waited for.
  Result<void> once(const Variant& variant);

  /// Waits for the stream; a kernel that does not end ends the process with status 3.
  Result<void> wait(const std::string& what, double limit_ms = 20000);

  const std::shared_ptr<nvidia::Context>& context() const { return context_; }
  /// Ours and peers alike are queued here.
  const Stream& stream() const { return stream_; }
  nvidia::CuStream native_stream() const { return static_cast<nvidia::CuStream>(stream_.handle()); }
  /// Fills in the device and the driver.
  void describe(Report& report) const;
  /// How many sets of `bytes` exceed the L2 cache three times over; at least 2, at most `limit`.
  int sets_for(size_t bytes, int limit) const;

 private:
  Harness() = default;
  Result<double> burst(const Variant& variant, int count, int sets);

  std::shared_ptr<nvidia::Context> context_;
  std::unique_ptr<nvidia::CurrentContext> current_;
  Stream stream_;
  nvidia::Event begin_, end_;
  std::mt19937 random_{20251101};
  int rounds_ = 7;
  int next_set_ = 0;
};

}  // namespace tlxjit::bench

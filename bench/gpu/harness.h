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

class Harness {
 public:
  static Result<std::unique_ptr<Harness>> open(const Options& options);

  /// Every round, in a new random order, for each variant: 20 ms of rest, two launches, then about 9 ms of launches
  /// between two events. Launches take the input sets by turns.
  Result<std::vector<Timing>> measure(const std::vector<Variant>& variants, int sets);

  /// One launch with input set 0, waited for.
  Result<void> once(const Variant& variant);

  /// Waits for the stream; a kernel that does not end ends the process with status 3.
  Result<void> wait(const std::string& what, double limit_ms = 20000);

  const std::shared_ptr<nvidia::Context>& context() const { return context_; }
  nvidia::CuStream stream() const { return stream_.get(); }
  /// Fills in the device and the driver.
  void describe(Report& report) const;
  /// How many sets of `bytes` exceed the L2 cache three times over; at least 2, at most `limit`.
  int sets_for(size_t bytes, int limit) const;

 private:
  Harness() = default;
  Result<double> burst(const Variant& variant, int count, int sets);

  std::shared_ptr<nvidia::Context> context_;
  std::unique_ptr<nvidia::CurrentContext> current_;
  nvidia::Stream stream_;
  nvidia::Event begin_, end_;
  std::mt19937 random_{20251101};
  int rounds_ = 7;
  int next_set_ = 0;
};

}  // namespace tlxjit::bench

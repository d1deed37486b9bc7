// samples/attention_service/load/arrivals.h — when which calls are made: drawn before the run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "options.h"

namespace load {

struct Arrival {
  double at = 0;  ///< seconds from the start
  int length = 0;
  int shape = 0;
};

/// Throws std::runtime_error where the trace cannot be read.
std::vector<Arrival> draw_arrivals(const Options& options);

/// The kind of calls of that number.
attention_service::Shape shape_of(const Options& options, int shape);

/// A call of random numbers; equal seeds give equal calls.
attention_service::Call make_call(const Options& options, const Arrival& arrival, unsigned seed);

}  // namespace load

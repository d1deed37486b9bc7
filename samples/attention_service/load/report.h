// samples/attention_service/load/report.h — what the run was like, over time and by kind of call.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "client.h"

namespace load {

struct Percentiles {
  size_t count = 0;
  double p50 = 0, p90 = 0, p99 = 0, most = 0;  ///< milliseconds
};

/// Of answered calls. `most` of them is the largest.
Percentiles percentiles(std::vector<double> milliseconds);

/// How many times as long as its launch a call of the second half of the run took, by the medians, where calls come
/// faster than they can be answered; else 0. They may wait for one launch besides their own.
double overload(const Options& options, const std::vector<Sample>& samples);

void print_report(const Options& options, const std::vector<Sample>& samples);
/// The same as JSON; throws std::runtime_error where the file cannot be written.
void write_report(const Options& options, const std::vector<Sample>& samples);

}  // namespace load

// samples/attention_service/load/client.h — sends calls at their times.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "arrivals.h"
#include "samples/attention_service/wire.h"

namespace load {

struct Sample {
  Arrival arrival;
  int status = 0;      ///< 0: no answer
  double latency = 0;  ///< seconds from the time of the call, not from when it could be sent
  attention_service::wire::AnswerHeader header;
  std::string out;     ///< of those that are checked
  std::string reason;  ///< of what was refused, or got no answer
};

/// Throws std::runtime_error where nobody answers.
void look_for_service(const Options& options);

/// One for each arrival, in their order. Every `n`th keeps its `out`, so that about `options.checked` do.
std::vector<Sample> send_all(const Options& options, const std::vector<Arrival>& arrivals);

/// The seed of the numbers of a call.
unsigned seed_of(const Options& options, size_t call);

}  // namespace load

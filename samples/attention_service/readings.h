// samples/attention_service/readings.h — what tlxjit counts, for /metrics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "metrics.h"
#include "tlxjit/tlxjit.h"

namespace attention_service {

/// `compile_seconds`: of all compiles, as EventKind::compile_finished tells them.
std::vector<Metrics::Reading> readings_of(const tlxjit::EngineCounters& engine, const tlxjit::JitCounters& jit,
                                          double compile_seconds);

}  // namespace attention_service

// bench/cpu/cpu_cases.h — what is measured on the CPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/cpu/pairs.h"
#include "tlxjit/tlxjit.h"

namespace tlxjit::bench {

struct CpuOptions {
  std::string plugin;            ///< the CPU plug-in; empty: where the library looks
  std::vector<int64_t> lengths;  ///< of the sequences of jagged attention
  std::string lengths_from;      ///< where they come from
};

/// An engine with `threads` threads.
Engine cpu_engine(const CpuOptions& options, int threads);
/// Prints the error; false.
bool fault(const Error& error);

/// f32 products against OpenBLAS, and jagged attention against its rate, on 1 and 2 threads. What they need lives as
/// long as they do. False, once it has printed why, when a kernel does not compile or gives wrong results.
bool add_speed(std::vector<Pair>& pairs, const CpuOptions& options, const Options& common);
/// Compile times of the library's kernels, and a call of an empty kernel, against their bars.
bool add_latency(std::vector<Pair>& pairs, const CpuOptions& options, const Options& common);
/// What a JitFunction adds to a warm call, and the first calls of new keys.
bool add_runtime(const CpuOptions& options, const Options& common, std::vector<Row>& rows);
/// The resident set after 1,000 and after 10,000 kernels compiled and dropped.
bool memory_rounds(const CpuOptions& options, const Options& common, std::vector<Row>& rows);

}  // namespace tlxjit::bench

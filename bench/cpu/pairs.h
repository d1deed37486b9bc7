// bench/cpu/pairs.h — ours and a peer by turns, through Google Benchmark.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/common/report.h"

namespace tlxjit::bench {

/// One side of a comparison. `run` is called once before the clock starts and `calls` times while it runs; false, once
/// it has printed why, ends the benchmark.
struct Side {
  std::function<bool()> run;
  int calls = 1;
};

/// A comparison: the row without its figures, which are `work` / seconds of a call in units of `scale`, or seconds /
/// `scale` where the unit is a time. Without a peer, `row.peer` is the bar.
struct Pair {
  Row row;
  double bar = 1;  ///< least ratio
  double work = 0;
  double scale = 1;
  Side ours, peer;
  double peer_work = 0;  ///< 0: the same
};

/// Measures all sides in random order, `options.rounds` times; the fastest round counts, since the machine may be
/// shared. Fills the rows in, prints them and whether they reach their bars; false if a side failed.
bool measure(std::vector<Pair>& pairs, const Options& options);

}  // namespace tlxjit::bench

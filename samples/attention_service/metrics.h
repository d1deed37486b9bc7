// samples/attention_service/metrics.h — what the service counts, as text for Prometheus.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attention_service {

/// Counts of values at most each bound, and beyond the last.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  void add(double value);

  struct Values {
    std::vector<std::pair<double, uint64_t>> at_most;  ///< bound, values up to it
    uint64_t count = 0;
    double sum = 0;
  };
  Values values() const;

 private:
  mutable std::mutex mutex_;
  const std::vector<double> bounds_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

class Metrics {
 public:
  Metrics();
  /// An answered request; `path` is of a few, not what clients make up.
  void answered(std::string_view path, int status);
  uint64_t answers(int status) const;

  Histogram latency;      ///< seconds of a call, from its last byte to its answer
  Histogram waited, ran;  ///< seconds in the queue, in a launch
  Histogram batch_calls, batch_tokens;
  std::atomic<uint64_t> refused_connections = 0;

  /// Something that others count, by name: its value as it is now.
  struct Reading {
    std::string_view name, help;
    bool is_counter = false;
    double value = 0;
  };
  std::string text(std::span<const Reading> others) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, uint64_t> answers_;
};

}  // namespace attention_service

// samples/attention_service/metrics.cpp — counts, and writes them in Prometheus' text form.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "metrics.h"

#include <algorithm>
#include <charconv>

namespace attention_service {

namespace {

constexpr std::string_view prefix = "attention_service_";

/// From `least` on, each `factor` times the one before.
std::vector<double> bounds(double least, double factor, int count) {
  std::vector<double> out;
  for (double bound = least; count-- > 0; bound *= factor) out.push_back(bound);
  return out;
}

std::string number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

class Text {
 public:
  void family(std::string_view name, std::string_view help, std::string_view type) {
    add({"# HELP ", prefix, name, " ", help, "\n# TYPE ", prefix, name, " ", type, "\n"});
  }
  void sample(std::string_view name, std::string_view labels, double value) {
    add({prefix, name, labels, " ", number(value), "\n"});
  }
  void histogram(std::string_view name, std::string_view help, const Histogram& histogram) {
    family(name, help, "histogram");
    const Histogram::Values values = histogram.values();
    const std::string bucket = std::string(name) + "_bucket";
    for (const auto& [bound, count] : values.at_most)
      sample(bucket, "{le=\"" + number(bound) + "\"}", static_cast<double>(count));
    sample(bucket, "{le=\"+Inf\"}", static_cast<double>(values.count));
    sample(std::string(name) + "_sum", "", values.sum);
    sample(std::string(name) + "_count", "", static_cast<double>(values.count));
  }
  std::string take() { return std::move(text_); }

 private:
  void add(std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) text_ += part;
  }
  std::string text_;
};

}  // namespace

void Histogram::add(double value) {
  const std::lock_guard lock(mutex_);
  ++counts_[static_cast<size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin())];
  sum_ += value;
}

Histogram::Values Histogram::values() const {
  const std::lock_guard lock(mutex_);
  Values values;
  for (size_t i = 0; i < counts_.size(); ++i) {
    values.count += counts_[i];
    if (i < bounds_.size()) values.at_most.emplace_back(bounds_[i], values.count);
  }
  values.sum = sum_;
  return values;
}

Metrics::Metrics()
    : latency(bounds(0.0005, 2, 18)),
      waited(bounds(0.0005, 2, 18)),
      ran(bounds(0.0005, 2, 18)),
      batch_calls(bounds(1, 2, 8)),
      batch_tokens(bounds(64, 4, 8)) {}

void Metrics::answered(std::string_view path, int status) {
  const std::lock_guard lock(mutex_);
  ++answers_[{std::string(path), status}];
}

uint64_t Metrics::answers(int status) const {
  const std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const auto& [labels, count] : answers_)
    if (labels.second == status) sum += count;
  return sum;
}

std::string Metrics::text(std::span<const Reading> others) const {
  Text text;
  text.family("requests_total", "Answered requests by path and status.", "counter");
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [labels, count] : answers_)
      text.sample("requests_total", "{path=\"" + labels.first + "\",code=\"" + std::to_string(labels.second) + "\"}",
                  static_cast<double>(count));
  }
  text.histogram("request_seconds", "Seconds from a call's last byte to its answer.", latency);
  text.histogram("queue_seconds", "Seconds that calls waited for their launch.", waited);
  text.histogram("launch_seconds", "Seconds of launches with their copies, and of compiles that they waited for.", ran);
  text.histogram("batch_calls", "Calls of a launch.", batch_calls);
  text.histogram("batch_tokens", "Tokens of a launch.", batch_tokens);
  text.family("refused_connections_total", "Connections refused because too many were open.", "counter");
  text.sample("refused_connections_total", "", static_cast<double>(refused_connections.load()));
  for (const Reading& other : others) {
    text.family(other.name, other.help, other.is_counter ? "counter" : "gauge");
    text.sample(other.name, "", other.value);
  }
  return text.take();
}

}  // namespace attention_service

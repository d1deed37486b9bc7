// samples/attention_service/load/arrivals.cpp — arrival times, lengths, shapes and numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arrivals.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

#include "samples/jagged_attention/numbers.h"

namespace load {

namespace {

std::vector<int> read_lengths(const Options& o) {
  std::ifstream in(o.trace);
  if (!in) throw std::runtime_error("cannot read " + o.trace);
  std::vector<int> lengths;
  std::string line;
  size_t column = 0;
  for (size_t row = 1; std::getline(in, line); ++row) {
    std::vector<std::string> fields(1);
    for (const char c : line)
      if (c == ',')
        fields.emplace_back();
      else if (c != '\r')
        fields.back() += c;
    if (row == 1 && !o.column.empty()) {
      const auto found = std::ranges::find(fields, o.column);
      if (found == fields.end()) throw std::runtime_error(o.trace + " has no column '" + o.column + "'");
      column = static_cast<size_t>(found - fields.begin());
      continue;
    }
    int length = 0;
    const std::string text = column < fields.size() ? fields[column] : "";
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const bool whole = error == std::errc() && end == text.data() + text.size() && length >= 0;
    if (!whole && row == 1) continue;  // a header
    if (!whole) throw std::runtime_error(o.trace + ":" + std::to_string(row) + ": no length");
    lengths.push_back(length);
  }
  if (lengths.empty()) throw std::runtime_error(o.trace + " has no lengths");
  return lengths;
}

}  // namespace

std::vector<Arrival> draw_arrivals(const Options& o) {
  const std::vector<int> trace = o.trace.empty() ? std::vector<int>() : read_lengths(o);
  std::mt19937 random(o.seed);
  std::exponential_distribution<double> gap(o.rate);
  std::lognormal_distribution<double> drawn(o.mean, o.deviation);
  // First calls are of the median length, so that their times can be held against those of later ones.
  std::vector<int> sorted = trace;
  std::ranges::sort(sorted);
  const double median = trace.empty() ? std::exp(o.mean) : sorted[sorted.size() / 2];
  std::vector<Arrival> arrivals;
  int last_known = 0;
  for (double at = gap(random); at < o.seconds; at += gap(random)) {
    double length = trace.empty() ? std::round(drawn(random)) : trace[arrivals.size() % trace.size()];
    // Shapes come one by one in the first half of the run, and take turns.
    const int known = std::min(o.shapes, 1 + static_cast<int>(2 * at / o.seconds * o.shapes));
    const bool is_new = known > last_known;
    last_known = known;
    if (is_new) length = median;
    const int shape = is_new ? known - 1 : static_cast<int>(arrivals.size()) % known;
    arrivals.push_back({at, static_cast<int>(std::clamp<double>(length, 1, o.longest)), shape});
  }
  return arrivals;
}

attention_service::Shape shape_of(const Options& o, int shape) {
  return {o.elem, o.heads + shape, o.heads + shape, o.head_size, true, 1 / std::sqrt(static_cast<float>(o.head_size))};
}

attention_service::Call make_call(const Options& o, const Arrival& arrival, unsigned seed) {
  attention_service::Call call;
  call.shape = shape_of(o, arrival.shape);
  call.lengths = {arrival.length};
  call.tokens = arrival.length;
  const size_t bytes = call.query_bytes() + 2 * call.key_bytes(), size = static_cast<size_t>(tlxjit::bytes(o.elem));
  // Pieces of one list of numbers, from places of their own: drawing as many for each call would be the larger load.
  static const std::vector<char> numbers = [&] {
    std::mt19937 random(o.seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> drawn(1 << 20);
    for (float& x : drawn) x = uniform(random);
    return encode(drawn, o.elem);
  }();
  std::mt19937 random(seed);
  while (call.data.size() < bytes) {
    const size_t from = random() % (numbers.size() / size) * size;
    call.data.append(numbers.data() + from, std::min(numbers.size() - from, bytes - call.data.size()));
  }
  return call;
}

}  // namespace load

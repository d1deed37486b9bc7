// samples/attention_service/load/report.cpp — percentiles, a plot of characters, JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace load {

namespace {

using nlohmann::json;

constexpr int windows = 20;

using Wanted = std::function<bool(const Sample&)>;

Percentiles percentiles_of(const std::vector<Sample>& samples, const Wanted& wanted) {
  std::vector<double> all;
  for (const Sample& sample : samples)
    if (sample.status == 200 && wanted(sample)) all.push_back(sample.latency * 1e3);
  return percentiles(std::move(all));
}

Wanted in_window(const Options& o, int window) {
  return [&o, window](const Sample& s) { return static_cast<int>(s.arrival.at / o.seconds * windows) == window; };
}

/// A kind of call: how long its first one took, and those of the second half of the run.
struct Kind {
  attention_service::Shape shape;
  double first = 0;
  Percentiles warm;
};

std::vector<Kind> kinds(const Options& o, const std::vector<Sample>& samples) {
  std::vector<Kind> out;
  for (int shape = 0; shape < o.shapes; ++shape) {
    const auto first =
        std::ranges::find_if(samples, [&](const Sample& s) { return s.arrival.shape == shape && s.status == 200; });
    if (first == samples.end()) continue;
    out.push_back({shape_of(o, shape), first->latency * 1e3, percentiles_of(samples, [&](const Sample& s) {
                     return s.arrival.shape == shape && 2 * s.arrival.at >= o.seconds;
                   })});
  }
  return out;
}

/// Marks from 0.1 ms to 100 s, each decade 8 characters wide.
std::string plot(const Percentiles& p) {
  std::string line(48, ' ');
  const auto mark = [&](double ms, char with) {
    const double place = (std::log10(std::max(ms, 1e-9)) + 1) * 8;
    line[static_cast<size_t>(std::clamp(place, 0.0, 47.0))] = with;
  };
  if (p.count == 0) return line;
  mark(p.most, '#');
  mark(p.p99, '9');
  mark(p.p50, '5');
  return line;
}

void print_line(const char* name, const Percentiles& p) {
  std::printf("%-12s %6zu %9.2f %9.2f %9.2f %9.2f |%s|\n", name, p.count, p.p50, p.p90, p.p99, p.most, plot(p).c_str());
}

json to_json(const Percentiles& p) {
  return {{"count", p.count}, {"p50_ms", p.p50}, {"p90_ms", p.p90}, {"p99_ms", p.p99}, {"max_ms", p.most}};
}

std::map<int, size_t> statuses(const std::vector<Sample>& samples) {
  std::map<int, size_t> count;
  for (const Sample& sample : samples) ++count[sample.status];
  return count;
}

std::map<std::string, size_t> reasons(const std::vector<Sample>& samples) {
  std::map<std::string, size_t> count;
  for (const Sample& sample : samples)
    if (sample.status != 200) ++count[sample.reason];
  return count;
}

double calls_a_launch(const std::vector<Sample>& samples) {
  double launches = 0, calls = 0;
  for (const Sample& s : samples)
    if (s.status == 200 && s.header.batch) launches += 1.0 / s.header.batch, ++calls;
  return launches > 0 ? calls / launches : 0;
}

}  // namespace

Percentiles percentiles(std::vector<double> milliseconds) {
  Percentiles p;
  p.count = milliseconds.size();
  if (milliseconds.empty()) return p;
  std::ranges::sort(milliseconds);
  const auto at = [&](double share) {
    const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(milliseconds.size())));
    return milliseconds[std::max<size_t>(rank, 1) - 1];
  };
  p.p50 = at(0.5), p.p90 = at(0.9), p.p99 = at(0.99), p.most = milliseconds.back();
  return p;
}

double overload(const Options& o, const std::vector<Sample>& samples) {
  std::vector<double> latencies, launches;
  for (const Sample& s : samples) {
    if (s.status != 200 || 2 * s.arrival.at < o.seconds) continue;
    latencies.push_back(s.latency * 1e3);
    launches.push_back(s.header.ran_us / 1e3);
  }
  const double launch = percentiles(std::move(launches)).p50, latency = percentiles(std::move(latencies)).p50;
  constexpr double much = 5, beside_launches_ms = 20;  // HTTP and what others do on the machine
  return latency > std::max(much * launch, beside_launches_ms) ? latency / std::max(launch, 1e-3) : 0;
}

void print_report(const Options& o, const std::vector<Sample>& samples) {
  std::printf("answers  ");
  for (const auto& [status, count] : statuses(samples))
    std::printf(" %zu × %s", count, status ? std::to_string(status).c_str() : "none");
  std::printf("; %.2f calls a launch\n", calls_a_launch(samples));
  for (const auto& [reason, count] : reasons(samples)) std::printf("          %zu: %s\n", count, reason.c_str());
  std::printf("\n");
  std::printf("%-12s %6s %9s %9s %9s %9s  0.1     1       10      100     1 s     10 s\n", "seconds", "200s", "p50 ms",
              "p90", "p99", "max");
  for (int window = 0; window < windows; ++window) {
    char name[32];
    std::snprintf(name, sizeof name, "%.1f", o.seconds * window / windows);
    print_line(name, percentiles_of(samples, in_window(o, window)));
  }
  print_line("all", percentiles_of(samples, [](const Sample&) { return true; }));
  std::printf("\n%-28s %14s %12s\n", "kind of call", "first, ms", "warm p50");
  for (const Kind& kind : kinds(o, samples)) {
    char name[64];
    std::snprintf(name, sizeof name, "%d heads", kind.shape.heads);
    std::printf("%-28s %14.2f %12.2f\n", name, kind.first, kind.warm.p50);
  }
  if (const double times = overload(o, samples); times > 0)
    std::printf(
        "\noverload  calls took %.0f times as long as their launches: more is asked than the service can answer, and "
        "the\n          figures are those of its queue; ask for less with --rate\n",
        times);
}

void write_report(const Options& o, const std::vector<Sample>& samples) {
  json report = {{"rate", o.rate},
                 {"seconds", o.seconds},
                 {"lengths", o.trace.empty() ? "log-normal" : "trace"},
                 {"longest", o.longest},
                 {"heads", o.heads},
                 {"head_size", o.head_size},
                 {"dtype", tlxjit::to_string(o.elem)},
                 {"seed", o.seed},
                 {"calls_a_launch", calls_a_launch(samples)},
                 {"overload", overload(o, samples) > 0}};
  for (const auto& [status, count] : statuses(samples)) report["answers"][std::to_string(status)] = count;
  report["all"] = to_json(percentiles_of(samples, [](const Sample&) { return true; }));
  for (int window = 0; window < windows; ++window) {
    json entry = to_json(percentiles_of(samples, in_window(o, window)));
    entry["from_s"] = o.seconds * window / windows;
    report["windows"].push_back(std::move(entry));
  }
  for (const Kind& kind : kinds(o, samples))
    report["kinds"].push_back({{"heads", kind.shape.heads}, {"first_ms", kind.first}, {"warm", to_json(kind.warm)}});
  std::ofstream out(o.json);
  out << report.dump(1) << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write " + o.json);
}

}  // namespace load

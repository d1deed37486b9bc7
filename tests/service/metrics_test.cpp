// tests/service/metrics_test.cpp — /metrics is what Prometheus reads: names, types, cumulative buckets.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/attention_service/metrics.h"
#include "samples/attention_service/readings.h"

#include <gmock/gmock.h>

#include <regex>
#include <sstream>

#include "tests/service/fixture.h"

namespace service_test {
namespace {

TEST(Metrics, AHistogramCountsUpToItsBounds) {
  Histogram histogram({1, 2, 4});
  for (const double value : {0.5, 1.0, 1.5, 4.0, 5.0}) histogram.add(value);
  const Histogram::Values values = histogram.values();
  EXPECT_THAT(values.at_most, testing::ElementsAre(std::pair(1.0, 2), std::pair(2.0, 3), std::pair(4.0, 4)));
  EXPECT_EQ(values.count, 5U);
  EXPECT_EQ(values.sum, 12);
}

/// Every line is a comment of a family or a sample of the family before it, and no family comes twice.
TEST(Metrics, EveryLineIsOfTheTextForm) {
  Metrics metrics;
  metrics.answered("/v1/attention", 200);
  metrics.answered("/v1/attention", 200);
  metrics.answered("other", 404);
  metrics.latency.add(0.001);
  metrics.latency.add(1e9);
  const Metrics::Reading reading{"queue_depth", "Calls that wait.", false, 3};
  const std::string text = metrics.text({&reading, 1});

  const std::regex help("# HELP ([a-z_]+) [^\\\\]+"), type("# TYPE ([a-z_]+) (counter|gauge|histogram)"),
      sample("([a-z_]+)(\\{[a-z]+=\"[^\"\\\\]*\"(,[a-z]+=\"[^\"\\\\]*\")*\\})? ([0-9.e+-]+)");
  std::set<std::string> families;
  std::string family, kind;
  double bucket = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, help)) {
      family = match[1];
      EXPECT_TRUE(families.insert(family).second) << line;
      bucket = 0;
    } else if (std::regex_match(line, match, type)) {
      EXPECT_EQ(match[1], family);
      kind = match[2];
    } else {
      ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
      EXPECT_EQ(match[1].str().substr(0, family.size()), family) << line;
      EXPECT_EQ(kind == "counter", family.ends_with("_total")) << line;
      if (match[1] != family + "_bucket") continue;
      EXPECT_GE(std::stod(match[4]), bucket) << line;
      bucket = std::stod(match[4]);
    }
  }
  EXPECT_EQ(metric(text, "attention_service_requests_total{path=\"/v1/attention\",code=\"200\"}"), 2);
  EXPECT_EQ(metric(text, "attention_service_requests_total{path=\"other\",code=\"404\"}"), 1);
  EXPECT_EQ(metric(text, "attention_service_request_seconds_bucket{le=\"+Inf\"}"), 2);
  EXPECT_EQ(metric(text, "attention_service_request_seconds_bucket{le=\"0.001\"}"), 1);
  EXPECT_EQ(metric(text, "attention_service_request_seconds_count"), 2);
  EXPECT_EQ(metric(text, "attention_service_queue_depth"), 3);
  EXPECT_EQ(metrics.answers(200), 2U);
}

TEST(Metrics, WhatTlxjitCountsIsThere) {
  tlxjit::EngineCounters engine;
  engine.disk.bundle_hits = 3, engine.disk.user_hits = 4, engine.disk.system_hits = 5;
  engine.disk.errors = 6, engine.disk.bad_entries = 7;
  engine.loaded_modules = 8, engine.module_evictions = 9;
  tlxjit::JitCounters jit;
  jit.queue_full = 10, jit.refused = 11;
  const std::string text = Metrics().text(readings_of(engine, jit, 1.5));
  const auto value = [&](const std::string& name) { return metric(text, "attention_service_" + name); };
  EXPECT_EQ(value("engine_compile_seconds_total"), 1.5);
  EXPECT_EQ(value("engine_bundle_hits_total"), 3);
  EXPECT_EQ(value("engine_user_hits_total"), 4);
  EXPECT_EQ(value("engine_system_hits_total"), 5);
  EXPECT_EQ(value("engine_tier_errors_total"), 6);
  EXPECT_EQ(value("engine_bad_entries_total"), 7);
  EXPECT_EQ(value("engine_loaded_modules"), 8);
  EXPECT_EQ(value("engine_module_evictions_total"), 9);
  EXPECT_EQ(value("jit_queue_full_total"), 10);
  EXPECT_EQ(value("jit_refused_total"), 11);
}

}  // namespace
}  // namespace service_test

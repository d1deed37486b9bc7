// tests/unit/bench/report_test.cpp — result files, ratios, hashes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/common/report.h"

#include <gmock/gmock.h>

namespace tlxjit::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Report, RatioAboveOneIsBetterForUs) {
  EXPECT_DOUBLE_EQ((Row{"a", "TFLOPS", 800, 400, "p", ""}).ratio(), 2);
  EXPECT_DOUBLE_EQ((Row{"a", "ms", 1, 2, "p", ""}).ratio(), 2);
  EXPECT_DOUBLE_EQ((Row{"a", "TFLOPS", 800, 0, "p", ""}).ratio(), 0);
}

TEST(Report, JsonHasTheForm) {
  Report report{"gemm", "NVIDIA H200", "580, CUDA 13.0", "nvrtc \"13\"", {}};
  report.rows.push_back({"bf16 TN 1x2x3", "TFLOPS", 812.345678, 800, "prototype", "00ff"});
  const std::string json = report.json();
  EXPECT_THAT(json, HasSubstr("\"device\": \"NVIDIA H200\""));
  EXPECT_THAT(json, HasSubstr("\"compiler\": \"nvrtc \\\"13\\\"\""));
  EXPECT_THAT(json, HasSubstr("{\"case\": \"bf16 TN 1x2x3\", \"unit\": \"TFLOPS\", \"ours\": 812.35, \"peer\": 800, "
                              "\"peer_name\": \"prototype\", \"ratio\": 1.0154, \"code\": \"00ff\"}"));
  for (const char* key : {"commit", "tree", "dirty"}) EXPECT_THAT(json, HasSubstr("\"" + std::string(key) + "\": "));
  EXPECT_THAT(json, Not(HasSubstr("\"data\"")));
  report.data = "sequences of 3 1";
  EXPECT_THAT(report.json(), HasSubstr("\"data\": \"sequences of 3 1\",\n  \"rows\""));
}

TEST(Report, PathSaysWhatIsLeftOut) {
  const Report report{"gemm", "NVIDIA H200", "", "", {}};
  Options options;
  options.out = "r";
  EXPECT_EQ(report.path(options), "r/gemm-h200.json");
  options.only = "8192";
  EXPECT_EQ(report.path(options), "r/gemm-h200-partial.json");
  options.out = "r/x.json";
  EXPECT_EQ(report.path(options), "r/x.json");
}

TEST(Report, Slugs) {
  EXPECT_EQ(slug("NVIDIA H200"), "h200");
  EXPECT_EQ(slug("Intel(R) Xeon(R) Processor"), "intel-xeon");
  EXPECT_EQ(slug("Intel(R) Xeon(R) Gold 6226 CPU @ 2.70GHz"), "intel-xeon-gold-6226");
  EXPECT_EQ(slug(""), "unknown");
}

TEST(Report, HashOfSourceAndLaunchAttributes) {
  Resources r;
  r.threads = 384;
  const std::string hash = code_hash("a", r);
  EXPECT_EQ(hash.size(), 16u);
  r.programs_at_once = 132;  // the device's, not the kernel's
  EXPECT_EQ(code_hash("a", r), hash);
  EXPECT_NE(code_hash("b", r), hash);
  r.threads = 256;
  EXPECT_NE(code_hash("a", r), hash);
}

}  // namespace
}  // namespace tlxjit::bench

// tests/unit/runtime/manifest_test.cpp — keys as JSON, and functions warmed from them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/unit/runtime/jit_fixture.h"

namespace tlxjit::runtime_test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

using Manifest = JitTest;

JitOptions exact() {
  JitOptions o;
  o.numbers = {{"n", Policy::exact()}};
  o.tier = Tier::Wait;
  return o;
}

TEST_F(Manifest, BL_219_AnotherFunctionIsWarmedFromIt) {
  const JitFunction f = function(exact());
  for (int32_t n : {1, 2, 3}) call(f, 100, n);
  double in[4] = {}, out[4] = {};
  ASSERT_TRUE(f.launch({tensor<double>(in, {4}), tensor<double>(out, {4}), int32_t{1}}).ok());
  EXPECT_THAT(f.keys(), SizeIs(4));
  const std::string manifest = f.manifest();

  Engine other{options()};
  const JitFunction g(other, *other.device("cpu"), "doubled", doubled, exact());
  std::vector<size_t> done;
  WarmOptions o;
  o.threads = 3;
  o.progress = [&](const WarmProgress& p) {
    done.push_back(p.done);
    EXPECT_EQ(p.total, 4u);
    EXPECT_GE(p.seconds_left, 0.0);
    EXPECT_THAT(std::string(p.key), HasSubstr("\"function\":\"doubled\""));
    return true;
  };
  auto report = g.warm(manifest, o);
  TLXJIT_MUST(report);
  EXPECT_EQ(report->compiled, 4u);
  EXPECT_EQ(report->present + report->left + report->errors.size(), 0u);
  EXPECT_EQ(done, (std::vector<size_t>{1, 2, 3, 4}));
  EXPECT_EQ(g.manifest(), manifest);
  g.set_tier(Tier::Sealed);
  const uint64_t compiles = other.counters().compiles;
  for (int32_t n : {1, 2, 3}) call(g, 100, n);
  EXPECT_EQ(other.counters().compiles, compiles);
  report = g.warm(manifest);
  TLXJIT_MUST(report);
  EXPECT_EQ(report->present, 4u);
}

TEST_F(Manifest, ProgressMayStopIt) {
  const JitFunction f = function(exact());
  for (int32_t n = 0; n < 6; ++n) call(f, 100, n);
  const JitFunction g = function(exact());
  WarmOptions o;
  o.progress = [](const WarmProgress& p) { return p.done < 2; };
  auto report = g.warm(f.manifest(), o);
  TLXJIT_MUST(report);
  EXPECT_EQ(report->compiled, 2u);
  EXPECT_EQ(report->left, 4u);
}

TEST_F(Manifest, KeysOfOthersAreToldAndLeaveTheRest) {
  const JitFunction f = function(exact());
  call(f, 100, 1);
  const auto with = [&](const char* field, const nlohmann::ordered_json& value) {
    auto json = nlohmann::ordered_json::parse(f.manifest());
    auto other = json["keys"][0];
    other[field] = value;
    json["keys"].insert(json["keys"].begin(), other);
    const JitFunction g = function(exact());
    auto report = g.warm(json.dump());
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report->compiled, 1u) << field;
    EXPECT_THAT(report->errors, SizeIs(1)) << field;
    return report->errors.empty() ? std::string() : report->errors[0].message;
  };
  EXPECT_THAT(with("function", "tripled"), HasSubstr("a key's function is `tripled`, and this function's `doubled`"));
  EXPECT_THAT(with("target", "sm_90a"), HasSubstr("a key's target is `sm_90a`, and this function's `cpu`"));
  EXPECT_THAT(with("ir", "00"), HasSubstr("a key's ir is `00`"));
  EXPECT_THAT(with("policies", "none"), HasSubstr("a key's policies is `none`"));
  EXPECT_THAT(with("arguments", 7), HasSubstr("a key has a list of arguments"));
  EXPECT_THAT(with("arguments", {"f32[9]"}), HasSubstr("an argument is written"));
  EXPECT_THAT(with("arguments", {"f33"}), HasSubstr("an argument is written"));
  EXPECT_THAT(with("codes", {1}), HasSubstr("as many codes"));
  EXPECT_THAT(with("codes", {1.5, 2, 3, 4}), HasSubstr("as many codes"));
}

TEST_F(Manifest, WhatIsNoManifestIsAnError) {
  const JitFunction f = function(exact());
  for (const char* text : {"", "{", "[]", "7", "null", R"({"tlxjit_manifest": 2, "keys": []})",
                           R"({"tlxjit_manifest": 1})", R"({"tlxjit_manifest": 1, "keys": {}})", "\xff\xfe"}) {
    const auto report = f.warm(text);
    ASSERT_FALSE(report.ok()) << text;
    EXPECT_EQ(report.error().code, ErrorCode::invalid_text) << text;
  }
  EXPECT_TRUE(f.warm(R"({"tlxjit_manifest": 1, "keys": []})").ok());
  const auto odd = f.warm(R"({"tlxjit_manifest": 1, "keys": [1, "a", null, [], {}]})");
  TLXJIT_MUST(odd);
  EXPECT_THAT(odd->errors, SizeIs(5));
  WarmOptions o;
  o.threads = 0;
  EXPECT_FALSE(f.warm("{}", o).ok());
}

}  // namespace
}  // namespace tlxjit::runtime_test

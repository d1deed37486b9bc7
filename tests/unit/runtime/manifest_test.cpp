// tests/unit/runtime/manifest_test.cpp — keys as JSON, and functions warmed from them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/unit/runtime/jit_fixture.h"

namespace tlxjit::runtime_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

using Manifest = JitTest;

JitOptions exact() {
  JitOptions o;
  o.numbers = {{"n", Policy::exact()}};
  o.tier = Tier::wait;
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
  g.set_tier(Tier::sealed);
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

TEST_F(Manifest, AKeySaysItsDeviceAndWhatWasCompiledFor) {
  std::string target;
  const auto product = [&](const char* as) {
    JitOptions o;
    o.tier = Tier::wait;
    o.compile.as = as;
    return JitFunction(
        engine, device, "product",
        [&](const Signature& s, const Config&) {
          target = s.target;
          return gemm(gemm_config(s.target));
        },
        o);
  };
  const JitFunction f = product("sm_90a");
  alignas(16) bf16 room[3][64 * 64] = {};
  const auto made =
      f.version({tensor<bf16>(room[0], {64, 64}), tensor<bf16>(room[1], {64, 64}), tensor<bf16>(room[2], {64, 64})});
  TLXJIT_MUST(made);
  EXPECT_EQ(target, "sm_90a");
  EXPECT_EQ(made->target(), "sm_90a");
  auto json = nlohmann::ordered_json::parse(f.manifest());
  nlohmann::ordered_json& key = json["keys"][0];
  EXPECT_EQ(key["target"], "cpu");
  EXPECT_EQ(key["as"], "sm_90a");
  const auto warmed = [&](const char* as) {
    auto report = product(as).warm(json.dump());
    EXPECT_TRUE(report.ok());
    return report->compiled == 1 ? "compiled" : report->errors.at(0).message;
  };
  EXPECT_THAT(warmed(""), HasSubstr("a key's as is `sm_90a`, and this function's ``: make the manifest anew"));
  EXPECT_EQ(warmed("sm_90a"), "compiled");
  key["as"] = "cpu";
  EXPECT_THAT(warmed("sm_90a"), HasSubstr("a key's as is `cpu`, and this function's `sm_90a`"));
  key.erase("as");
  EXPECT_THAT(warmed("sm_90a"), HasSubstr("a key's as is ``, and this function's `sm_90a`"));
  EXPECT_THAT(warmed(""), HasSubstr("a key's ir is"));
  key["target"] = "sm_90a";
  EXPECT_EQ(warmed("sm_90a"), "compiled") << "as keys were written that had no `as`";
  EXPECT_THAT(warmed(""), HasSubstr("a key's target is `sm_90a`, and this function's `cpu`"));
}

TEST_F(Manifest, AKeyWithoutAsHasNoSuchField) {
  const JitFunction f = function(exact());
  call(f, 100, 1);
  EXPECT_FALSE(nlohmann::ordered_json::parse(f.manifest())["keys"][0].contains("as"));
}

TEST_F(Manifest, WhatProgressThrowsIsAnErrorOfTheCall) {
  const JitFunction f = function(exact());
  for (int32_t n = 0; n < 6; ++n) call(f, 100, n);
  for (const int threads : {1, 4}) {
    const JitFunction g = function(exact());
    WarmOptions o;
    o.threads = threads;
    o.progress = [](const WarmProgress&) -> bool { throw std::runtime_error("told enough"); };
    const auto report = g.warm(f.manifest(), o);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, ErrorCode::host_threw);
    EXPECT_EQ(report.error().message, "WarmOptions::progress threw: told enough");
    EXPECT_LT(g.counters().versions, 6u) << "the rest is left";
    EXPECT_GT(g.counters().versions, 0u);
  }
}

TEST_F(Manifest, KeysBeyondTheMostVersionsAreToldAndNotCompiled) {
  const JitFunction f = function(exact());
  for (int32_t n = 0; n < 6; ++n) call(f, 100, n);
  Engine other{options()};
  JitOptions o = exact();
  o.max_versions = 4;
  const JitFunction g(other, *other.device("cpu"), "doubled", doubled, o);
  WarmOptions how;
  how.threads = 2;
  const auto report = g.warm(f.manifest(), how);
  TLXJIT_MUST(report);
  EXPECT_EQ(report->compiled, 4u);
  ASSERT_THAT(report->errors, SizeIs(2));
  for (const Error& error : report->errors) {
    EXPECT_EQ(error.code, ErrorCode::out_of_resources);
    EXPECT_EQ(error.message,
              "`doubled`: the key is left out, for there are as many as JitOptions::max_versions, 4, allows");
    EXPECT_THAT(error.key, HasSubstr("\"function\":\"doubled\""));
  }
  EXPECT_THAT(g.keys(), SizeIs(4));
  EXPECT_EQ(g.counters().evictions, 0u);
  const auto again = g.warm(g.manifest());
  TLXJIT_MUST(again);
  EXPECT_EQ(again->present, 4u);
}

TEST_F(Manifest, KeysThatTheEnginesBoundUnloadsAgainAreTold) {
  const JitFunction f = function(exact());
  for (int32_t n = 0; n < 6; ++n) call(f, 100, n);
  for (const Tier tier : {Tier::background, Tier::sealed}) {
    EngineOptions o = options();
    o.loaded_modules = 4;
    const Engine other(o);
    JitOptions how = exact();
    how.tier = tier;
    const JitFunction g(other, *other.device("cpu"), "doubled", doubled, how);
    const auto report = g.warm(f.manifest());
    TLXJIT_MUST(report);
    EXPECT_EQ(report->compiled, g.keys().size());
    EXPECT_EQ(report->compiled + report->errors.size(), 6u);
    if (tier == Tier::sealed) {
      EXPECT_THAT(report->errors, IsEmpty()) << "what would not be compiled again stays";
      continue;
    }
    EXPECT_LE(report->compiled, 4u);
    ASSERT_THAT(report->errors, Not(IsEmpty()));
    for (const Error& error : report->errors) {
      EXPECT_EQ(error.code, ErrorCode::out_of_resources);
      EXPECT_THAT(error.message, HasSubstr("EngineOptions::loaded_modules"));
      EXPECT_THAT(error.key, HasSubstr("\"function\":\"doubled\""));
    }
  }
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
  // Arguments that no call can bind make no kernel that is kept.
  EXPECT_THAT(with("arguments", nlohmann::ordered_json::array()), HasSubstr("argument `in` is missing"));
  EXPECT_THAT(with("arguments", {"f32[2]", "f32[1]", "i32"}), HasSubstr("`in` has 2 dimensions"));
}

TEST_F(Manifest, CodesThatNoCallHasAreRefused) {
  JitOptions o = exact();
  o.numbers = {{"n", Policy::exact()}, {"N", Policy::powers_of_two()}};
  const JitFunction f = function(o);
  call(f, 100, 1);
  const auto key = nlohmann::ordered_json::parse(f.keys().at(0));
  ASSERT_EQ(key["codes"].size(), 4u);
  const auto refuses = [&](size_t at, const nlohmann::ordered_json& code) {
    auto other = key;
    other["codes"][at] = code;
    const auto report = f.warm(other.dump());
    return report.ok() && report->errors.size() == 1 && report->errors[0].code == ErrorCode::invalid_text;
  };
  for (const int64_t code : {int64_t{-1}, int64_t{32}, INT64_MIN, INT64_MAX}) EXPECT_TRUE(refuses(0, code)) << code;
  for (const int64_t code : {int64_t{INT32_MIN} - 1, int64_t{1} << 31, INT64_MIN})
    EXPECT_TRUE(refuses(1, code)) << code;
  EXPECT_TRUE(refuses(1, UINT64_MAX));
  for (const int64_t code : {int64_t{-1}, int64_t{4}, int64_t{255}, INT64_MIN}) EXPECT_TRUE(refuses(2, code)) << code;
  EXPECT_EQ(f.counters().versions, 1u);
  for (const int32_t n : {INT32_MIN, -1, 0, INT32_MAX}) EXPECT_FALSE(refuses(1, n)) << n;
  for (const int log : {0, 31}) EXPECT_FALSE(refuses(0, log)) << log;
  for (const int bits : {0, 1, 2, 3}) EXPECT_FALSE(refuses(2, bits)) << bits;
}

TEST_F(Manifest, AWrongOneLeavesTheFunctionItsSignatures) {
  const JitFunction f = function(exact()), g = function(exact());
  call(f, 100, 1);
  nlohmann::ordered_json json{{"tlxjit_manifest", 1}, {"keys", nlohmann::ordered_json::array()}};
  for (int i = 0; i < 300; ++i) {
    json["keys"].push_back(nlohmann::ordered_json::parse(f.keys().at(0)));
    json["keys"].back()["arguments"] = {"x" + std::to_string(i) + ": f32[2]"};
  }
  const auto report = g.warm(json.dump());
  TLXJIT_MUST(report);
  EXPECT_THAT(report->errors, SizeIs(300));
  EXPECT_EQ(g.counters().signatures, 0u);
  call(g, 100, 1);
}

TEST_F(Manifest, TheKeyOfANameThatIsNoUtf8CanBeWarmed) {
  const JitFunction f(engine, device, "\xff\n\"", doubled, exact());
  f.set_tier(Tier::sealed);
  float x[4] = {}, y[4] = {};
  const auto refused = f.launch({tensor<float>(x, {4}), tensor<float>(y, {4}), int32_t{1}});
  ASSERT_FALSE(refused.ok());
  const auto report = f.warm(refused.error().key);
  TLXJIT_MUST(report);
  EXPECT_EQ(report->compiled, 1u);
  EXPECT_TRUE(f.launch({tensor<float>(x, {4}), tensor<float>(y, {4}), int32_t{1}}).ok());
}

TEST_F(Manifest, TheKeyOfADimThatIsNoUtf8CanBeWarmed) {
  const JitFunction f(engine, device, "filled", [](const Signature&, const Config&) {
    Kernel k{"filled"};
    const Tensor out = k.tensor<float>("out", {k.dim("\xff")});
    k.grid(1);
    k.task("main").body([&](Task& t) { out.store({0}, t.full<float>({4}, 1.f)); });
    return k;
  });
  float x[4] = {};
  TLXJIT_MUST(f.version({tensor<float>(x, {4})}));
  const auto report = f.warm(f.manifest());
  TLXJIT_MUST(report);
  EXPECT_EQ(report->present, 1u) << to_string(report->errors.empty() ? Error{} : report->errors[0]);
}

TEST_F(Manifest, WhatIsNoManifestIsAnError) {
  const JitFunction f = function(exact());
  for (const char* text : {"", "{", "[]", "7", "null", R"({"tlxjit_manifest": 2, "keys": []})",
                           R"({"tlxjit_manifest": 1})", R"({"tlxjit_manifest": 1, "keys": {}})", "\xff\xfe"}) {
    const auto report = f.warm(text);
    ASSERT_FALSE(report.ok()) << text;
    EXPECT_EQ(report.error().code, ErrorCode::invalid_text) << text;
  }
  for (const size_t depth : {33u, 1'000'000u}) {
    const std::string deep = std::string(depth, '[') + std::string(depth, ']');
    for (const std::string& text : {R"({"tlxjit_manifest": 1, "keys": )" + deep + "}", R"({"more": )" + deep + "}"}) {
      const auto report = f.warm(text);
      ASSERT_FALSE(report.ok());
      EXPECT_THAT(report.error().message, HasSubstr("nested deeper than 32"));
    }
  }
  // Brackets in a text nest nothing.
  EXPECT_TRUE(f.warm(R"({"tlxjit_manifest": 1, "keys": [], "more": ")" + std::string(99, '[') + "\\\"[\"}").ok());
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

// tests/service/json_test.cpp — JSON: what it says becomes tensors, and everything else is refused by name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/attention_service/json.h"

#include <gmock/gmock.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/service/fixture.h"
#include "tlxjit/core/numeric.h"

namespace service_test {
namespace {

using testing::HasSubstr;

Served served() {
  Served s;
  s.head_sizes = {2};
  return s;
}

/// A call of two tokens, with one field changed, or left out where `value` is empty.
std::string with(const std::string& field, const std::string& value) {
  std::map<std::string, std::string> fields = {{"heads", "2"},
                                               {"key_heads", "1"},
                                               {"head_size", "2"},
                                               {"lengths", "[2]"},
                                               {"q", "[[[1,2],[3,4]],[[5,6],[7,8]]]"},
                                               {"k", "[[[9,10]],[[11,12]]]"},
                                               {"v", "[[[13,14]],[[15,16]]]"}};
  fields[field] = value;
  std::string body;
  for (const auto& [name, text] : fields)
    if (!text.empty()) body += (body.empty() ? "{\"" : ", \"") + name + "\": " + text;
  return body + "}";
}

Refusal refusal_of_json(const std::string& body) {
  try {
    json::parse_call(body, served());
  } catch (const Refusal& refusal) {
    return refusal;
  }
  return {0, "it was taken"};
}

template <class T>
std::vector<float> numbers(std::string_view bytes) {
  std::vector<T> all(bytes.size() / sizeof(T));
  std::memcpy(static_cast<void*>(all.data()), bytes.data(), bytes.size());
  return {all.begin(), all.end()};
}

TEST(Json, ListsBecomeTensors) {
  const Call call = json::parse_call(with("causal", "true"), served());
  EXPECT_EQ(call.shape, (Shape{tlxjit::Elem::f32, 2, 1, 2, true, 1 / std::sqrt(2.F)}));
  EXPECT_THAT(numbers<float>(call.q()), testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(numbers<float>(call.k()), testing::ElementsAre(9, 10, 11, 12));
  EXPECT_THAT(numbers<float>(call.v()), testing::ElementsAre(13, 14, 15, 16));
  const Call half = json::parse_call(with("dtype", "\"bf16\""), served());
  EXPECT_THAT(numbers<tlxjit::bf16>(half.q()), testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(numbers<tlxjit::f16>(json::parse_call(with("dtype", "\"f16\""), served()).v()),
              testing::ElementsAre(13, 14, 15, 16));
}

TEST(Json, WhatMakesNoSenseIsRefused) {
  const struct {
    std::string body;
    int status;
    const char* reason;
  } cases[] = {
      {"", 400, "no JSON"},
      {"{", 400, "no JSON"},
      {"[1]", 400, "the body is no JSON object"},
      {"\xff\xfe", 400, "no JSON"},
      {std::string(100000, '['), 400, "no JSON"},
      {with("head_size", ""), 400, "`head_size` is missing"},
      {with("lengths", ""), 400, "`lengths` is missing"},
      {with("q", ""), 400, "`q` is missing"},
      {with("mask", "1"), 400, "`mask` is none of the fields"},
      {with("lengths", "[NaN]"), 400, "no JSON"},
      {with("lengths", "[null]"), 400, "`lengths` is a whole number"},
      {with("lengths", "[2.0]"), 400, "`lengths` is a whole number"},
      {with("lengths", "[-1]"), 400, "`lengths` is a whole number from 0"},
      {with("lengths", "[2147483648]"), 400, "`lengths` is a whole number"},
      {with("lengths", "[18446744073709551615]"), 400, "`lengths` is a whole number"},
      {with("lengths", "2"), 400, "`lengths` is a list"},
      {with("lengths", "[]"), 400, "at least one sequence"},
      {with("lengths", "[2147483647, 2147483647]"), 422, "4294967294 tokens are more than"},
      {with("lengths", "[3]"), 400, "`q` is a list of tokens"},
      {with("heads", "0"), 400, "`heads` is a whole number from 1"},
      {with("heads", "\"two\""), 400, "`heads` is a whole number"},
      {with("heads", "1000"), 422, "1000 heads are more than"},
      {with("heads", "3"), 422, "groups of 3 heads"},
      {with("head_size", "4"), 422, "heads of 4 elements are not served here, only of 2"},
      {with("causal", "1"), 400, "`causal` is true or false"},
      {with("dtype", "\"f64\""), 400, "`dtype` is one of"},
      {with("dtype", "1"), 400, "`dtype` is one of"},
      {with("scale", "0"), 400, "the scale is a finite number above 0"},
      {with("scale", "1e200"), 400, "the scale is a finite number above 0"},
      {with("scale", "\"x\""), 400, "`scale` is a number"},
      {with("deadline_ms", "0"), 400, "`deadline_ms` is a whole number from 1"},
      {with("deadline_ms", "60001"), 422, "a deadline is at most 60000 ms away"},
      {with("k", "[[[9,10]]]"), 400, "`k` is a list of tokens"},
      {with("k", "[[9,10],[11,12]]"), 400, "`k` is a list of tokens"},
      {with("k", "[[[9,10]],[[11]]]"), 400, "`k` is a list of tokens"},
      {with("k", "[[[9,10]],[[11,null]]]"), 400, "`k` holds something that is no number"},
      {with("k", "[[[9,10]],[[11,1e39]]]"), 400, "`k` holds a number that f32 does not"},
      {with("k", "[[[9,10]],[[11,1e999]]]"), 400, "no JSON"},
  };
  for (const auto& c : cases) {
    const Refusal refusal = refusal_of_json(c.body);
    EXPECT_EQ(refusal.status, c.status) << c.body.substr(0, 300) << " — " << refusal.reason;
    EXPECT_THAT(refusal.reason, HasSubstr(c.reason)) << c.body.substr(0, 300);
  }
}

TEST(Json, AnAnswerIsListsAndWhatIsNotFiniteIsNull) {
  const float out[] = {1, 2, 3, std::numeric_limits<float>::quiet_NaN()};
  const std::string_view bytes(reinterpret_cast<const char*>(out), sizeof out);
  const auto answer =
      nlohmann::json::parse(json::write_answer({tlxjit::Elem::f32, 1, 1, 2, true, 1}, bytes, {3, 1, 2}));
  EXPECT_EQ(answer["out"], nlohmann::json::parse("[[[1.0, 2.0]], [[3.0, null]]]"));
  EXPECT_EQ(answer["batch"], 3);
}

TEST(Json, AReasonMayQuoteBytesThatAreNoText) {
  EXPECT_EQ(json::write_error("a\xff\"b"), "{\"error\":\"a\xef\xbf\xbd\\\"b\"}\n");
}

}  // namespace
}  // namespace service_test

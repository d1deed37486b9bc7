// tests/service/numbers_test.cpp — what the service answers with real kernels, against float64; alone and in batches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstring>
#include <random>

#include "samples/attention_service/kernels.h"
#include "samples/attention_service/launch.h"
#include "tests/reference/attention.h"
#include "tests/reference/tolerance.h"
#include "tests/service/fixture.h"
#include "tests/support/seeds.h"
#include "tlxjit/core/numeric.h"

namespace tlxjit {
void PrintTo(Tier tier, std::ostream* out) { *out << (tier == Tier::wait ? "wait" : "background"); }
}  // namespace tlxjit

namespace service_test {
namespace {

using tlxjit::Elem;

/// The service's own runner, behind a gate that holds the first launch back, so that others wait and become a batch.
class Real {
 public:
  explicit Real(tlxjit::Tier tier, const Served& served = {})
      : engine_([] {
          tlxjit::EngineOptions options;
          options.cpu_plugin = TLXJIT_TEST_PLUGIN;
          return options;
        }()),
        device_(*engine_.device(tlxjit::Device::cpu)),
        kernels_(engine_, device_, served, tier),
        launcher_(device_) {}
  Runner runner() {
    return [this](std::span<const PendingPtr> batch) {
      gate_.runner()(batch);
      auto results = launcher_.run(kernels_, batch);
      EXPECT_TRUE(results) << to_string(results.error());
      return *results;
    };
  }
  const Kernels& kernels() const { return kernels_; }

  Gate gate_;

 private:
  tlxjit::Engine engine_;
  tlxjit::Device device_;
  Kernels kernels_;
  Launcher launcher_;
};

template <class T>
void fill(std::string& data, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (size_t at = 0; at < data.size(); at += sizeof(T)) {
    const T value(uniform(random));
    std::memcpy(data.data() + at, &value, sizeof value);
  }
}

template <class T>
std::vector<double> numbers(std::string_view bytes) {
  std::vector<double> out;
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    out.push_back(static_cast<double>(static_cast<float>(value)));
  }
  return out;
}

template <class T>
void compare(const Call& call, std::string_view out, double unit) {
  const Shape& s = call.shape;
  const auto q = numbers<T>(call.q()), k = numbers<T>(call.k()), v = numbers<T>(call.v()), is = numbers<T>(out);
  ASSERT_EQ(is.size(), q.size());
  const auto row_of = [&](const std::vector<double>& x, int64_t token, int heads, int head) {
    const auto begin = x.begin() + (token * heads + head) * s.head_size;
    return std::vector<double>(begin, begin + s.head_size);
  };
  int64_t start = 0;
  for (const int32_t length : call.lengths) {
    const reference::Mask mask = reference::band_mask(length, length, true, -1, s.causal ? 0 : -1);
    for (int head = 0; head < s.heads; ++head) {
      reference::Rows keys{s.head_size, {}}, values{s.head_size, {}};
      const int key_head = head / (s.heads / s.key_heads);
      for (int64_t j = 0; j < length; ++j) {
        const auto key = row_of(k, start + j, s.key_heads, key_head),
                   value = row_of(v, start + j, s.key_heads, key_head);
        keys.elements.insert(keys.elements.end(), key.begin(), key.end());
        values.elements.insert(values.elements.end(), value.begin(), value.end());
      }
      for (int64_t i = 0; i < length; ++i) {
        const auto row =
            reference::attention_row(mask, i, double(s.scale), 0, row_of(q, start + i, s.heads, head), keys, values);
        const auto result = row_of(is, start + i, s.heads, head);
        const double terms = double(s.head_size) * (1 + row.score_magnitude) + double(length) + 16;
        for (size_t d = 0; d < result.size(); ++d) {
          const double least = unit == reference::roundoff_f16 ? reference::underflow_f16 * (1 + row.values[d]) : 0;
          ASSERT_TRUE(reference::agrees(result[d], row.out[d],
                                        reference::tolerance(row.out[d], row.magnitude[d], terms, unit, unit, least)))
              << "length " << length << " head " << head << " row " << i << ": " << result[d] << ", not " << row.out[d];
        }
      }
    }
    start += length;
  }
}

void fill(Call& call, std::mt19937& random) {
  if (call.shape.elem == Elem::f32) return fill<float>(call.data, random);
  if (call.shape.elem == Elem::bf16) return fill<tlxjit::bf16>(call.data, random);
  fill<tlxjit::f16>(call.data, random);
}

void compare(const Call& call, std::string_view out) {
  if (call.shape.elem == Elem::f32) return compare<float>(call, out, reference::roundoff_f32);
  if (call.shape.elem == Elem::bf16) return compare<tlxjit::bf16>(call, out, reference::roundoff_bf16);
  compare<tlxjit::f16>(call, out, reference::roundoff_f16);
}

struct Reply {
  wire::AnswerHeader header;
  std::string out;
};

std::future<Reply> post_beside(const Harness& harness, const Call& call) {
  return std::async(std::launch::async, [&harness, call] {
    httplib::Client client = harness.client();
    const auto result = post(client, wire::write_call(call));
    Reply reply;
    EXPECT_TRUE(result && result->status == 200) << (result ? result->body : "no answer");
    if (!result || result->status != 200) return reply;
    std::memcpy(&reply.header, result->body.data(), sizeof reply.header);
    reply.out = result->body.substr(sizeof reply.header);
    return reply;
  });
}

class Numbers : public testing::TestWithParam<tlxjit::Tier> {
 protected:
  Numbers() : real_(GetParam()), harness_(patient(), real_.runner()) {}
  Real real_;
  Harness harness_;
};

TEST_P(Numbers, CallsOfEveryKindAreRight) {
  real_.gate_.open();
  for (const uint64_t seed : tlxjit::seeds(1)) {
    std::mt19937 random(static_cast<unsigned>(seed));
    for (const Shape& shape : {Shape{Elem::f32, 2, 1, 64, true, 0.125F}, Shape{Elem::bf16, 2, 2, 64, false, 0.125F},
                               Shape{Elem::f16, 4, 1, 128, true, 0.1F}}) {
      Call call = call_of(shape, {static_cast<int32_t>(random() % 150), 0, 1, 70});
      fill(call, random);
      SCOPED_TRACE("seed " + std::to_string(seed));
      compare(call, post_beside(harness_, call).get().out);
    }
  }
}

TEST_P(Numbers, CallsOfABatchGetTheirOwnRows) {
  std::mt19937 random(5);
  const Shape shape{Elem::f32, 2, 1, 64, true, 0.125F};
  std::vector<Call> calls;
  for (const auto& lengths : {std::vector<int32_t>{5}, {0}, {130, 1}, {3, 0, 70}, {64}}) {
    calls.push_back(call_of(shape, lengths));
    fill(calls.back(), random);
  }
  // What is not finite stays in its own call.
  const float nan = NAN;
  Call poisoned = call_of(shape, {40});
  fill(poisoned, random);
  for (size_t at = 0; at < poisoned.data.size(); at += 400) std::memcpy(poisoned.data.data() + at, &nan, sizeof nan);

  auto first = post_beside(harness_, calls[0]);
  real_.gate_.await_launches(1);
  std::vector<std::future<Reply>> replies;
  for (size_t i = 1; i < calls.size(); ++i) {
    replies.push_back(post_beside(harness_, calls[i]));
    until([&] { return harness_.service().queue().depth() == 2 * i - 1; });
    replies.push_back(post_beside(harness_, poisoned));
    until([&] { return harness_.service().queue().depth() == 2 * i; });
  }
  real_.gate_.open();
  compare(calls[0], first.get().out);
  for (size_t i = 0; i < replies.size(); ++i) {
    const Reply reply = replies[i].get();
    EXPECT_EQ(reply.header.batch, replies.size());
    if (i % 2 == 0) compare(calls[i / 2 + 1], reply.out);
  }
}

TEST_P(Numbers, ManyNumbersOfHeadsAtOnceAreRightWhicheverVersionRan) {
  real_.gate_.open();
  std::mt19937 random(7);
  std::vector<Call> calls;
  for (const int heads : {1, 2, 3, 5}) {
    calls.push_back(call_of({Elem::f32, heads, heads, 64, true, 0.125F}, {20, 3}));
    fill(calls.back(), random);
  }
  std::vector<std::future<Reply>> replies;
  for (int round = 0; round < 8; ++round)
    for (const Call& call : calls) replies.push_back(post_beside(harness_, call));
  for (size_t i = 0; i < replies.size(); ++i) compare(calls[i % calls.size()], replies[i].get().out);
  const tlxjit::JitCounters counters = real_.kernels().counters();
  EXPECT_EQ(counters.failures, 0U);
  // In the background some may be made after the last call.
  EXPECT_GE(counters.compiles, GetParam() == tlxjit::Tier::wait ? calls.size() : 1);
}

/// What `background` is for: the first launch of a number of heads waits for no compile.
TEST_P(Numbers, AfterPreparingOnlyWaitWaits) {
  Served served;
  served.elems = {Elem::f32}, served.head_sizes = {64}, served.groups = {1};
  Real real(GetParam(), served);
  const Harness harness(patient(), real.runner());
  real.gate_.open();
  size_t prepared = 0;
  ASSERT_TRUE(real.kernels().prepare([&](size_t done, size_t) { prepared = done; }));
  EXPECT_EQ(prepared, 2U) << "with a mask and without";
  const tlxjit::JitCounters before = real.kernels().counters();
  std::mt19937 random(9);
  for (const int heads : {1, 2, 3}) {
    Call call = call_of({Elem::f32, heads, heads, 64, true, 0.125F}, {20});
    fill(call, random);
    compare(call, post_beside(harness, call).get().out);
  }
  EXPECT_EQ(real.kernels().counters().waits - before.waits, GetParam() == tlxjit::Tier::wait ? 3U : 0U);
}

INSTANTIATE_TEST_SUITE_P(Tiers, Numbers, testing::Values(tlxjit::Tier::wait, tlxjit::Tier::background),
                         [](const auto& info) { return info.param == tlxjit::Tier::wait ? "Wait" : "Background"; });

}  // namespace
}  // namespace service_test

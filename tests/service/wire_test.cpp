// tests/service/wire_test.cpp — the binary form: what it says comes back, and every way to break it is refused by name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include <cstring>
#include <limits>
#include <random>

#include "tests/service/fixture.h"
#include "tests/support/seeds.h"

namespace service_test {
namespace {

using testing::HasSubstr;
using wire::CallHeader;

struct Case {
  std::function<void(CallHeader&)> change;
  int status;
  const char* reason;
};

Refusal refusal_of(const std::string& body, const Served& served = {}) {
  try {
    wire::parse_call(body, served);
  } catch (const Refusal& refusal) {
    return refusal;
  }
  return {0, "it was taken"};
}

std::string with_header(const std::function<void(CallHeader&)>& change) {
  std::string body = wire::write_call(call_of(small(), {2, 0, 1}));
  CallHeader header;
  std::memcpy(&header, body.data(), sizeof header);
  change(header);
  std::memcpy(body.data(), &header, sizeof header);
  return body;
}

std::string with_length(size_t sequence, int32_t length) {
  std::string body = wire::write_call(call_of(small(), {2, 0, 1}));
  std::memcpy(body.data() + sizeof(CallHeader) + sequence * sizeof length, &length, sizeof length);
  return body;
}

TEST(Wire, ACallComesBackAsItWasWritten) {
  Call call = call_of({tlxjit::Elem::bf16, 8, 4, 128, false, 0.5F}, {3, 0, 2});
  for (size_t i = 0; i < call.data.size(); ++i) call.data[i] = static_cast<char>(i * 7);
  call.deadline = 1234ms;
  const Call back = wire::parse_call(wire::write_call(call), {});
  EXPECT_EQ(back.shape, call.shape);
  EXPECT_EQ(back.lengths, call.lengths);
  EXPECT_EQ(back.tokens, 5);
  EXPECT_EQ(back.deadline, 1234ms);
  EXPECT_EQ(back.q(), call.q());
  EXPECT_EQ(back.k(), call.k());
  EXPECT_EQ(back.v(), call.v());
}

TEST(Wire, AScaleOfZeroIsTheUsualOne) {
  EXPECT_EQ(wire::parse_call(with_header([](CallHeader& h) { h.scale = 0; }), {}).shape.scale, 0.125F);
}

TEST(Wire, ACallWithoutTokensIsTaken) {
  EXPECT_EQ(wire::parse_call(wire::write_call(call_of(small(), {0, 0})), {}).tokens, 0);
}

TEST(Wire, EveryFieldThatMakesNoSenseIsRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const Case cases[] = {
      {[](CallHeader& h) { h.magic ^= 1; }, 400, "does not begin with `TLAC`"},
      {[](CallHeader& h) { h.version = 2; }, 400, "version 2 is not the one served, 1"},
      {[](CallHeader& h) { h.dtype = 0; }, 400, "dtype 0 is none of"},
      {[](CallHeader& h) { h.dtype = 4; }, 400, "dtype 4 is none of"},
      {[](CallHeader& h) { h.flags |= 2; }, 400, "unknown flags"},
      {[](CallHeader& h) { h.reserved = 1; }, 400, "reserved"},
      {[](CallHeader& h) { h.heads = 0; }, 400, "at least one head"},
      {[](CallHeader& h) { h.key_heads = 0; }, 400, "at least one head"},
      {[](CallHeader& h) { h.heads = 129; }, 422, "129 heads are more than the 128 served here"},
      {[](CallHeader& h) { h.heads = 3, h.key_heads = 2; }, 400, "2 key heads do not divide 3 heads"},
      {[](CallHeader& h) { h.heads = 2, h.key_heads = 4; }, 400, "4 key heads do not divide 2 heads"},
      {[](CallHeader& h) { h.heads = 3; }, 422,
       "groups of 3 heads per key head are not served here, only of 1, 2, 4, 8"},
      {[](CallHeader& h) { h.head_size = 0; }, 422, "heads of 0 elements are not served here, only of 64, 128"},
      {[](CallHeader& h) { h.head_size = 65; }, 422, "heads of 65 elements are not served"},
      {[](CallHeader& h) { h.head_size = 65535; }, 422, "heads of 65535 elements are not served"},
      {[nan](CallHeader& h) { h.scale = nan; }, 400, "the scale is a finite number above 0"},
      {[infinity](CallHeader& h) { h.scale = infinity; }, 400, "the scale is a finite number above 0"},
      {[](CallHeader& h) { h.scale = -1; }, 400, "the scale is a finite number above 0"},
      {[](CallHeader& h) { h.sequences = 0; }, 400, "a call has at least one sequence"},
      {[](CallHeader& h) { h.sequences = 1025; }, 422, "a call has at most 1024 sequences"},
      {[](CallHeader& h) { h.sequences = UINT32_MAX; }, 400, "the body ends before its 4294967295 lengths do"},
      {[](CallHeader& h) { h.deadline_ms = UINT32_MAX; }, 422, "a deadline is at most 60000 ms away"},
      {[](CallHeader& h) { h.heads = 1; }, 400, "one of 3 tokens has"},
      {[](CallHeader& h) { h.dtype = wire::bf16; }, 400, "one of 3 tokens has"},
  };
  for (const Case& c : cases) {
    std::string body = with_header(c.change);
    if (c.status == 422) body.resize(body.size() + 8192);  // so that lengths that are too many are there
    const Refusal refusal = refusal_of(body);
    EXPECT_EQ(refusal.status, c.status) << c.reason << " — " << refusal.reason;
    EXPECT_THAT(refusal.reason, HasSubstr(c.reason));
  }
}

TEST(Wire, LengthsThatMakeNoSenseAreRefused) {
  EXPECT_THAT(refusal_of(with_length(0, -1)).reason, HasSubstr("a length is at least 0, not -1"));
  EXPECT_THAT(refusal_of(with_length(1, INT32_MIN)).reason, HasSubstr("a length is at least 0, not -2147483648"));
  // The bits of a NaN, which as a length are a large number.
  EXPECT_THAT(refusal_of(with_length(2, 0x7fc00000)).reason, HasSubstr("tokens are more than the 32768 of a call"));
  EXPECT_EQ(refusal_of(with_length(2, INT32_MAX)).status, 422);
  EXPECT_THAT(refusal_of(with_length(0, 3)).reason, HasSubstr("one of 4 tokens has"));
}

TEST(Wire, ABodyOfEveryOtherSizeIsRefused) {
  const std::string body = wire::write_call(call_of({tlxjit::Elem::bf16, 1, 1, 64, true, 1}, {1}));
  for (size_t size = 0; size < body.size(); ++size) EXPECT_EQ(refusal_of(body.substr(0, size)).status, 400) << size;
  EXPECT_EQ(refusal_of(body + '\0').status, 400);
  EXPECT_EQ(refusal_of(body).status, 0);
}

TEST(Wire, ElementTypesThatTheDeviceLacksAreRefused) {
  Served served;
  served.elems = {tlxjit::Elem::bf16, tlxjit::Elem::f16};
  const Refusal refusal = refusal_of(wire::write_call(call_of(small(), {1})), served);
  EXPECT_EQ(refusal.status, 422);
  EXPECT_THAT(refusal.reason, HasSubstr("tensors of f32 are not served here, only f16, bf16"));
}

TEST(Wire, RandomChangesAreTakenOrRefusedAndNothingElse) {
  for (const uint64_t seed : tlxjit::seeds(3)) {
    std::mt19937 random(static_cast<unsigned>(seed));
    for (int i = 0; i < 2000; ++i) {
      std::string body = wire::write_call(call_of(small(), {1, 2}));
      for (unsigned change = random() % 4 + 1; change-- > 0;)
        body[random() % (change % 2 ? body.size() : 48)] = static_cast<char>(random());
      const int status = refusal_of(body).status;
      EXPECT_TRUE(status == 0 || status == 400 || status == 422) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace service_test

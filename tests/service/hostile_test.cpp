// tests/service/hostile_test.cpp — clients that send half of a request, too much, too slowly, or no HTTP at all.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include <random>

#include "tests/service/fixture.h"
#include "tests/support/seeds.h"

namespace service_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class HostileTest : public testing::Test {
 protected:
  HostileTest() { gate_.open(); }
  /// It answers a good call, holds nothing, and has no connection open that is not in use.
  static void expect_well(const Harness& harness) {
    until([&] {
      httplib::Client client = harness.client();
      const auto result = post(client, wire::write_call(call_of(small(), {1})));
      return result && result->status == 200;  // else its own limits, where the machine stood still
    });
    until([&] {
      httplib::Client client = harness.client();
      const auto result = client.Get("/metrics");
      return result && metric(result->body, "attention_service_open_connections") == 1;  // its own
    });
    until([&] { return harness.service().budget().held() == 0; });
  }
  static std::string head(const std::string& length, const std::string& more = "") {
    return std::string("POST /v1/attention HTTP/1.1\r\nHost: x\r\nContent-Type: ") + wire::content_type +
           "\r\nContent-Length: " + length + "\r\n" + more + "\r\n";
  }
  static std::string answer_to(const Harness& harness, const std::string& text, bool ends = false) {
    const Socket socket(harness.port());
    socket.send(text);
    if (ends) socket.end_sending();
    return socket.read_all();
  }

  Gate gate_;
  ServiceOptions options_ = patient();
};

TEST_F(HostileTest, AContentLengthThatIsNoneIsRefusedAndTheConnectionEnds) {
  const Harness harness(options_, gate_.runner());
  for (const char* length : {"-1", "x", "1x", "0x10", "1 2", "99999999999999999999", "+5", "1,1"})
    EXPECT_THAT(answer_to(harness, head(length) + "GET /healthz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400"))
        << length;
  EXPECT_THAT(answer_to(harness, head("4", "Content-Length: 5\r\n")), HasSubstr("not one whole number"));
  EXPECT_THAT(answer_to(harness, head("18446744073709551615")), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer_to(harness, "POST /v1/attention HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 411"));
  EXPECT_THAT(answer_to(harness, head("4", "Transfer-Encoding: chunked\r\n") + "0\r\n\r\n"),
              StartsWith("HTTP/1.1 411"));
  // What follows such a request is never taken for another one.
  EXPECT_THAT(answer_to(harness, head("x") + "GET /healthz HTTP/1.1\r\n\r\n"), testing::Not(HasSubstr("ok\n")));
  expect_well(harness);
}

TEST_F(HostileTest, ABodyThatEndsEarlyIs408) {
  options_.limits.body = 300ms;
  const Harness harness(options_, gate_.runner());
  const std::string body = wire::write_call(call_of(small(), {1}));
  for (const size_t part : {size_t{0}, size_t{1}, body.size() / 2, body.size() - 1})
    EXPECT_THAT(answer_to(harness, head(std::to_string(body.size())) + body.substr(0, part), true),
                StartsWith("HTTP/1.1 408"));
  EXPECT_THAT(answer_to(harness, head(std::to_string(body.size())) + body.substr(1)), StartsWith("HTTP/1.1 408"))
      << "nor does one that never ends keep its connection";
  expect_well(harness);
}

TEST_F(HostileTest, ABodyThatIsLongerThanItsLengthIsAnotherRequest) {
  const Harness harness(options_, gate_.runner());
  const std::string body = wire::write_call(call_of(small(), {1}));
  const std::string answers = answer_to(harness, head(std::to_string(body.size())) + body + "GARBAGE\r\n\r\n");
  EXPECT_THAT(answers, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answers, HasSubstr("HTTP/1.1 400"));
}

TEST_F(HostileTest, AByteNowAndThenIsCutOffThoughNoReadTakesLong) {
  options_.limits.header = options_.limits.body = 300ms;
  const Harness harness(options_, gate_.runner());
  for (const std::string& begin : {std::string("GET /healthz HTTP/1.1\r\nX: "), head("1000000")}) {
    const Socket slow(harness.port());
    ASSERT_TRUE(slow.send(begin));
    while (slow.send("x")) std::this_thread::sleep_for(5ms);
  }
  expect_well(harness);
}

TEST_F(HostileTest, AHeaderWithoutEndIsCutOff) {
  const Harness harness(options_, gate_.runner());
  EXPECT_THAT(answer_to(harness, "GET /healthz HTTP/1.1\r\nX: " + std::string(64 << 10, 'x')),
              StartsWith("HTTP/1.1 400"));
  std::string many = "GET /healthz HTTP/1.1\r\n";
  for (int i = 0; i < 10000; ++i) many += "X: 1\r\n";
  EXPECT_THAT(answer_to(harness, many), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer_to(harness, "GET /" + std::string(9000, 'x') + " HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 414"));
  expect_well(harness);
}

TEST_F(HostileTest, AClientThatReadsNothingIsCutOff) {
  options_.limits.write = 300ms;
  const Harness harness(options_, gate_.runner());
  const Call call = call_of({tlxjit::Elem::f32, 128, 16, 128, true, 1}, {200});  // an answer that no socket buffers
  const std::string body = wire::write_call(call);
  const Socket deaf(harness.port());
  ASSERT_TRUE(deaf.send(head(std::to_string(body.size())) + body));
  gate_.await_launches(1);
  until([&] { return harness.service().budget().held() == 0; });
  expect_well(harness);
}

TEST_F(HostileTest, AConnectionThatAsksNothingIsCutOff) {
  options_.limits.idle = 300ms;
  const Harness harness(options_, gate_.runner());
  EXPECT_EQ(answer_to(harness, ""), "");
  expect_well(harness);
}

TEST_F(HostileTest, ConnectionsHaveABound) {
  options_.connections = 8;
  const Harness harness(options_, gate_.runner());
  {
    std::vector<std::unique_ptr<Socket>> idle;
    for (int i = 0; i < 8; ++i) idle.push_back(std::make_unique<Socket>(harness.port()));
    const std::string answer = answer_to(harness, "");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 429"));
    EXPECT_THAT(answer, HasSubstr("Retry-After: "));
    EXPECT_THAT(answer, HasSubstr("too many connections are open"));
    EXPECT_EQ(harness.service().metrics().refused_connections, 1U);
  }
  expect_well(harness);
}

TEST_F(HostileTest, GarbageIsRefusedOrCutOff) {
  const Harness harness(options_, gate_.runner());
  const std::string good = head("10") + "0123456789";
  for (const uint64_t seed : tlxjit::seeds(2)) {
    std::mt19937 random(static_cast<unsigned>(seed));
    for (int i = 0; i < 50; ++i) {
      std::string text;
      if (i % 2)
        for (unsigned size = random() % 3000; size-- > 0;) text += static_cast<char>(random());
      else
        text = good, text[random() % text.size()] = static_cast<char>(random());
      const std::string answer = answer_to(harness, text, true);
      EXPECT_THAT(answer, testing::AnyOf("", StartsWith("HTTP/1.1 4"))) << "seed " << seed << ": " << text;
    }
  }
  expect_well(harness);
}

}  // namespace
}  // namespace service_test

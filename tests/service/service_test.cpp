// tests/service/service_test.cpp — the service over HTTP, with launches that the test holds back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include <cstring>

#include "tests/service/fixture.h"

namespace service_test {
namespace {

using testing::HasSubstr;

class ServiceTest : public testing::Test {
 protected:
  /// A call on a thread of its own.
  static std::future<int> post_beside(const Harness& harness, Call call) {
    return std::async(std::launch::async, [&harness, call = std::move(call)] {
      httplib::Client client = harness.client();
      const auto result = post(client, wire::write_call(call));
      return result ? result->status : 0;
    });
  }
  static std::string metrics_of(const Harness& harness) { return harness.client().Get("/metrics")->body; }
  /// Answers are counted, and their bytes given back, once they are on their way: a client may be faster.
  static void await_metric(const Harness& harness, const std::string& name, double value) {
    until([&] { return metric(metrics_of(harness), name) == value; });
  }

  Gate gate_;
  ServiceOptions options_ = patient();
};

TEST_F(ServiceTest, HealthMetricsAndACall) {
  gate_.open();
  const Harness harness(options_, gate_.runner());
  httplib::Client client = harness.client();
  client.set_keep_alive(true);
  EXPECT_EQ(client.Get("/healthz")->body, "ok\n");
  Call call = call_of(small(), {2, 1});
  for (size_t i = 0; i < call.data.size(); ++i) call.data[i] = static_cast<char>(i % 100);
  const auto result = post(client, wire::write_call(call));
  ASSERT_TRUE(result);
  ASSERT_EQ(result->status, 200);
  wire::AnswerHeader header;
  std::memcpy(&header, result->body.data(), sizeof header);
  EXPECT_EQ(header.magic, wire::answer_magic);
  EXPECT_EQ(header.tokens, 3U);
  EXPECT_EQ(header.heads, 2);
  EXPECT_EQ(header.batch, 1U);
  EXPECT_EQ(result->body.substr(sizeof header), call.q());
  await_metric(harness, "attention_service_requests_total{path=\"/v1/attention\",code=\"200\"}", 1);
  await_metric(harness, "attention_service_held_bytes", 0);
  const std::string text = client.Get("/metrics")->body;
  EXPECT_EQ(metric(text, "attention_service_request_seconds_count"), 1);
  EXPECT_EQ(metric(text, "attention_service_batch_calls_bucket{le=\"1\"}"), 1);
  EXPECT_EQ(metric(text, "attention_service_queue_depth"), 0);
}

TEST_F(ServiceTest, EveryBadRequestIsRefusedWithAReason) {
  gate_.open();
  options_.body_bytes = 1 << 20;
  options_.json_bytes = 1 << 10;
  const Harness harness(options_, gate_.runner());
  httplib::Client client = harness.client();
  const std::string good = wire::write_call(call_of(small(), {1}));
  const struct {
    httplib::Result result;
    int status;
    const char* reason;
  } cases[] = {
      {client.Get("/nowhere"), 404, "there is /v1/attention, /metrics and /healthz here"},
      {client.Post("/nowhere", good, wire::content_type), 404, "there is /v1/attention"},
      {client.Get("/v1/attention"), 405, "a call is sent with POST"},
      {client.Put("/v1/attention", good, wire::content_type), 405, "a call is sent with POST"},
      {client.Delete("/healthz"), 405, "this is read with GET"},
      {post(client, good, "text/plain"), 415, "the Content-Type is"},
      {post(client, good, "multipart/form-data; boundary=x"), 415, "the Content-Type is"},
      {post(client, good, "application/jsonx"), 415, "the Content-Type is"},
      {client.Post("/v1/attention", {{"Content-Encoding", "gzip"}}, good, wire::content_type), 415,
       "no Content-Encoding"},
      {client.Get("/healthz", {{"Range", "bytes=x"}}), 416, "the Range cannot be read"},
      {post(client, std::string((1 << 20) + 1, 'x')), 413, "has at most 1048576 bytes"},
      {post(client, std::string(1025, 'x'), "application/json"), 413, "has at most 1024 bytes"},
      {post(client, ""), 400, "a header alone has 32"},
      {post(client, good.substr(1)), 400, "does not begin with `TLAC`"},
      {post(client, "{}", "application/json; charset=utf-8"), 400, "`head_size` is missing"},
  };
  for (const auto& c : cases) {
    ASSERT_TRUE(c.result) << c.reason;
    EXPECT_EQ(c.result->status, c.status) << c.reason;
    EXPECT_THAT(c.result->body, HasSubstr(c.reason));
  }
  EXPECT_TRUE(gate_.batches().empty());
  EXPECT_EQ(post(client, good)->status, 200) << "and the service goes on";
}

TEST_F(ServiceTest, OverloadIs429AndTheQueueDoesNotGrow) {
  options_.queue.waiting = 3;
  const Harness harness(options_, gate_.runner());
  std::vector<std::future<int>> answers;
  answers.push_back(post_beside(harness, call_of(small(), {1})));
  gate_.await_launches(1);
  for (int i = 0; i < 3; ++i) answers.push_back(post_beside(harness, call_of(small(), {1})));
  until([&] { return harness.service().queue().depth() == 3; });
  for (int i = 0; i < 20; ++i) {
    httplib::Client client = harness.client();
    const auto refused = post(client, wire::write_call(call_of(small(), {1000})));
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 429);
    EXPECT_GE(std::stoi(refused->get_header_value("Retry-After")), 1);
    EXPECT_THAT(refused->body, HasSubstr("too many calls wait"));
    EXPECT_EQ(harness.service().queue().depth(), 3U);
  }
  EXPECT_EQ(metric(metrics_of(harness), "attention_service_queue_depth"), 3);
  EXPECT_EQ(harness.client().Get("/healthz")->status, 200);
  gate_.open();
  for (auto& answer : answers) EXPECT_EQ(answer.get(), 200);
  EXPECT_THAT(gate_.batches(), testing::ElementsAre(1, 3)) << "what waited was one launch";
  await_metric(harness, "attention_service_requests_total{path=\"/v1/attention\",code=\"429\"}", 20);
  const std::string text = metrics_of(harness);
  EXPECT_EQ(metric(text, "attention_service_batch_calls_bucket{le=\"4\"}"), 2);
  EXPECT_EQ(metric(text, "attention_service_batch_calls_sum"), 4);
}

TEST_F(ServiceTest, BytesHaveABoundToo) {
  const Call call = call_of(small(), {100});
  const size_t bytes = wire::write_call(call).size();
  options_.held_bytes = 2 * bytes + bytes / 2;
  const Harness harness(options_, gate_.runner());
  auto first = post_beside(harness, call), second = post_beside(harness, call);
  until([&] { return harness.service().budget().held() == 2 * bytes; });
  EXPECT_EQ(post_beside(harness, call).get(), 429);
  EXPECT_EQ(harness.service().budget().held(), 2 * bytes);
  gate_.open();
  EXPECT_EQ(first.get(), 200);
  EXPECT_EQ(second.get(), 200);
  until([&] { return harness.service().budget().held() == 0; });
  EXPECT_EQ(post_beside(harness, call).get(), 200);
}

TEST_F(ServiceTest, WhatJsonTakesWhileItIsParsedIsHeldToo) {
  std::string body = "[1";
  while (body.size() < 20000) body += ",{\"a\":1}";
  options_.held_bytes = 30 * body.size();
  Harness harness(options_, gate_.runner());
  const auto refused = harness.client().Post("/v1/attention", body, "application/json");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429) << refused->body;
  body.resize(body.size() / 2);
  const auto parsed = harness.client().Post("/v1/attention", body, "application/json");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->status, 400) << parsed->body;
  until([&] { return harness.service().budget().held() == 0; });
}

TEST_F(ServiceTest, ADeadlineInTheQueueOrInALaunchIs504) {
  const Harness harness(options_, gate_.runner());
  Call call = call_of(small(), {1});
  call.deadline = 1ms;
  EXPECT_EQ(post_beside(harness, call).get(), 504) << "in a launch, or before it";
  auto running = post_beside(harness, call_of(small(), {1}));
  gate_.await_launches(1);
  EXPECT_EQ(post_beside(harness, call).get(), 504) << "in the queue";
  gate_.open();
  EXPECT_EQ(running.get(), 200);
  until([&] { return harness.service().budget().held() == 0; });
}

TEST_F(ServiceTest, WhatTheRunnerRefusesIsTold) {
  const Runner runner = [](std::span<const PendingPtr>) -> std::vector<std::string> {
    throw Refusal{500, "the device is gone"};
  };
  const Harness harness(options_, runner);
  httplib::Client client = harness.client();
  for (int i = 0; i < 2; ++i) {
    const auto result = post(client, wire::write_call(call_of(small(), {1})));
    EXPECT_EQ(result->status, 500);
    EXPECT_THAT(result->body, HasSubstr("the device is gone"));
  }
}

TEST_F(ServiceTest, StoppingAnswersWhatIsInAndTakesNoMore) {
  options_.queue.linger = 1h;
  const HeldPort port;
  Harness harness(options_, gate_.runner(), port.number());
  auto lingering = post_beside(harness, call_of(small(), {1}));
  until([&] { return harness.service().queue().depth() == 1; });
  httplib::Client idle = harness.client();
  idle.set_keep_alive(true);
  EXPECT_EQ(idle.Get("/healthz")->status, 200);
  harness.begin_to_stop();
  gate_.await_launches(1);
  gate_.open();
  harness.await_end();
  EXPECT_EQ(lingering.get(), 200);
  EXPECT_FALSE(idle.Get("/healthz"));
}

}  // namespace
}  // namespace service_test

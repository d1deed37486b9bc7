// samples/attention_service/service.cpp — a call's way from its first byte to its answer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "service.h"

#include <poll.h>

#include <algorithm>
#include <cmath>

#include "json.h"
#include "wire.h"

namespace attention_service {

namespace {

constexpr const char* attention_path = "/v1/attention";

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// The media type, without its parameters.
std::string media_type(const httplib::Request& request) {
  const std::string text = request.get_header_value("Content-Type");
  return text.substr(0, text.find_first_of("; "));
}

uint32_t microseconds(Clock::duration time) {
  return static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

/// Of paths that clients make up, the metrics know one.
std::string_view known_path(std::string_view path) {
  for (const std::string_view known : {attention_path, "/metrics", "/healthz"})
    if (path == known) return known;
  return "other";
}

}  // namespace

Service::Service(const ServiceOptions& options, Runner runner, std::function<std::vector<Metrics::Reading>()> readings)
    : options_(options),
      readings_(std::move(readings)),
      budget_(options.held_bytes),
      queue_(options.queue),
      batcher_(queue_, metrics_, std::move(runner)),
      server_(options_.limits, options.connections) {
  add_routes();
}

void Service::serve(int stopping) {
  // What waits for company need not when no more will come.
  std::thread watch([&] {
    pollfd one{stopping, POLLIN, 0};
    while (poll(&one, 1, -1) <= 0) {
    }
    queue_.hurry();
  });
  server_.serve(stopping);
  watch.join();
}

void Service::add_routes() {
  server_.set_payload_max_length(options_.body_bytes);
  server_.set_keep_alive_max_count(1 << 30);
  server_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    const auto refusal = refuses(request);
    if (!refusal) return httplib::Server::HandlerResponse::Unhandled;
    refuse(response, *refusal);
    return httplib::Server::HandlerResponse::Handled;
  });
  server_.set_expect_100_continue_handler([this](const httplib::Request& request, httplib::Response& response) {
    const auto refusal = refuses(request);
    if (!refusal) return 100;
    refuse(response, *refusal);
    return refusal->status;
  });
  server_.Post(attention_path, [this](const httplib::Request& request, httplib::Response& response,
                                      const httplib::ContentReader& reader) { attention(request, response, reader); });
  server_.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
    response.status = 200;
    response.set_content(metrics_text(), "text/plain; version=0.0.4; charset=utf-8");
  });
  server_.Get("/healthz", [](const httplib::Request&, httplib::Response& response) {
    response.status = 200;
    response.set_content("ok\n", "text/plain");
  });
  // What httplib refuses by itself comes without a word.
  server_.set_error_handler([this](const httplib::Request&, httplib::Response& response) {
    if (!response.body.empty()) return;
    const char* reason = response.status == 400 ? "the request's line or header is no HTTP, too long or too slow"
                         : response.status == 416
                             ? "the Range cannot be read; answers are whole, so that none is needed"
                             : "the request cannot be served";
    refuse(response, {response.status, reason});
  });
  server_.set_exception_handler([this](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
    refuse(response, {500, "something went wrong in the service"});
  });
  server_.set_logger([this](const httplib::Request& request, const httplib::Response& response) {
    metrics_.answered(known_path(request.path), response.status);
  });
  server_.one_too_many = [this] {
    ++metrics_.refused_connections;
    metrics_.answered("other", 429);
    const std::string body = json::write_error("too many connections are open");
    return "HTTP/1.1 429 Too Many Requests\r\nRetry-After: " + std::to_string(retry_after()) +
           "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  };
}

std::optional<Refusal> Service::refuses(const httplib::Request& request) const {
  const Framing frame = framing(request);
  if (frame.refusal) return frame.refusal;
  const std::string_view path = known_path(request.path);
  if (path == "other") return Refusal{404, "there is /v1/attention, /metrics and /healthz here"};
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (path != attention_path) return reads ? std::nullopt : std::optional(Refusal{405, "this is read with GET"});
  if (request.method != "POST") return Refusal{405, "a call is sent with POST"};
  const std::string type = media_type(request);
  if (type != json::content_type && type != wire::content_type)
    return Refusal{415, std::string("the Content-Type is ") + json::content_type + " or " + wire::content_type};
  const size_t most = type == json::content_type ? options_.json_bytes : options_.body_bytes;
  if (frame.length > most)
    return Refusal{413, "the body of a call of this type has at most " + std::to_string(most) + " bytes"};
  if (queue_.full()) return Refusal{429, "too many calls wait"};
  return std::nullopt;
}

void Service::refuse(httplib::Response& response, const Refusal& refusal) const {
  response.status = refusal.status;
  if (refusal.status == 429 || refusal.status == 503) response.set_header("Retry-After", std::to_string(retry_after()));
  if (refusal.status == 405) response.set_header("Allow", "GET, HEAD, POST");
  response.set_content(json::write_error(refusal.reason), json::content_type);
}

/// Seconds that what waits will take, as far as one knows.
int Service::retry_after() const {
  const Histogram::Values ran = metrics_.ran.values(), calls = metrics_.batch_calls.values();
  const double a_call = calls.sum > 0 ? ran.sum / calls.sum : 0;
  return static_cast<int>(std::clamp(std::ceil(a_call * static_cast<double>(queue_.depth())), 1.0, 60.0));
}

std::string Service::read_body(const httplib::Request& request, const httplib::ContentReader& reader,
                               Budget::Claim& claim) {
  const uint64_t length = framing(request).length;
  std::string body;
  body.reserve(length);
  bool fits = true;
  const bool whole = reader([&](const char* data, size_t size) {
    fits = claim.grow(size);
    if (fits) body.append(data, size);
    return fits;
  });
  if (!fits) throw Refusal{429, "too many bytes of calls are held"};
  if (!whole || body.size() != length) throw Refusal{408, "the body ended early, or came too slowly"};
  return body;
}

void Service::attention(const httplib::Request& request, httplib::Response& response,
                        const httplib::ContentReader& reader) {
  try {
    Budget::Claim claim(budget_);
    std::string body = read_body(request, reader, claim);
    const auto begin = Clock::now();
    const bool people = media_type(request) == json::content_type;
    if (people && !claim.grow(json::most_held(body.size()))) throw Refusal{429, "too many bytes of calls are held"};
    Call call = people ? json::parse_call(body, options_.served) : wire::parse_call(std::move(body), options_.served);
    const auto deadline = begin + (call.deadline.count() ? call.deadline : options_.deadline);
    const auto pending = std::make_shared<Pending>(std::move(call), std::move(claim), deadline);
    if (!queue_.push(pending)) throw Refusal{429, "too many calls wait"};
    const Answer answer = wait_for(pending);
    send(response, pending, encode(pending->call, answer, people), people ? json::content_type : wire::content_type);
    response.status = 200;
    metrics_.latency.add(seconds(Clock::now() - begin));
  } catch (const Refusal& refusal) {
    refuse(response, refusal);
  }
}

std::string Service::encode(const Call& call, const Answer& answer, bool people) {
  const Shape& shape = call.shape;
  if (people)
    return json::write_answer(shape, answer.out,
                              {answer.batch, seconds(answer.waited) * 1e3, seconds(answer.ran) * 1e3});
  wire::AnswerHeader header;
  header.dtype = wire::dtype_of(shape.elem);
  header.heads = static_cast<uint16_t>(shape.heads);
  header.head_size = static_cast<uint16_t>(shape.head_size);
  header.tokens = static_cast<uint32_t>(call.tokens);
  header.batch = answer.batch;
  header.waited_us = microseconds(answer.waited);
  header.ran_us = microseconds(answer.ran);
  return wire::write_answer(header, answer.out);
}

void Service::send(httplib::Response& response, PendingPtr pending, std::string body, const char* type) {
  const size_t size = body.size();
  // With the call, whose claim is what bounds the bytes of answers that clients are slow to read.
  response.set_content_provider(
      size, type,
      [pending = std::move(pending), body = std::make_shared<const std::string>(std::move(body))](
          size_t offset, size_t length, httplib::DataSink& sink) { return sink.write(body->data() + offset, length); });
}

Answer Service::wait_for(const PendingPtr& pending) {
  auto outcome = pending->outcome.get_future();
  // A launch under way cannot be broken off; nobody waits for it.
  if (outcome.wait_until(pending->deadline) != std::future_status::ready) {
    queue_.cancel(pending);
    throw Refusal{504, "the deadline passed"};
  }
  Outcome result = outcome.get();
  if (const auto* refusal = std::get_if<Refusal>(&result)) throw *refusal;
  return std::get<Answer>(std::move(result));
}

std::string Service::metrics_text() const {
  std::vector<Metrics::Reading> readings;
  if (readings_) readings = readings_();
  readings.push_back({"queue_depth", "Calls that wait for a launch.", false, static_cast<double>(queue_.depth())});
  readings.push_back({"queue_limit", "Calls that may wait.", false, static_cast<double>(options_.queue.waiting)});
  readings.push_back(
      {"held_bytes", "Bytes of calls being read, waiting or answered.", false, static_cast<double>(budget_.held())});
  readings.push_back({"held_bytes_limit", "Bytes that may be held.", false, static_cast<double>(budget_.limit())});
  readings.push_back({"open_connections", "Connections that are open.", false, static_cast<double>(server_.open())});
  return metrics_.text(readings);
}

}  // namespace attention_service

// samples/attention_service/service.h — the routes: calls from HTTP to the queue, and their answers back.
//
//     POST /v1/attention   a call, as json.h or wire.h say
//     GET  /metrics        for Prometheus
//     GET  /healthz        `ok`
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>

#include "batcher.h"
#include "server.h"

namespace attention_service {

struct ServiceOptions {
  ConnectionLimits limits;
  size_t connections = 256;
  size_t body_bytes = 64 << 20;           ///< of a call
  size_t json_bytes = 1 << 20;            ///< of a call as JSON, which takes much more memory than it has bytes
  size_t held_bytes = size_t{512} << 20;  ///< of all calls that are being read, wait or are answered
  std::chrono::milliseconds deadline{30000};
  Served served;
  Queue::Limits queue;
};

class Service {
 public:
  /// `readings`: what else /metrics shows; may be empty.
  Service(const ServiceOptions& options, Runner runner, std::function<std::vector<Metrics::Reading>()> readings);

  int bind(const std::string& host, int port) { return server_.bind(host, port); }
  void listen() { server_.listen(); }
  /// Serves until `stopping` becomes readable; calls that are in by then are answered.
  void serve(int stopping);

  const Metrics& metrics() const { return metrics_; }
  const Queue& queue() const { return queue_; }
  const Budget& budget() const { return budget_; }

 private:
  void add_routes();
  /// What can be said of a request before its body is read.
  std::optional<Refusal> refuses(const httplib::Request& request) const;
  void refuse(httplib::Response& response, const Refusal& refusal) const;
  void attention(const httplib::Request& request, httplib::Response& response, const httplib::ContentReader& reader);
  std::string read_body(const httplib::Request& request, const httplib::ContentReader& reader, Budget::Claim& claim);
  Answer wait_for(const PendingPtr& pending);
  static std::string encode(const Call& call, const Answer& answer, bool people);
  static void send(httplib::Response& response, PendingPtr pending, std::string body, const char* type);
  int retry_after() const;
  std::string metrics_text() const;

  const ServiceOptions options_;
  const std::function<std::vector<Metrics::Reading>()> readings_;
  Metrics metrics_;
  Budget budget_;
  Queue queue_;
  Batcher batcher_;
  Server server_;  ///< ends first: its connections wait for the batcher
};

}  // namespace attention_service

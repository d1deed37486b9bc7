// samples/attention_service/load/client.cpp — threads that take the next call, wait for its time and send it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "client.h"

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

namespace load {

namespace wire = attention_service::wire;

namespace {

using Clock = std::chrono::steady_clock;

void send(httplib::Client& client, const std::string& body, bool keep, Sample& sample) {
  const auto result = client.Post("/v1/attention", body, wire::content_type);
  if (!result) {
    sample.reason = httplib::to_string(result.error());
    return;
  }
  sample.status = result->status;
  if (result->status != 200) {
    const auto json = nlohmann::json::parse(result->body, nullptr, false);
    const bool says = json.is_object() && json.contains("error") && json["error"].is_string();
    sample.reason = says ? json["error"].get<std::string>() : result->body.substr(0, 200);
  }
  if (result->status != 200 || result->body.size() < sizeof sample.header) return;
  std::memcpy(&sample.header, result->body.data(), sizeof sample.header);
  if (keep) sample.out = result->body.substr(sizeof sample.header);
}

}  // namespace

unsigned seed_of(const Options& options, size_t call) { return options.seed + static_cast<unsigned>(call); }

void look_for_service(const Options& options) {
  httplib::Client client(options.host, options.port);
  const auto result = client.Get("/healthz");
  if (result && result->status == 200) return;
  throw std::runtime_error("no attention_service answers at " + options.host + ":" + std::to_string(options.port) +
                           ": " +
                           (result ? "status " + std::to_string(result->status) : httplib::to_string(result.error())));
}

std::vector<Sample> send_all(const Options& options, const std::vector<Arrival>& arrivals) {
  std::vector<Sample> samples(arrivals.size());
  const size_t step = options.checked ? std::max<size_t>(arrivals.size() / static_cast<size_t>(options.checked), 1) : 0;
  std::atomic<size_t> next = 0;
  const auto start = Clock::now() + std::chrono::milliseconds(100);
  const auto work = [&] {
    httplib::Client client(options.host, options.port);
    client.set_keep_alive(true);
    client.set_tcp_nodelay(true);
    client.set_read_timeout(120);
    client.set_write_timeout(120);
    for (size_t i; (i = next++) < arrivals.size();) {
      Sample& sample = samples[i];
      sample.arrival = arrivals[i];
      const std::string body = wire::write_call(make_call(options, arrivals[i], seed_of(options, i)));
      const auto at =
          start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(arrivals[i].at));
      std::this_thread::sleep_until(at);
      send(client, body, step && i % step == 0, sample);
      sample.latency = std::chrono::duration<double>(Clock::now() - at).count();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < options.threads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return samples;
}

}  // namespace load

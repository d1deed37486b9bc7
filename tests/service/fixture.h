// tests/service/fixture.h — the service in this process, a runner that tests hold back, and clients, polite and not.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <thread>

#include "samples/attention_service/service.h"
#include "samples/attention_service/wire.h"

namespace service_test {

using namespace attention_service;
using namespace std::chrono_literals;

/// Launches that wait until the gate is open; each call's result is its q.
class Gate {
 public:
  Runner runner() {
    return [this](std::span<const PendingPtr> batch) {
      std::unique_lock lock(mutex_);
      batches_.push_back(batch.size());
      changed_.notify_all();
      changed_.wait(lock, [this] { return open_; });
      std::vector<std::string> results;
      for (const PendingPtr& pending : batch) results.emplace_back(pending->call.q());
      return results;
    };
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Waits until so many launches began.
  void await_launches(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return batches_.size() >= count; });
  }
  std::vector<size_t> batches() {
    const std::lock_guard lock(mutex_);
    return batches_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  std::vector<size_t> batches_;
};

template <class Condition>
void until(Condition&& holds) {
  while (!holds()) std::this_thread::sleep_for(1ms);
}

/// Limits that no slow machine meets; a test shortens what it is about.
inline ServiceOptions patient() {
  ServiceOptions options;
  options.limits = {.idle = 1h, .header = 1h, .body = 1h, .write = 1h};
  options.deadline = 1h;
  return options;
}

inline httplib::Client patient_client(int port) {
  httplib::Client client("127.0.0.1", port);
  client.set_read_timeout(100);
  client.set_write_timeout(100);
  return client;
}

inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// A port that refuses connections while no service of the test listens: it is bound, so the system gives it nobody
/// else. SO_REUSEADDR lets a service bind it beside this.
class HeldPort {
 public:
  HeldPort() {
    const int on = 1;
    EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    number_ = ntohs(address.sin_port);
  }
  HeldPort(const HeldPort&) = delete;
  ~HeldPort() { close(socket_); }
  int number() const { return number_; }

 private:
  const int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int number_ = 0;
};

class Harness {
 public:
  explicit Harness(const ServiceOptions& options, Runner runner, int port = 0)
      : service_(options, std::move(runner), {}) {
    port_ = service_.bind("127.0.0.1", port);
    service_.listen();
    thread_ = std::thread([this] { service_.serve(stopping_); });
  }
  ~Harness() {
    begin_to_stop();
    await_end();
    close(stopping_);
  }
  void begin_to_stop() const {
    const uint64_t one = 1;
    EXPECT_EQ(write(stopping_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }
  void await_end() {
    if (thread_.joinable()) thread_.join();
  }
  const Service& service() const { return service_; }
  int port() const { return port_; }
  httplib::Client client() const { return patient_client(port_); }

 private:
  const int stopping_ = eventfd(0, EFD_CLOEXEC);
  Service service_;
  int port_ = 0;
  std::thread thread_;
};

/// A connection that sends what it likes.
class Socket {
 public:
  explicit Socket(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = loopback(port);
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  Socket(const Socket&) = delete;
  ~Socket() { close(socket_); }
  /// False: the other side does not take it any more.
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  void end_sending() const { shutdown(socket_, SHUT_WR); }
  /// All that comes until the other side closes.
  std::string read_all() const {
    std::string text;
    char part[4096];
    for (ssize_t got; (got = recv(socket_, part, sizeof part, 0)) > 0;) text.append(part, static_cast<size_t>(got));
    return text;
  }

 private:
  const int socket_;
};

/// A call of zeros.
inline Call call_of(const Shape& shape, std::vector<int32_t> lengths) {
  Call call;
  call.shape = shape;
  call.lengths = std::move(lengths);
  for (const int32_t length : call.lengths) call.tokens += length;
  call.data.assign(call.query_bytes() + 2 * call.key_bytes(), '\0');
  return call;
}
inline Shape small() { return {tlxjit::Elem::f32, 2, 1, 64, true, 0.125F}; }

inline httplib::Result post(httplib::Client& client, const std::string& body,
                            const std::string& type = wire::content_type) {
  return client.Post("/v1/attention", body, type);
}

/// The value of a line of /metrics; NaN: there is none.
inline double metric(const std::string& text, const std::string& name) {
  const size_t at = ("\n" + text).find("\n" + name + " ");
  return at == std::string::npos ? NAN : std::stod(text.substr(at + name.size() + 1));
}

}  // namespace service_test

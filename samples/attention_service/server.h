// samples/attention_service/server.h — accepts connections, so many at a time, and ends without cutting one off.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "call.h"
#include "connection.h"

namespace attention_service {

/// What a request's header says of its body.
struct Framing {
  uint64_t length = 0;
  std::optional<Refusal> refusal;  ///< nobody knows where the body ends, or can read it
};
Framing framing(const httplib::Request& request);

/// Routes, requests and answers are httplib's; listening, threads and sockets are not: its queue of connections has no
/// bound, and its stop() ends answers in the middle.
class Server : public httplib::Server {
 public:
  Server(const ConnectionLimits& limits, size_t connections) : limits_(limits), connections_(connections) {}
  ~Server() override;

  /// Takes the address, so that nobody else has it; clients are refused until listen(). Gives the port, which is a free
  /// one where `port` is 0; throws std::system_error.
  int bind(const std::string& host, int port);
  /// Clients may connect from now on; throws std::system_error.
  void listen();
  /// Serves until `stopping` becomes readable, and then until the requests under way are answered.
  void serve(int stopping);
  size_t open() const;
  /// Called for a connection that is one too many; gives the whole answer, header and all.
  std::function<std::string()> one_too_many;

 private:
  void accept_one();
  void talk(int socket);
  void join_ended();

  const ConnectionLimits limits_;
  const size_t connections_;
  std::string address_;
  int listener_ = -1, stopping_ = -1;
  mutable std::mutex mutex_;
  std::condition_variable one_ended_;
  std::list<std::thread> running_, ended_;
};

}  // namespace attention_service

// samples/attention_service/connection.h — a client's socket as httplib reads it, with limits that hold for a request
// as a whole: httplib's own hold for one read, so that a client which sends a byte now and then could stay for ever.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <httplib.h>

#include <array>
#include <chrono>
#include <cstdint>

namespace attention_service {

struct ConnectionLimits {
  std::chrono::milliseconds idle{5000};    ///< between requests
  std::chrono::milliseconds header{5000};  ///< from the first byte of a request to the end of its header
  std::chrono::milliseconds body{20000};   ///< the body, all of it
  std::chrono::milliseconds write{20000};  ///< the answer, all of it
  size_t header_bytes = 32 << 10;
};

class Connection : public httplib::Stream {
 public:
  using Clock = std::chrono::steady_clock;

  /// Owns the socket. `stopping` becomes readable when connections are to end.
  Connection(int socket, int stopping, const ConnectionLimits& limits);
  ~Connection() override;

  /// Waits for the first byte of a request. False: none came, or the service is stopping and none is there.
  bool await_request();
  /// The header was read; a body of so many bytes follows.
  void begin_body(uint64_t bytes);
  /// Bytes of the body that nobody read.
  uint64_t unread() const { return body_; }
  /// Reads for a moment what the client still sends, so that it sees the answer: a socket that is closed with bytes
  /// unread tears the connection down.
  void linger();

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  int socket() const override { return socket_; }

 private:
  /// Waits until `events` are possible; false: not before the deadline.
  bool await(short events, Clock::time_point until) const;
  bool fill(Clock::time_point until);

  const int socket_, stopping_;
  const ConnectionLimits& limits_;
  Clock::time_point read_deadline_, write_deadline_;
  bool in_header_ = true, writing_ = false;
  uint64_t header_ = 0;  ///< bytes of the header so far
  uint64_t body_ = 0;    ///< bytes of the body that are still to come
  std::array<char, 64 << 10> buffer_;
  size_t at_ = 0, end_ = 0;  ///< what of the buffer was received and not read
};

}  // namespace attention_service

// samples/attention_service/connection.cpp — reads and writes a socket until a deadline.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace attention_service {

namespace {

void tell(const sockaddr_storage& address, std::string& ip, int& port) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    port = ntohs(v4.sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    port = ntohs(v6.sin6_port);
  }
  ip = text;
}

}  // namespace

Connection::Connection(int socket, int stopping, const ConnectionLimits& limits)
    : socket_(socket), stopping_(stopping), limits_(limits) {
  fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Connection::~Connection() { close(socket_); }

bool Connection::await(short events, Clock::time_point until) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd one{socket_, events, 0};
    const int ready = poll(&one, 1, static_cast<int>(std::max<decltype(left)>(left, 0)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

bool Connection::await_request() {
  in_header_ = true;
  header_ = body_ = 0;
  const auto until = Clock::now() + limits_.idle;
  while (at_ == end_) {
    pollfd both[] = {{socket_, POLLIN, 0}, {stopping_, POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    const int ready = poll(both, 2, static_cast<int>(std::max<decltype(left)>(left, 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || !both[0].revents) return false;
    if (!fill(until)) return false;
  }
  read_deadline_ = Clock::now() + limits_.header;
  return true;
}

void Connection::begin_body(uint64_t bytes) {
  in_header_ = false;
  body_ = bytes;
  read_deadline_ = Clock::now() + limits_.body;
}

bool Connection::fill(Clock::time_point until) {
  for (;;) {
    const ssize_t got = recv(socket_, buffer_.data(), buffer_.size(), 0);
    if (got > 0) {
      at_ = 0;
      end_ = static_cast<size_t>(got);
      return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) return false;
    if (!await(POLLIN, until)) return false;
  }
}

ssize_t Connection::read(char* to, size_t size) {
  writing_ = false;  // what was written was `100 Continue`
  if (in_header_ && header_ >= limits_.header_bytes) return -1;
  // Also where bytes are at hand: a client that keeps them coming one by one gets no more time for it.
  if (Clock::now() >= read_deadline_ || (at_ == end_ && !fill(read_deadline_))) return -1;
  const size_t n = std::min(size, end_ - at_);
  std::copy_n(buffer_.data() + at_, n, to);
  at_ += n;
  if (in_header_)
    header_ += n;
  else
    body_ -= std::min<uint64_t>(n, body_);
  return static_cast<ssize_t>(n);
}

ssize_t Connection::write(const char* from, size_t size) {
  if (!writing_) write_deadline_ = Clock::now() + limits_.write;
  writing_ = true;
  size_t done = 0;
  while (done < size) {
    const ssize_t sent = send(socket_, from + done, size - done, MSG_NOSIGNAL);
    if (sent > 0)
      done += static_cast<size_t>(sent);
    else if (errno == EINTR)
      continue;
    else if ((errno != EAGAIN && errno != EWOULDBLOCK) || !await(POLLOUT, write_deadline_))
      return -1;
  }
  return static_cast<ssize_t>(done);
}

void Connection::linger() {
  shutdown(socket_, SHUT_WR);
  const auto until = Clock::now() + std::chrono::seconds(1);
  while (Clock::now() < until && fill(until)) {
  }
}

bool Connection::is_readable() const { return at_ < end_ || await(POLLIN, Clock::now()); }
bool Connection::is_writable() const { return await(POLLOUT, Clock::now()); }

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (!getpeername(socket_, reinterpret_cast<sockaddr*>(&address), &size)) tell(address, ip, port);
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (!getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size)) tell(address, ip, port);
}

}  // namespace attention_service

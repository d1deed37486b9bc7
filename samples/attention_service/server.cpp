// samples/attention_service/server.cpp — one thread a connection.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "server.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

namespace attention_service {

namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

void share_address(int socket) {
  const int on = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
}

bool readable(int file) {
  pollfd one{file, POLLIN, 0};
  return poll(&one, 1, 0) > 0;
}

}  // namespace

Framing framing(const httplib::Request& request) {
  Framing framing;
  if (request.has_header("Transfer-Encoding")) {
    framing.refusal = Refusal{411, "a body has a Content-Length here and no Transfer-Encoding"};
    return framing;
  }
  const size_t count = request.get_header_value_count("Content-Length");
  if (count == 0) {
    if (request.method == "POST") framing.refusal = Refusal{411, "a POST has a Content-Length"};
    return framing;
  }
  const std::string text = request.get_header_value("Content-Length");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), framing.length);
  if (count > 1 || error != std::errc() || end != text.data() + text.size())
    framing.refusal = Refusal{400, "the Content-Length is not one whole number"};
  else if (request.has_header("Content-Encoding"))
    framing.refusal = Refusal{415, "a body has no Content-Encoding here"};
  return framing;
}

Server::~Server() {
  if (listener_ >= 0) close(listener_);
}

int Server::bind(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found))
    fail(EINVAL, host + ": " + gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> address(found, freeaddrinfo);
  address_ = host + ":" + std::to_string(port);
  listener_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) fail(errno, "socket");
  // Those that share an address may all bind it until one listens. So it is shared only where connections that have
  // ended still have it.
  const auto taken = [&] { return ::bind(listener_, found->ai_addr, found->ai_addrlen) != 0; };
  if (taken()) {
    share_address(listener_);
    if (taken()) fail(errno, address_);
  }
  svr_sock_ = listener_;  // as long as httplib sees one, it writes answers to their end
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &size);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

void Server::listen() {
  share_address(listener_);  // its connections, too, once they have ended
  if (::listen(listener_, 128)) fail(errno, address_);
}

size_t Server::open() const {
  const std::lock_guard lock(mutex_);
  return running_.size();
}

void Server::serve(int stopping) {
  stopping_ = stopping;
  for (;;) {
    pollfd both[] = {{listener_, POLLIN, 0}, {stopping_, POLLIN, 0}};
    if (poll(both, 2, -1) < 0) continue;
    if (both[1].revents) break;
    join_ended();
    accept_one();
  }
  close(std::exchange(listener_, -1));
  std::unique_lock lock(mutex_);
  one_ended_.wait(lock, [this] { return running_.empty(); });
  lock.unlock();
  join_ended();
}

void Server::accept_one() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) {
    // No more files: until some are closed, the listener stays readable.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return;
  }
  try {
    const std::lock_guard lock(mutex_);
    if (running_.size() < connections_) {
      const auto self = running_.emplace(running_.end());
      try {
        *self = std::thread([this, client, self] {
          try {
            talk(client);
          } catch (const std::exception&) {  // no memory for an answer: the client sees its connection end
          }
          const std::lock_guard lock_to_end(mutex_);
          ended_.splice(ended_.end(), running_, self);
          one_ended_.notify_all();
        });
        return;
      } catch (...) {
        running_.erase(self);
        throw;
      }
    }
  } catch (const std::exception&) {  // no thread to be had: one too many
  }
  const std::string answer = one_too_many();
  send(client, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(client, SHUT_WR);
  char rest[4096];
  while (recv(client, rest, sizeof rest, MSG_DONTWAIT) > 0) {
  }
  close(client);
}

void Server::join_ended() {
  std::list<std::thread> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(ended_);
  }
  for (std::thread& thread : ended) thread.join();
}

void Server::talk(int socket) {
  Connection connection(socket, stopping_, limits_);
  while (connection.await_request()) {
    const bool last = readable(stopping_);
    bool understood = false, closes = false;
    const bool answered = process_request(connection, last, closes, [&](httplib::Request& request) {
      understood = true;
      const Framing frame = framing(request);
      connection.begin_body(frame.length);
      request.ranges.clear();  // answers are whole
      if (!frame.refusal) return;
      closes = true;
      request.headers.erase("Connection");
      request.set_header("Connection", "close");
    });
    if (!understood || connection.unread() || closes) connection.linger();
    if (!answered || !understood || closes || last || connection.unread()) return;
  }
}

}  // namespace attention_service

// tests/support/hold.h — where threads in a library wait until the test that loaded it lets them go.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

namespace tlxjit {

class Hold {
 public:
  Hold() = default;
  Hold(const Hold&) = delete;
  ~Hold() {
    let_go();
    while (inside_ > 0) pause();
  }

  /// Its address, for an environment variable: libraries have no other way to the test's objects.
  std::string text() const { return std::to_string(reinterpret_cast<uintptr_t>(this)); }
  static Hold& at(const char* text) { return *reinterpret_cast<Hold*>(std::strtoull(text, nullptr, 10)); }

  /// In the library.
  void wait() {
    ++inside_;
    while (!open_) pause();
    --inside_;
  }
  /// In the test: until so many threads wait.
  void await(int threads) const {
    while (inside_ < threads) pause();
  }
  void let_go() { open_ = true; }

 private:
  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
  std::atomic<int> inside_ = 0;
  std::atomic<bool> open_ = false;
};

}  // namespace tlxjit

// src/runtime/single_flight_p.h — what several threads ask for at once is made once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// One thread makes the value of a key, those that ask for it meanwhile wait and share the result, error or not.
/// Nothing is kept after that. A thread that asks for a key while it makes the value of that key waits for ever.
template <class Key, class T>
class SingleFlight {
 public:
  /// What `there` gives, an optional T asked under `mutex`, else what `make` gives, a Result<T>, called without it;
  /// what that throws is an Error of `stage`.
  template <class There, class Make>
  Result<T> run(std::mutex& mutex, const Key& key, Stage stage, There&& there, Make&& make) {
    std::unique_lock lock(mutex);
    if (std::optional<T> found = there()) return *std::move(found);
    const auto same = std::find_if(flights_.begin(), flights_.end(), [&](const Flight& f) { return f.key == key; });
    if (same != flights_.end()) {
      const auto landing = same->landing;
      landed_.wait(lock, [&] { return landing->has_value(); });
      return **landing;
    }
    const auto landing = std::make_shared<Landing>();
    const auto flight = flights_.insert(flights_.end(), {key, landing});
    lock.unlock();
    Result<T> result = guarded(stage, make);
    // From here on nothing asks for memory before the others are told.
    lock.lock();
    landing->emplace(std::move(result));
    flights_.erase(flight);
    lock.unlock();
    landed_.notify_all();
    return **landing;
  }

 private:
  using Landing = std::optional<Result<T>>;
  struct Flight {
    Key key;
    std::shared_ptr<Landing> landing;
  };
  std::list<Flight> flights_;  // few: one a thread
  std::condition_variable landed_;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END

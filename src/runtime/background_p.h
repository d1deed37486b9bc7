// src/runtime/background_p.h — work that nobody waits for, on few threads of the engine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "src/runtime/per_process_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// A bounded queue of work, and an unbounded one of what is to be destroyed, which goes first. Its threads start with
/// the first work, get no signals of the host, and are joined when it ends; what they have not begun by then is
/// dropped. Thread safe. A forked child begins with none.
class Background {
 public:
  Background(int threads, size_t most) : threads_(threads), most_(most) {}
  ~Background();

  /// Queues work, which throws nothing. false: there is no room, or no thread; nothing was kept of it.
  bool add(std::function<void()> work) { return queue(std::move(work), true); }
  /// Destroys what takes its time on one of the threads, or here if there is none.
  template <class T>
  void destroy(std::vector<T> last) {
    if (!last.empty()) static_cast<void>(queue([kept = std::make_shared<std::vector<T>>(std::move(last))] {}, false));
  }

 private:
  struct Shared;
  bool queue(std::function<void()> work, bool bounded);
  struct OfProcess {
    OfProcess();
    std::shared_ptr<Shared> shared;
  };
  const int threads_;
  const size_t most_;
  PerProcess<OfProcess> process_;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END

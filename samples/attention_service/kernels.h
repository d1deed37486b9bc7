// samples/attention_service/kernels.h — the kernels of the service: which there are, and when they are compiled.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>

#include "call.h"
#include "tlxjit/tlxjit.h"

namespace attention_service {

/// When a kernel that is needed for the first time is compiled.
enum class Tier {
  wait,        ///< by the launch that needs it: everybody waits
  background,  ///< beside other launches: those who need it wait
};

/// One kernel for each element type, head size, group of heads and mask; lengths and the number of heads are free.
class Kernels {
 public:
  /// `made` is told, from any thread and with no lock held, when a kernel is there or could not be made.
  Kernels(const tlxjit::Engine& engine, tlxjit::Device device, Tier tier, std::function<void()> made);
  /// Waits for a compile that is under way; those behind it are not begun.
  ~Kernels();

  /// Whether executable() would not compile. Tier::background: it is made when it is not there.
  bool ready(const Shape& shape);
  /// The kernel for a shape, compiled here when it is not there. A failure is not kept.
  tlxjit::Result<tlxjit::Executable> executable(const Shape& shape);

  /// Whether the device has code for such tensors at all.
  static std::set<tlxjit::Elem> elems(const tlxjit::Device& device);

 private:
  using Key = std::tuple<tlxjit::Elem, int, int, bool>;
  static Key key(const Shape& shape);
  tlxjit::Result<tlxjit::Executable> compile(const Shape& shape) const;
  void compile_in_background();

  const tlxjit::Engine& engine_;
  const tlxjit::Device device_;
  const Tier tier_;
  const std::function<void()> made_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, std::optional<tlxjit::Result<tlxjit::Executable>>> kernels_;  ///< nullopt: it is being made
  std::deque<Shape> wanted_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace attention_service

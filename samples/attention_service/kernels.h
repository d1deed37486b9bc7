// samples/attention_service/kernels.h — the kernels of the service: which there are, and when they are compiled.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>

#include "call.h"
#include "tlxjit/tlxjit.h"

namespace attention_service {

/// A function for each element type, head size, group of heads and mask that is served. Its versions are made for a
/// number of heads, a constant; lengths and the sizes of batches are free.
class Kernels {
 public:
  /// `stop` cancels what they compile.
  Kernels(const tlxjit::Engine& engine, const tlxjit::Device& device, const Served& served, tlxjit::Tier tier,
          const std::stop_token& stop = {});

  /// Compiles the generic version of every function, so that the first call of a number of heads waits for nothing but
  /// its own launch. `progress` is told how many are there, and how many there will be.
  tlxjit::Result<void> prepare(const std::function<void(size_t done, size_t total)>& progress) const;
  /// Compiles and loads the keys of a manifest of such functions; how many there were. An Error of the first that
  /// cannot be had.
  tlxjit::Result<size_t> warm(std::string_view manifest) const;
  /// The keys of all versions that are loaded.
  std::string manifest() const;
  /// Writes each function's kernel as text, NAME.tlx, for `tlxjit warm --kernel`; throws std::runtime_error.
  void write(const std::string& folder) const;
  /// Queues a launch with the version that is there for the shape; Tier::wait makes the one of its own before.
  tlxjit::Result<void> launch(const Shape& shape, std::span<const tlxjit::Argument> arguments) const;
  /// Of all functions together.
  tlxjit::JitCounters counters() const;

  /// What the device has code for.
  static std::set<tlxjit::Elem> elems(const tlxjit::Device& device);

 private:
  using Key = std::tuple<tlxjit::Elem, int, int, bool>;  ///< element type, head size, group, causal
  struct Function {
    tlxjit::AttentionOptions options;
    tlxjit::JitFunction jit;
  };
  std::string target_;
  std::map<Key, Function> functions_;  ///< as it is from the start
};

}  // namespace attention_service

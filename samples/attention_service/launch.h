// samples/attention_service/launch.h — a batch of calls as one jagged launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>

#include "kernels.h"
#include "queue.h"

namespace attention_service {

/// The memory of launches, kept from one to the next. It grows to what the largest batch needs.
class Launcher {
 public:
  explicit Launcher(tlxjit::Device device) : device_(std::move(device)) {}

  /// Runs calls of one shape, and gives each call's rows of the result, in the order of the calls.
  tlxjit::Result<std::vector<std::string>> run(const Kernels& kernels, std::span<const PendingPtr> batch);

 private:
  tlxjit::Result<void> reserve(tlxjit::Buffer& buffer, size_t bytes);
  tlxjit::Result<void> upload(std::span<const PendingPtr> batch);

  const tlxjit::Device device_;
  tlxjit::Buffer q_, k_, v_, out_, offsets_;
  std::vector<int32_t> starts_;  ///< of the sequences, and the end of the last
};

}  // namespace attention_service

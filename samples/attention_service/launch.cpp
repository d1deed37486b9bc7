// samples/attention_service/launch.cpp — copies a batch to the device, launches, copies its result back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.h"

#include <bit>

namespace attention_service {

using tlxjit::Argument, tlxjit::Buffer, tlxjit::Result, tlxjit::tensor;

Result<void> Launcher::reserve(Buffer& buffer, size_t bytes) {
  if (buffer.size() >= bytes && buffer.size() > 0) return {};
  buffer = Buffer();  // before the next one is there
  auto larger = device_.allocate(std::bit_ceil(std::max<size_t>(bytes, 4096)));
  if (!larger) return larger.error();
  buffer = std::move(*larger);
  return {};
}

Result<void> Launcher::upload(std::span<const PendingPtr> batch) {
  size_t queries = 0, keys = 0;
  starts_.assign(1, 0);
  for (const PendingPtr& pending : batch) {
    queries += pending->call.query_bytes();
    keys += pending->call.key_bytes();
    for (const int32_t length : pending->call.lengths) starts_.push_back(starts_.back() + length);
  }
  TLXJIT_TRY(reserve(q_, queries));
  TLXJIT_TRY(reserve(k_, keys));
  TLXJIT_TRY(reserve(v_, keys));
  TLXJIT_TRY(reserve(out_, queries));
  TLXJIT_TRY(reserve(offsets_, starts_.size() * sizeof(int32_t)));
  size_t query = 0, key = 0;
  for (const PendingPtr& pending : batch) {
    const Call& call = pending->call;
    TLXJIT_TRY(q_.upload(call.q().data(), call.query_bytes(), query));
    TLXJIT_TRY(k_.upload(call.k().data(), call.key_bytes(), key));
    TLXJIT_TRY(v_.upload(call.v().data(), call.key_bytes(), key));
    query += call.query_bytes();
    key += call.key_bytes();
  }
  return offsets_.upload(starts_);
}

Result<std::vector<std::string>> Launcher::run(const Kernels& kernels, std::span<const PendingPtr> batch) {
  TLXJIT_TRY(upload(batch));
  const Shape& shape = batch.front()->call.shape;
  const auto tokens = int64_t{starts_.back()}, sequences = static_cast<int64_t>(starts_.size()) - 1;
  const auto rows = [&](const Buffer& buffer, int heads) {
    return tensor(shape.elem, buffer.data(), {tokens, heads, shape.head_size});
  };
  const Argument arguments[] = {rows(q_, shape.heads),
                                rows(k_, shape.key_heads),
                                rows(v_, shape.key_heads),
                                rows(out_, shape.heads),
                                offsets_.tensor<int32_t>({sequences + 1}),
                                shape.scale};
  TLXJIT_TRY(kernels.launch(shape, arguments));
  TLXJIT_TRY(device_.synchronize());
  std::vector<std::string> results;
  size_t at = 0;
  for (const PendingPtr& pending : batch) {
    std::string& result = results.emplace_back(pending->call.query_bytes(), '\0');
    TLXJIT_TRY(out_.download(result.data(), result.size(), at));
    at += result.size();
  }
  return results;
}

}  // namespace attention_service

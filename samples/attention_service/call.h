// samples/attention_service/call.h — what a client asks for, and what it is refused with.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tlxjit/ir/type.h"

namespace attention_service {

/// Thrown where a request cannot be served: the answer's status, and the reason that the client is told.
struct Refusal {
  int status = 400;
  std::string reason;
};

/// What calls must have in common to be of one launch.
struct Shape {
  tlxjit::Elem elem = tlxjit::Elem::f32;
  int heads = 1, key_heads = 1, head_size = 64;
  bool causal = false;
  float scale = 1;

  bool operator==(const Shape&) const = default;
  /// Bytes of a row of q and of out, and of a row of k or v.
  int64_t query_row() const { return int64_t{heads} * head_size * tlxjit::bytes(elem); }
  int64_t key_row() const { return int64_t{key_heads} * head_size * tlxjit::bytes(elem); }
};

/// Sequences one after the other, and their tensors: q [tokens, heads, size], k and v [tokens, key_heads, size].
struct Call {
  Shape shape;
  std::vector<int32_t> lengths;
  int64_t tokens = 0;
  std::chrono::milliseconds deadline{0};  ///< 0: the service's own
  std::string data;                       ///< the tensors, from `start` on
  size_t start = 0;

  std::string_view q() const { return part(0, query_bytes()); }
  std::string_view k() const { return part(query_bytes(), key_bytes()); }
  std::string_view v() const { return part(query_bytes() + key_bytes(), key_bytes()); }
  size_t query_bytes() const { return static_cast<size_t>(tokens * shape.query_row()); }
  size_t key_bytes() const { return static_cast<size_t>(tokens * shape.key_row()); }

 private:
  std::string_view part(size_t from, size_t bytes) const { return std::string_view(data).substr(start + from, bytes); }
};

/// What the service takes. Calls within `limits` fit into one launch.
struct Served {
  std::set<int> head_sizes = {64, 128};
  std::set<tlxjit::Elem> elems = {tlxjit::Elem::f32, tlxjit::Elem::bf16, tlxjit::Elem::f16};
  std::set<int> groups = {1, 2, 4, 8};  ///< heads per key head; each is a kernel of its own, and so is each size
  int heads = 128;                      ///< at most
  int sequences = 1024;                 ///< of a call, at most
  int64_t tokens = 32768;               ///< of a call, at most
  std::chrono::milliseconds longest_deadline{60000};
};

/// Refuses what is not served (422) or makes no sense (400), and sets `tokens`. Tensors are not looked at.
void check(Call& call, const Served& served);

}  // namespace attention_service

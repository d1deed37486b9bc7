// samples/attention_service/wire.cpp — reads and writes the binary form.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "wire.h"

#include <cmath>
#include <cstring>

namespace attention_service::wire {

namespace {

using tlxjit::Elem;

Elem elem_of(uint16_t dtype) {
  switch (dtype) {
    case f32: return Elem::f32;
    case bf16: return Elem::bf16;
    case f16: return Elem::f16;
    default: throw Refusal{400, "dtype " + std::to_string(dtype) + " is none of 1 (f32), 2 (bf16), 3 (f16)"};
  }
}

template <class T>
void append(std::string& to, const T* from, size_t count) {
  if (count) to.append(reinterpret_cast<const char*>(from), count * sizeof(T));
}

}  // namespace

uint16_t dtype_of(Elem elem) { return elem == Elem::f32 ? f32 : elem == Elem::bf16 ? bf16 : f16; }

Call parse_call(std::string body, const Served& served) {
  CallHeader header;
  if (body.size() < sizeof header)
    throw Refusal{400, "the body has " + std::to_string(body.size()) + " bytes; a header alone has " +
                           std::to_string(sizeof header)};
  std::memcpy(&header, body.data(), sizeof header);
  if (header.magic != call_magic) throw Refusal{400, "the body does not begin with `TLAC`"};
  if (header.version != version)
    throw Refusal{400,
                  "version " + std::to_string(header.version) + " is not the one served, " + std::to_string(version)};
  if (header.flags & ~causal || header.reserved) throw Refusal{400, "unknown flags, or a reserved field that is not 0"};

  Call call;
  call.shape = {elem_of(header.dtype),        header.heads, header.key_heads, header.head_size,
                (header.flags & causal) != 0, header.scale};
  if (header.scale == 0 && header.head_size) call.shape.scale = 1 / std::sqrt(static_cast<float>(header.head_size));
  call.deadline = std::chrono::milliseconds(header.deadline_ms);
  if (header.sequences > (body.size() - sizeof header) / sizeof(int32_t))
    throw Refusal{400, "the body ends before its " + std::to_string(header.sequences) + " lengths do"};
  call.lengths.resize(header.sequences);
  if (header.sequences)
    std::memcpy(call.lengths.data(), body.data() + sizeof header, header.sequences * sizeof(int32_t));
  check(call, served);

  call.start = sizeof header + call.lengths.size() * sizeof(int32_t);
  const size_t expected = call.start + call.query_bytes() + 2 * call.key_bytes();
  if (body.size() != expected)
    throw Refusal{400, "the body has " + std::to_string(body.size()) + " bytes; one of " + std::to_string(call.tokens) +
                           " tokens has " + std::to_string(expected)};
  call.data = std::move(body);
  return call;
}

std::string write_call(const Call& call) {
  CallHeader header;
  header.dtype = dtype_of(call.shape.elem);
  header.heads = static_cast<uint16_t>(call.shape.heads);
  header.key_heads = static_cast<uint16_t>(call.shape.key_heads);
  header.head_size = static_cast<uint16_t>(call.shape.head_size);
  header.flags = call.shape.causal ? causal : 0;
  header.sequences = static_cast<uint32_t>(call.lengths.size());
  header.deadline_ms = static_cast<uint32_t>(call.deadline.count());
  header.scale = call.shape.scale;
  std::string body;
  append(body, &header, 1);
  append(body, call.lengths.data(), call.lengths.size());
  for (const std::string_view tensor : {call.q(), call.k(), call.v()}) body += tensor;
  return body;
}

std::string write_answer(const AnswerHeader& header, std::string_view out) {
  std::string body;
  body.reserve(sizeof header + out.size());
  append(body, &header, 1);
  body += out;
  return body;
}

}  // namespace attention_service::wire

// samples/attention_service/wire.h — the binary form of calls and answers, for programs.
//
// Numbers are little endian. A call is a CallHeader, `sequences` lengths (i32), then q, k and v, packed, with nothing
// between or behind them. An answer is an AnswerHeader and `out`, packed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>

#include "call.h"

namespace attention_service::wire {

static_assert(std::endian::native == std::endian::little, "headers are copied as they stand in memory");

inline constexpr const char* content_type = "application/x-tlxjit-attention";
inline constexpr uint32_t call_magic = 0x43414c54, answer_magic = 0x41414c54;  ///< `TLAC`, `TLAA`
inline constexpr uint16_t version = 1;
enum Dtype : uint16_t { f32 = 1, bf16 = 2, f16 = 3 };
enum Flags : uint16_t { causal = 1 };

struct CallHeader {
  uint32_t magic = call_magic;
  uint16_t version = wire::version;
  uint16_t dtype = f32;
  uint16_t heads = 1, key_heads = 1, head_size = 64;
  uint16_t flags = 0;
  uint32_t sequences = 0;
  uint32_t deadline_ms = 0;  ///< 0: the service's own
  float scale = 0;           ///< 0: 1 / √head_size
  uint32_t reserved = 0;     ///< 0
};
static_assert(sizeof(CallHeader) == 32);

struct AnswerHeader {
  uint32_t magic = answer_magic;
  uint16_t version = wire::version;
  uint16_t dtype = f32;
  uint16_t heads = 1, head_size = 64;
  uint32_t tokens = 0;
  uint32_t batch = 0;      ///< calls of the launch
  uint32_t waited_us = 0;  ///< microseconds in the queue
  uint32_t ran_us = 0;     ///< microseconds of the launch, copies included
  uint32_t reserved = 0;
};
static_assert(sizeof(AnswerHeader) == 32);

uint16_t dtype_of(tlxjit::Elem elem);

/// Takes a call apart; throws Refusal. `data` of the call is the body itself.
Call parse_call(std::string body, const Served& served);
/// What a client sends: shape, lengths and deadline as in `call`, and its tensors.
std::string write_call(const Call& call);
std::string write_answer(const AnswerHeader& header, std::string_view out);

}  // namespace attention_service::wire

// samples/attention_service/json.h — calls and answers as JSON, for people.
//
//     {"dtype": "f32", "heads": 1, "key_heads": 1, "head_size": 64, "causal": true, "lengths": [2],
//      "q": [[[…64 numbers]], [[…]]], "k": [[[…]], [[…]]], "v": [[[…]], [[…]]]}
//
// Needed are head_size, lengths, q, k and v; also taken: scale, deadline_ms.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "call.h"

namespace attention_service::json {

inline constexpr const char* content_type = "application/json";

/// Bytes that a call takes at most, from the parse of its body to its answer: lists in lists take 38 times their text
/// while they are parsed, and no text takes more.
inline size_t most_held(size_t body) { return 40 * body; }

/// Throws Refusal. `data` of the call holds the tensors as the kernel reads them.
Call parse_call(const std::string& body, const Served& served);

/// What is told of the launch beside its result.
struct Launch {
  uint32_t batch = 0;
  double waited_ms = 0, ran_ms = 0;
};
/// `out` as nested lists; numbers that are not finite are null.
std::string write_answer(const Shape& shape, std::string_view out, const Launch& launch);
/// `{"error": reason}`
std::string write_error(const std::string& reason);

}  // namespace attention_service::json

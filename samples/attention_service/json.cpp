// samples/attention_service/json.cpp — reads and writes JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "json.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "tlxjit/core/numeric.h"

namespace attention_service::json {

namespace {

using nlohmann::json;
using tlxjit::Elem;

const json& needed(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) throw Refusal{400, std::string("`") + name + "` is missing"};
  return *found;
}

/// A whole number that an int holds; 1.0 is none.
int whole(const json& value, const std::string& name, int64_t least) {
  const bool fits = value.is_number_unsigned() ? value.get<uint64_t>() <= INT32_MAX
                                               : value.is_number_integer() && value.get<int64_t>() >= INT32_MIN;
  if (!fits || value.get<int64_t>() < least)
    throw Refusal{400, "`" + name + "` is a whole number from " + std::to_string(least) + " to 2147483647"};
  return static_cast<int>(value.get<int64_t>());
}

int whole_or(const json& object, const char* name, int64_t least, int otherwise) {
  const auto found = object.find(name);
  return found == object.end() ? otherwise : whole(*found, name, least);
}

template <class T>
void append(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append(std::string& to, float value, Elem elem) {
  if (elem == Elem::f32) return append(to, value);
  if (elem == Elem::bf16) return append(to, tlxjit::bf16(value));
  append(to, tlxjit::f16(value));
}

/// Lists in lists, of the extents given, outermost first.
void read(const json& value, std::span<const int64_t> extents, const char* name, Elem elem, std::string& to) {
  if (extents.empty()) {
    if (!value.is_number()) throw Refusal{400, std::string("`") + name + "` holds something that is no number"};
    const double number = value;
    if (std::abs(number) > std::numeric_limits<float>::max())
      throw Refusal{400, std::string("`") + name + "` holds a number that f32 does not"};
    return append(to, static_cast<float>(number), elem);
  }
  if (!value.is_array() || static_cast<int64_t>(value.size()) != extents[0])
    throw Refusal{400, std::string("`") + name +
                           "` is a list of tokens, each a list of heads, each a list of elements; "
                           "one that has " +
                           std::to_string(extents[0]) + " entries is missing or of another length"};
  for (const json& entry : value) read(entry, extents.subspan(1), name, elem, to);
}

Elem elem_of(const json& object) {
  const auto found = object.find("dtype");
  if (found == object.end()) return Elem::f32;
  for (const Elem elem : {Elem::f32, Elem::bf16, Elem::f16})
    if (*found == tlxjit::to_string(elem)) return elem;
  throw Refusal{400, "`dtype` is one of \"f32\", \"bf16\", \"f16\""};
}

Call parse(const json& object, const Served& served) {
  if (!object.is_object()) throw Refusal{400, "the body is no JSON object"};
  static const std::set<std::string> known = {"dtype", "heads", "key_heads",   "head_size", "causal", "lengths",
                                              "scale", "q",     "deadline_ms", "k",         "v"};
  for (const auto& [name, value] : object.items())
    if (!known.contains(name)) throw Refusal{400, "`" + name + "` is none of the fields of a call"};
  Call call;
  Shape& shape = call.shape;
  shape.elem = elem_of(object);
  shape.heads = whole_or(object, "heads", 1, 1);
  shape.key_heads = whole_or(object, "key_heads", 1, shape.heads);
  shape.head_size = whole(needed(object, "head_size"), "head_size", 1);
  if (const auto found = object.find("causal"); found != object.end()) {
    if (!found->is_boolean()) throw Refusal{400, "`causal` is true or false"};
    shape.causal = *found;
  }
  shape.scale = 1 / std::sqrt(static_cast<float>(shape.head_size));
  if (const auto found = object.find("scale"); found != object.end()) {
    if (!found->is_number()) throw Refusal{400, "`scale` is a number"};
    shape.scale = *found;
  }
  call.deadline = std::chrono::milliseconds(whole_or(object, "deadline_ms", 1, 0));
  const json& lengths = needed(object, "lengths");
  if (!lengths.is_array()) throw Refusal{400, "`lengths` is a list of whole numbers"};
  for (const json& length : lengths) call.lengths.push_back(whole(length, "lengths", 0));
  check(call, served);
  call.data.reserve(call.query_bytes() + 2 * call.key_bytes());
  for (const char* name : {"q", "k", "v"}) {
    const int64_t extents[] = {call.tokens, name[0] == 'q' ? shape.heads : shape.key_heads, shape.head_size};
    read(needed(object, name), extents, name, shape.elem, call.data);
  }
  return call;
}

float element(std::string_view data, size_t index, Elem elem) {
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, data.data() + index * sizeof value, sizeof value);
    return static_cast<float>(value);
  };
  return elem == Elem::f32 ? as(float()) : elem == Elem::bf16 ? as(tlxjit::bf16()) : as(tlxjit::f16());
}

}  // namespace

Call parse_call(const std::string& body, const Served& served) {
  try {
    return parse(json::parse(body), served);
  } catch (const json::exception& fault) {
    throw Refusal{400, std::string("no JSON: ") + fault.what()};
  }
}

std::string write_answer(const Shape& shape, std::string_view out, const Launch& launch) {
  const size_t rows = out.size() / static_cast<size_t>(shape.query_row());
  json tokens = json::array();
  size_t at = 0;
  for (size_t row = 0; row < rows; ++row) {
    json heads = json::array();
    for (int head = 0; head < shape.heads; ++head) {
      json elements = json::array();
      for (int i = 0; i < shape.head_size; ++i) elements.push_back(element(out, at++, shape.elem));
      heads.push_back(std::move(elements));
    }
    tokens.push_back(std::move(heads));
  }
  return json{{"out", std::move(tokens)},
              {"batch", launch.batch},
              {"waited_ms", launch.waited_ms},
              {"ran_ms", launch.ran_ms}}
             .dump() +
         "\n";
}

std::string write_error(const std::string& reason) {
  // Reasons quote what clients sent, which need not be UTF-8.
  return json{{"error", reason}}.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace attention_service::json

// src/runtime/elements_text.cpp — scalars and tiles in memory as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/elements_text_p.h"

#include <charconv>
#include <cstring>

#include "tlxjit/core/numeric.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

template <class T>
T at(const void* elements, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(elements) + i * static_cast<int64_t>(sizeof(T)), sizeof value);
  return value;
}

/// The shortest text that reads back as the same number.
template <class T>
std::string number(T value) {
  char text[40];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::string element(Elem elem, const void* elements, int64_t i) {
  switch (elem) {
    case Elem::b1: return at<uint8_t>(elements, i) ? "true" : "false";
    case Elem::i8: return number(int{at<int8_t>(elements, i)});
    case Elem::i16: return number(at<int16_t>(elements, i));
    case Elem::i32: return number(at<int32_t>(elements, i));
    case Elem::i64: return number(at<int64_t>(elements, i));
    case Elem::u8: return number(unsigned{at<uint8_t>(elements, i)});
    case Elem::u16: return number(at<uint16_t>(elements, i));
    case Elem::u32: return number(at<uint32_t>(elements, i));
    case Elem::u64: return number(at<uint64_t>(elements, i));
    case Elem::f16: return number(static_cast<float>(at<f16>(elements, i)));
    case Elem::bf16: return number(static_cast<float>(at<bf16>(elements, i)));
    case Elem::f32: return number(at<float>(elements, i));
    case Elem::f64: return number(at<double>(elements, i));
    default: return "?";
  }
}

void axis(const Type& type, const void* elements, int k, int64_t& next, std::string& text) {
  constexpr int64_t most = 1024;
  if (k == type.shape.rank) {
    text += element(type.elem, elements, next++);
    return;
  }
  text += '[';
  for (int64_t i = 0; i < type.shape[k]; ++i) {
    if (i) text += ", ";
    if (next >= most) {
      text += "…";
      break;
    }
    axis(type, elements, k + 1, next, text);
  }
  text += ']';
}

}  // namespace

std::string elements_text(const Type& type, const void* elements) {
  std::string text;
  int64_t next = 0;
  axis(type, elements, 0, next, text);
  return text;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END

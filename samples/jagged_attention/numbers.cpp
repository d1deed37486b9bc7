// samples/jagged_attention/numbers.cpp — conversions of lists.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "numbers.h"

#include <cstring>

#include "tlxjit/core/numeric.h"

namespace {

template <class T>
std::vector<char> encode_as(std::vector<float>& numbers) {
  std::vector<T> out;
  out.reserve(numbers.size());
  for (float& x : numbers) {
    out.push_back(T(x));
    x = static_cast<float>(out.back());
  }
  std::vector<char> bytes(out.size() * sizeof(T));
  if (!out.empty()) std::memcpy(bytes.data(), out.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<float> decode_as(const std::vector<char>& bytes) {
  std::vector<T> in(bytes.size() / sizeof(T));
  if (!in.empty()) std::memcpy(in.data(), bytes.data(), bytes.size());
  return {in.begin(), in.end()};
}

}  // namespace

std::vector<char> encode(std::vector<float>& numbers, tlxjit::Elem elem) {
  if (elem == tlxjit::Elem::f32) return encode_as<float>(numbers);
  return elem == tlxjit::Elem::f16 ? encode_as<tlxjit::f16>(numbers) : encode_as<tlxjit::bf16>(numbers);
}

std::vector<float> decode(const std::vector<char>& bytes, tlxjit::Elem elem) {
  if (elem == tlxjit::Elem::f32) return decode_as<float>(bytes);
  return elem == tlxjit::Elem::f16 ? decode_as<tlxjit::f16>(bytes) : decode_as<tlxjit::bf16>(bytes);
}

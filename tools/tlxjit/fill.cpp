// tools/tlxjit/fill.cpp — the elements of a tensor: made, or converted from a file's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>

#include "tools/tlxjit/call.h"
#include "tools/tlxjit/element.h"

namespace tlxjit::cli {

namespace {

/// Bits that look random, the same for a seed and place on every machine (splitmix64).
uint64_t random_bits(uint64_t seed, uint64_t place) {
  uint64_t z = seed + (place + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Floats in [−1, 1), integers −8 to 7 or 0 to 15, truth values.
Number random_number(Elem elem, uint64_t bits) {
  if (is_float(elem)) return static_cast<double>(bits >> 40) * 0x1p-23 - 1;
  if (elem == Elem::b1) return static_cast<int64_t>(bits >> 63);
  const auto small = static_cast<int64_t>(bits >> 60);
  return is_signed_int(elem) ? small - 8 : small;
}

/// The place of an element as an element: what is too large for an integer type begins anew at 0.
Number place_number(Elem elem, uint64_t place) {
  if (is_float(elem)) return static_cast<double>(place);
  if (elem == Elem::b1) return static_cast<int64_t>(place & 1);
  const int bits = tlxjit::bits(elem) - is_signed_int(elem);
  return place & ((uint64_t{1} << bits) - 1);
}

}  // namespace

Result<std::vector<char>> elements_of(const TensorInput& tensor, uint64_t seed) {
  std::vector<char> out(tensor.bytes);
  const auto width = static_cast<size_t>(tlxjit::bytes(tensor.elem));
  const size_t count = out.size() / width;
  const auto npy = tensor.npy ? *tensor.npy : Npy();
  // Bytes of the kernel's own type, or of one that NumPy does not know.
  const bool as_it_is =
      tensor.npy ? npy.elem == tensor.elem || (npy.elem == Elem::none && static_cast<size_t>(npy.width) == width)
                 : tensor.from_file();
  if (as_it_is) {
    std::copy_n(tensor.file.data() + npy.data, out.size(), out.data());
    return out;
  }
  if (tensor.source == "zeros") return out;
  if (!has_numbers(tensor.elem) || (tensor.npy && npy.elem == Elem::none))
    return bad_argument(fmt::format("`{}` is of {}, which is made of zeros or of a file of its bytes", tensor.name,
                                    to_string(tensor.elem)));
  const std::optional<Number> constant =
      tensor.source == "ones" ? std::optional<Number>(int64_t{1}) : parse_number(tensor.source);
  for (size_t i = 0; i < count; ++i) {
    const Number number = tensor.npy ? get(npy.elem, tensor.file.data() + npy.data + i * static_cast<size_t>(npy.width))
                          : constant ? *constant
                          : tensor.source == "random" ? random_number(tensor.elem, random_bits(seed, i))
                                                      : place_number(tensor.elem, i);
    if (!put(tensor.elem, number, out.data() + i * width))
      return bad_argument(
          fmt::format("element {} of `{}`, {}, is no {}", i, tensor.name, real_of(number), to_string(tensor.elem)));
  }
  return out;
}

}  // namespace tlxjit::cli

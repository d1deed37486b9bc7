// include/tlxjit/runtime/argument.h — the arguments of a launch: tensors and scalars.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "tlxjit/builder/tile.h"

TLXJIT_NAMESPACE_BEGIN

/// A tensor in the memory of the device that the kernel runs on. Passed by value; nothing is owned.
struct TensorArg {
  static constexpr int max_rank = Shape::max_rank;

  void* data = nullptr;  ///< may be null when an extent is 0
  Elem elem = Elem::none;
  int rank = 0;                             ///< beyond max_rank: not kept, refused by launch
  std::array<int64_t, max_rank> dims{};     ///< outermost first
  std::array<int64_t, max_rank> strides{};  ///< in elements; the innermost must be 1
  int64_t capacity = -1;                    ///< bytes that may be touched from `data` on; -1: not known
  std::array<char, 16> device{};            ///< name of the one whose memory it is, then zeros; all zeros: not known

  /// The same elements with other strides, in elements, outermost first.
  TensorArg with_strides(std::initializer_list<int64_t> other) const {
    TensorArg t = *this;
    if (static_cast<int>(other.size()) != rank) t.rank = -1;
    int axis = 0;
    for (int64_t s : other)
      if (axis < max_rank) t.strides[static_cast<size_t>(axis++)] = s;
    return t;
  }
};

/// A tensor of `dims`, outermost first, rows packed without gaps.
inline TensorArg tensor(Elem elem, const void* data, std::initializer_list<int64_t> dims) {
  TensorArg t;
  t.data = const_cast<void*>(data);
  t.elem = elem;
  t.rank = static_cast<int>(dims.size());
  size_t axis = 0;
  for (int64_t d : dims)
    if (axis < t.dims.size()) t.dims[axis++] = d;
  int64_t stride = 1;
  while (axis-- > 0) {
    t.strides[axis] = stride;
    // Unsigned, so that absurd extents wrap here and are refused by launch.
    stride = static_cast<int64_t>(static_cast<uint64_t>(stride) * static_cast<uint64_t>(t.dims[axis]));
  }
  return t;
}

/// `tensor<bf16>(pointer, {m, k})`.
template <Element T>
TensorArg tensor(const void* data, std::initializer_list<int64_t> dims) {
  return tensor(elem_of<T>, data, dims);
}

/// One argument of a launch. By position: tensors in the order of their declaration, then scalars in the order
/// of theirs. By name: `arg("scale", 0.125f)`; those stand after the positional ones.
///
/// Scalars are typed: a kernel's f32 takes a float, its i32 an int32_t.
struct Argument {
  TensorArg tensor;
  Elem scalar = Elem::none;  ///< none: a tensor
  uint64_t bits = 0;         ///< a scalar's bit pattern in the low bytes
  std::string_view name;     ///< empty: by position

  Argument(const TensorArg& t) : tensor(t) {}
  template <class T>
    requires(elem_of<T> != Elem::none)
  Argument(T value) : scalar(elem_of<T>) {
    if constexpr (requires { value.bits; })
      bits = value.bits;
    else if constexpr (std::is_same_v<T, float>)
      bits = std::bit_cast<uint32_t>(value);
    else if constexpr (std::is_same_v<T, double>)
      bits = std::bit_cast<uint64_t>(value);
    else
      bits = static_cast<uint64_t>(value);
  }
};

/// An argument by name.
inline Argument arg(std::string_view name, Argument value) {
  value.name = name;
  return value;
}

TLXJIT_NAMESPACE_END

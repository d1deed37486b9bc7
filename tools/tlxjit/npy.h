// tools/tlxjit/npy.h — arrays in NumPy's format (.npy, versions 1 to 3; row-major, little-endian).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tlxjit/core/result.h"
#include "tlxjit/ir/type.h"

namespace tlxjit::cli {

struct Npy {
  /// none: bytes of no number that NumPy knows (`V2`, as bf16 arrays are saved), `width` an element
  Elem elem = Elem::none;
  int width = 0;
  std::vector<int64_t> dims;
  size_t data = 0;  ///< where the elements begin; they end with the file
};

/// Reads the header of a file's bytes and compares its shape with their number. `name` is for messages.
Result<Npy> parse_npy(std::string_view bytes, const std::string& name);

/// The header of an array of these elements; those that NumPy has no type for are none of its.
std::string npy_header(Elem elem, std::span<const int64_t> dims);

/// The type that NumPy keeps such elements in: f32 for bf16 and eight-bit floats, else the same.
Elem npy_elem(Elem elem);

}  // namespace tlxjit::cli

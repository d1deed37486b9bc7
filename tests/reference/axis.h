// tests/reference/axis.h — row-major arrays: walks along an axis, axes in another order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace reference {

using Extents = std::vector<int64_t>;

inline int64_t elements(const Extents& shape) {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

/// Calls `fn(line, places)` for each line along `axis`: its number among the other axes, and the flat indices on it.
inline void lines(const Extents& shape, int axis, const std::function<void(int64_t, const std::vector<int64_t>&)>& fn) {
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  const int64_t n = shape[static_cast<size_t>(axis)], count = elements(shape) / n;
  for (int64_t line = 0; line < count; ++line) {
    std::vector<int64_t> places;
    for (int64_t k = 0; k < n; ++k) places.push_back(line / inner * n * inner + k * inner + line % inner);
    fn(line, places);
  }
}

/// The index along each axis of the element with this flat index.
inline std::vector<int64_t> position(const Extents& shape, int64_t flat) {
  std::vector<int64_t> at(shape.size());
  for (size_t i = shape.size(); i-- > 0; flat /= shape[i]) at[i] = flat % shape[i];
  return at;
}

inline int64_t flat(const Extents& shape, const std::vector<int64_t>& at) {
  int64_t index = 0;
  for (size_t i = 0; i < shape.size(); ++i) index = index * shape[i] + at[i];
  return index;
}

}  // namespace reference

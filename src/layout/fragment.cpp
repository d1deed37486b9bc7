// src/layout/fragment.cpp — register counts and coordinates of fragments.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/layout/fragment_p.h"

TLXJIT_NAMESPACE_BEGIN

const char* to_string(FragmentKind kind) {
  switch (kind) {
    case FragmentKind::none: return "none";
    case FragmentKind::uniform: return "uniform";
    case FragmentKind::accumulator: return "accumulator";
    case FragmentKind::row: return "row";
    case FragmentKind::column: return "column";
  }
  return "none";
}

int Fragment::rows() const {
  return kind == FragmentKind::accumulator || kind == FragmentKind::row ? static_cast<int>(shape[0]) : 1;
}

int Fragment::cols() const {
  if (kind == FragmentKind::accumulator) return static_cast<int>(shape[1]);
  return kind == FragmentKind::column ? static_cast<int>(shape[0]) : 1;
}

bool Fragment::valid() const {
  switch (kind) {
    case FragmentKind::none: return false;
    case FragmentKind::uniform: return true;
    case FragmentKind::accumulator: return shape.rank == 2 && rows() % 64 == 0 && cols() % 8 == 0;
    case FragmentKind::row: return shape.rank == 1 && rows() % 64 == 0;
    case FragmentKind::column: return shape.rank == 1 && cols() % 8 == 0;
  }
  return false;
}

int Fragment::elements() const {
  switch (kind) {
    case FragmentKind::none: return 0;
    case FragmentKind::uniform: return 1;
    case FragmentKind::accumulator: return rows() / 64 * (cols() / 2);
    case FragmentKind::row: return rows() / 64 * 2;
    case FragmentKind::column: return cols() / 4;
  }
  return 0;
}

int Fragment::variables(Elem elem) const { return is_packed(elem) ? (elements() + 1) / 2 : elements(); }

FragmentCoordinate Fragment::coordinate(int element) const {
  switch (kind) {
    case FragmentKind::none:
    case FragmentKind::uniform: return {};
    case FragmentKind::accumulator: {
      const int half = cols() / 2;
      const int block = element / half, r = element % half;
      return {64 * block + 8 * (r / 2 % 2), 8 * (r / 4) + r % 2};
    }
    case FragmentKind::row: return {64 * (element / 2) + 8 * (element % 2), 0};
    case FragmentKind::column: return {0, 8 * (element / 2) + element % 2};
  }
  return {};
}

int row_element(const Fragment& accumulator, int element) {
  const int half = accumulator.cols() / 2;
  return 2 * (element / half) + element / 2 % 2;
}

int column_element(const Fragment& accumulator, int element) {
  const int r = element % (accumulator.cols() / 2);
  return 2 * (r / 4) + r % 2;
}

TLXJIT_NAMESPACE_END

// src/ir/check_shape.cpp — rules of ops that make tiles and rearrange their elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

std::string not_to(const Type& from, const Type& to) { return ": " + to_string(from) + " to " + to_string(to); }

std::string check_order(const Op& op, const Type& a, const Type& result) {
  const auto& order = op.attrs.list("order");
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool fits = static_cast<int>(order.size()) == a.shape.rank;
  for (size_t i = 0; fits && i < sorted.size(); ++i) fits = sorted[i] == static_cast<int64_t>(i);
  if (!fits) return "order names each axis of " + to_string(a) + " once";
  if (result.shape.rank != a.shape.rank) return "keeps the rank" + not_to(a, result);
  for (int i = 0; i < a.shape.rank; ++i)
    if (result.shape[i] != a.shape[static_cast<int>(order[static_cast<size_t>(i)])])
      return "axis " + std::to_string(i) + " has not the extent of the axis that order names" + not_to(a, result);
  return {};
}

std::string check_slice(const Op& op, const Type& a, const Type& result) {
  const auto& offsets = op.attrs.list("offsets");
  if (static_cast<int>(offsets.size()) != a.shape.rank || result.shape.rank != a.shape.rank)
    return "has one offset per axis and keeps the rank" + not_to(a, result);
  for (int i = 0; i < a.shape.rank; ++i) {
    const int64_t first = offsets[static_cast<size_t>(i)];
    if (first < 0 || first > a.shape[i] - result.shape[i])
      return to_string(result) + " at " + std::to_string(first) + " along axis " + std::to_string(i) + " is outside " +
             to_string(a);
  }
  return {};
}

std::string check_concat(const Module& module, const Op& op, const Type& result) {
  const int64_t axis = op.attrs.integer("axis", -1);
  if (axis < 0 || axis >= result.shape.rank)
    return "axis " + std::to_string(axis) + " of " + to_string(result) + " is out of range";
  int64_t extent = 0;
  for (Value v : op.operands) {
    const Type& t = module.type(v);
    if (!t.is_tile() || t.elem != result.elem || t.shape.rank != result.shape.rank)
      return "puts tiles of one rank and element type together, " + to_string(result) + ", not " + to_string(t);
    for (int i = 0; i < t.shape.rank; ++i)
      if (i != axis && t.shape[i] != result.shape[i])
        return "the other axes are alike: " + to_string(t) + " and " + to_string(result);
    extent += t.shape[static_cast<int>(axis)];
  }
  return extent == result.shape[static_cast<int>(axis)]
             ? ""
             : "the extents along the axis add up to " + std::to_string(extent) + ", not " +
                   std::to_string(result.shape[static_cast<int>(axis)]);
}

}  // namespace

Type with_pairs(Type type) {
  if (type.shape.rank < Shape::max_rank) type.shape[type.shape.rank] = 2;
  ++type.shape.rank;
  return type;
}

std::string check_tile_type(const Type& type) {
  if (type.is_tile() && type.shape.valid() && type.shape.rank > 0) return {};
  return to_string(type) + " is no tile (rank 1 to 5, each extent 1 to 2^20, at most 2^24 elements)";
}

std::string check_shape(const Module& module, const Op& op) {
  for (Value v : op.results)
    if (std::string what = check_tile_type(module.type(v)); !what.empty()) return what;
  const Type& result = module.type(op.results[0]);
  const int64_t axis = op.attrs.integer("axis", -1);
  if (op.code == OpCode::iota) {
    if (result.elem != Elem::i32) return "gives i32";
    return axis >= 0 && axis < result.shape.rank
               ? ""
               : "axis " + std::to_string(axis) + " of " + to_string(result) + " is out of range";
  }
  const Type& a = module.type(op.operands[0]);
  if (op.code == OpCode::splat)
    return a.is_scalar() && a.elem == result.elem ? ""
                                                  : "repeats a scalar of the tile's element type, not " + to_string(a);
  if (!a.is_tile()) return "works on tiles, not on " + to_string(a);
  if (a.elem != result.elem) return "keeps the element type: " + to_string(a) + " to " + to_string(result);
  switch (op.code) {
    case OpCode::broadcast: {
      if (axis < 0 || axis >= result.shape.rank)
        return "axis " + std::to_string(axis) + " of " + to_string(result) + " is out of range";
      if (result.shape.rank != a.shape.rank + 1)
        return "the ranks differ by one: " + to_string(a) + " and " + to_string(result);
      for (int i = 0, j = 0; i < result.shape.rank; ++i)
        if (i != axis && result.shape[i] != a.shape[j++])
          return "the other axes stay: " + to_string(a) + " and " + to_string(result);
      return {};
    }
    case OpCode::reshape:
      return a.shape.elements() == result.shape.elements() ? "" : "keeps the number of elements" + not_to(a, result);
    case OpCode::transpose: return check_order(op, a, result);
    case OpCode::slice: return check_slice(op, a, result);
    case OpCode::concat: return check_concat(module, op, result);
    case OpCode::join:
      if (module.type(op.operands[1]) != a)
        return "joins tiles of one type: " + to_string(a) + " and " + to_string(module.type(op.operands[1]));
      return result == with_pairs(a) ? "" : "gives " + to_string(with_pairs(a)) + ", not " + to_string(result);
    case OpCode::split:
      if (module.type(op.results[1]) != result || with_pairs(result) != a)
        return "divides a tile whose last axis has extent 2, not " + to_string(a);
      return {};
    default: return {};
  }
}

TLXJIT_NAMESPACE_END

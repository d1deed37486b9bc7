// src/ir/check_box.cpp — rules of boxes: parts of tensors that copies and tiles move.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

int64_t box_elements(const std::vector<int64_t>& box) {
  constexpr int64_t most = int64_t{1} << 24;
  int64_t elements = 1;
  for (int64_t extent : box) {
    if (extent < 1 || extent > most) return 0;
    elements *= extent;
    if (elements > most) return 0;
  }
  return elements;
}

std::string check_box(const Op& op, const Type& tensor, const char* other, int64_t elements) {
  const auto& box = op.attrs.list("box");
  if (static_cast<int32_t>(box.size()) != tensor.slots) return "box has one extent per axis of the tensor";
  if (box_elements(box) == 0) return "each extent of the box is at least 1, their product at most 2^24";
  if (other && box_elements(box) != elements) return std::string("box and ") + other + " differ in size";
  // Tensor maps, which copies go by, end every row at the tensor's end.
  const bool any_axis = info(op.code).family == Family::global;
  const int64_t ragged = op.attrs.integer("ragged", -2);
  if (ragged >= -1 && ragged < tensor.slots - (any_axis ? 0 : 1)) return {};
  return any_axis ? "ragged is -1 or an axis" : "ragged is -1 or an axis before the last";
}

std::string check_boxed_tile(const Op& op, const Type& tensor, const Type& tile, bool reads) {
  if (!reads && !tile.is_tile()) return "writes a tile, not " + to_string(tile) + "; full() makes one of a scalar";
  if (std::string what = check_tile_type(tile); !what.empty()) return what;
  if (tile.elem != tensor.elem)
    return (reads ? "gives " : "writes ") + std::string(to_string(tile.elem)) + (reads ? " from" : " to") +
           " a tensor of " + to_string(tensor.elem) + "; cast " + (reads ? "after the load" : "first");
  if (info(op.code).level == Level::lowered) return check_box(op, tensor, "tile", tile.shape.elements());
  if (tile.shape.rank == tensor.slots) return {};
  return "a tile of rank " + std::to_string(tile.shape.rank) + " does not fit " + to_string(tensor) +
         "; drop axes with at(axis, index)";
}

std::string check_offsets(const Module& module, std::span<const Value> offsets) {
  for (Value v : offsets)
    if (const Type& t = module.type(v); !is_i32(t)) return "offsets are i32, not " + to_string(t) + "; cast first";
  return {};
}

std::string check_coordinates(const Module& module, const Op& op, size_t first) {
  const size_t count = op.attrs.list("box").size() + (op.attrs.integer("ragged", -1) >= 0);
  if (op.operands.size() != first + count) return "needs one coordinate per axis, and a bound if ragged";
  return check_offsets(module, std::span(op.operands).subspan(first));
}

TLXJIT_NAMESPACE_END

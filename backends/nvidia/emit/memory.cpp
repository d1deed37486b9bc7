// backends/nvidia/emit/memory.cpp — ordinary reads and writes of shared and global memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include "backends/nvidia/emit/target_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

int64_t slot_bytes(const Type& buffer) { return buffer.shape.elements() * bytes(buffer.elem); }

namespace {

/// `(row >> shift) & mask`: what is xored into the number of a row's 16-byte chunk.
std::string swizzle_of(const std::string& row, int64_t swizzle) {
  if (swizzle == 128) return fmt::format("({} & 7)", row);
  return swizzle == 64 ? fmt::format("({} >> 1 & 3)", row) : fmt::format("({} >> 2 & 1)", row);
}

/// What indices are computed in.
const char* index_type(const Emitter& e, const AbiTensor& tensor) {
  return e.module().def(tensor.value)->attrs.find("narrow") ? "i32" : "i64";
}

/// ` * stride` of an axis, nothing for the innermost.
std::string by_stride(const Emitter& e, const AbiTensor& tensor, size_t axis) {
  if (axis + 1 == tensor.extents.size()) return {};
  const Attrs& promised = e.module().def(tensor.value)->attrs;
  const std::vector<int64_t>& strides = promised.list("strides");
  const bool narrow = promised.find("narrow");
  if (axis < strides.size() && strides[axis] >= 0)
    return fmt::format(" * {}", literal(strides[axis], narrow && strides[axis] <= INT32_MAX ? Elem::i32 : Elem::i64));
  return fmt::format(" * {}{}", narrow ? "(i32)" : "", stride_name(tensor, axis));
}

std::string element_index(Emitter& e, const Op& op, const AbiTensor& tensor, size_t first) {
  std::string index;
  const size_t rank = tensor.extents.size();
  for (size_t axis = 0; axis < rank; ++axis) {
    if (!index.empty()) index += " + ";
    index += fmt::format("({})({}){}", index_type(e, tensor), e.scalar(op.operand(first + axis)),
                         by_stride(e, tensor, axis));
  }
  return index.empty() ? "0" : index;
}

}  // namespace

void HopperTarget::buffer_store(Emitter& e, const Op& op) {
  const Op* buffer = e.module().def(op.operand(0));
  const Type &type = e.module().type(op.operand(0)), &tile = e.module().type(op.operand(2));
  const int64_t swizzle = buffer->attrs.integer("swizzle");
  const bool packed = is_packed(tile.elem);
  if (tile.shape.rank != 2 || type.shape != tile.shape || type.elem != tile.elem || swizzle == 0 ||
      (!packed && tile.elem != Elem::f32))
    return e.fail(op, "a tile of rank 2 of bf16, f16 or f32 into a swizzled buffer of its shape");
  if (tile.shape[1] * bytes(tile.elem) % swizzle != 0)
    return e.fail(op, "the tile's rows are no multiple of the buffer's swizzle span");
  const std::vector<std::string> names = e.registers(op.operand(2));
  const int64_t rows = tile.shape[0], span_j = swizzle / bytes(tile.elem) / 8;  // groups of 8 columns in a span
  const int64_t groups = tile.shape[1] / 8, block_bytes = rows * swizzle;
  Writer& w = e.out();
  w.open("{");
  const std::string address = shared_address(e, buffer->attrs.integer("offset"), op.operand(1), slot_bytes(type));
  // The buffer starts on a whole swizzle pattern, so chunks are reached by xor on the address itself.
  if (packed)
    w.line(fmt::format("const u32 r = {0} * 16 + ({1} & 15), at = {2} + r * {3} + ((({1} >> 4) ^ {4}) << 4);", e.warp(),
                       e.lane(), address, swizzle, swizzle_of("r", swizzle)));
  else
    w.line(fmt::format("const u32 r = (u32){0}, at = {1} + r * {2} + ((({3} >> 1 & 1) ^ {4}) << 4) + ({3} & 1) * 8;",
                       e.row(), address, swizzle, e.lane(), swizzle_of("r", swizzle)));
  const auto place = [&](int64_t block64, int64_t j) {
    const int64_t offset = j / span_j * block_bytes + block64 * 64 * swizzle, chunk = j % span_j * (packed ? 16 : 32);
    std::string text = chunk ? fmt::format("(at ^ {})", chunk) : "at";
    return offset ? fmt::format("{} + {}", text, offset) : text;
  };
  for (int64_t block = 0; block < rows / 64; ++block)
    for (int64_t j = 0; j < groups; ++j) {
      const auto name = [&](int64_t r) { return names[static_cast<size_t>(r)]; };
      if (packed) {
        const int64_t r = block * groups * 2 + 2 * j;
        if (j + 1 < groups && j % span_j + 1 < span_j) {
          w.line(ptx_(Ptx::stmatrix4, {place(block, j), name(r), name(r + 1), name(r + 2), name(r + 3)}));
          ++j;
        } else {
          w.line(ptx_(Ptx::stmatrix2, {place(block, j), name(r), name(r + 1)}));
        }
        continue;
      }
      const int64_t r = block * groups * 4 + 4 * j;
      w.line(ptx_(Ptx::store_shared_f32x2, {place(block, j), name(r), name(r + 1)}) + " " +
             ptx_(Ptx::store_shared_f32x2,
                  {place(block, j) + fmt::format(" + {}", 8 * swizzle), name(r + 2), name(r + 3)}));
    }
  w.close();
}

namespace {

/// The address of element 2 of slot 1 of buffer 0, empty where this target has none.
std::string element_address(Emitter& e, const Op& op) {
  const Type& type = e.module().type(op.operand(0));
  const Op* buffer = e.module().def(op.operand(0));
  if (type.shape.rank != 1 || bits(type.elem) != 32) {
    e.fail(op, "a buffer of rank 1 with 32-bit elements");
    return {};
  }
  if (buffer->attrs.integer("swizzle")) {
    e.fail(op, "copies lay out a swizzled buffer otherwise: use swizzle 0");
    return {};
  }
  const std::string slot = shared_address(e, buffer->attrs.integer("offset"), op.operand(1), slot_bytes(type));
  return fmt::format("{} + {} * 4", slot, e.scalar(op.operand(2)));
}

}  // namespace

void HopperTarget::buffer_put(Emitter& e, const Op& op) {
  const std::string address = element_address(e, op);
  if (!e.failed()) e.issue(ptx_(Ptx::store_shared, {address, e.scalar(op.operand(3))}));
}

void HopperTarget::buffer_get(Emitter& e, const Op& op) {
  const std::string address = element_address(e, op);
  if (e.failed()) return;
  const std::string name = e.declare(op.result());
  e.out().line(fmt::format("{} {}; {}", c_type(e.module().type(op.result()).elem), name,
                           ptx_(Ptx::load_shared, {name, address})));
}

void HopperTarget::load(Emitter& e, const Op& op) {
  const AbiTensor& tensor = e.abi().tensors[e.abi().tensor_index(op.operand(0))];
  if (op.operands.size() < tensor.extents.size() + 1)
    return e.fail(op, "one index per axis", ErrorCode::internal_error);
  e.out().line(fmt::format("const {} {} = {}[{}];", c_type(tensor.elem), e.declare(op.result()), name_of(tensor),
                           element_index(e, op, tensor, 1)));
}

void HopperTarget::tile_store(Emitter& e, const Op& op) {
  const AbiTensor& tensor = e.abi().tensors[e.abi().tensor_index(op.operand(0))];
  const Value value = op.operand(1);
  const Type& tile = e.module().type(value);
  const Fragment fragment = e.layouts().fragment(value);
  const std::vector<int64_t>& box = op.attrs.list("box");
  const int ragged = static_cast<int>(op.attrs.integer("ragged", -1));
  const size_t rank = tensor.extents.size();
  if (box.size() != rank || op.operands.size() != 2 + rank + (ragged >= 0 ? 1 : 0))
    return e.fail(op, "one coordinate and one extent of the box per axis", ErrorCode::internal_error);
  if (tile.elem != tensor.elem || (tile.elem != Elem::f32 && tile.elem != Elem::i32 && !is_packed(tile.elem)))
    return e.fail(op, "a tile of the tensor's type: f32, i32, bf16 or f16");
  if (fragment.kind != FragmentKind::accumulator && fragment.kind != FragmentKind::row)
    return e.fail(op, "a tile of rows on this target");
  // Axes of the tile stand in order on the box's axes longer than 1.
  std::vector<int> axes(rank, -1);
  int next = 0;
  for (size_t axis = 0; axis < rank; ++axis)
    if (box[axis] > 1) {
      if (next >= tile.shape.rank || tile.shape[next] != box[axis])
        return e.fail(op, "the box is not the tile's shape");
      axes[axis] = next++;
    }
  if (next != tile.shape.rank) return e.fail(op, "the box is not the tile's shape");

  const std::vector<std::string> names = e.registers(value);
  Writer& w = e.out();
  std::string uniform, offset;
  const auto limit = [&](size_t axis) {
    return static_cast<int>(axis) == ragged ? e.scalar(op.operand(2 + rank)) : e.scalar(tensor.extents[axis]);
  };
  const std::string type = index_type(e, tensor);
  for (size_t axis = 0; axis < rank; ++axis) {
    if (axes[axis] >= 0) continue;
    const std::string at = e.scalar(op.operand(2 + axis));
    // One comparison does for both ends.
    uniform += fmt::format("{}(u32)({}) < (u32)({})", uniform.empty() ? "" : " && ", at, limit(axis));
    offset += fmt::format(" + ({})({}){}", type, at, by_stride(e, tensor, axis));
  }
  if (fragment.kind == FragmentKind::row) uniform += (uniform.empty() ? "" : " && ") + e.col() + " == 0";
  w.open(uniform.empty() ? "{" : "if (" + uniform + ") {");
  w.line(fmt::format("{}* const to = {}{};", c_type(tensor.elem), name_of(tensor), offset));
  for (int r = 0; r < fragment.elements(); ++r) {
    const FragmentCoordinate at = fragment.coordinate(r);
    std::string inside, index;
    for (size_t axis = 0; axis < rank; ++axis) {
      if (axes[axis] < 0) continue;
      const bool along_rows = axes[axis] == 0;
      const std::string x = fmt::format("({} + {} + {})", e.scalar(op.operand(2 + axis)),
                                        along_rows ? e.row() : e.col(), along_rows ? at.row : at.col);
      inside += fmt::format("{}(u32){} < (u32)({})", inside.empty() ? "" : " && ", x, limit(axis));
      index += fmt::format("{}({}){}{}", index.empty() ? "" : " + ", type, x, by_stride(e, tensor, axis));
    }
    std::string element = names[static_cast<size_t>(is_packed(tile.elem) ? r / 2 : r)];
    if (is_packed(tile.elem)) element = fmt::format("(unsigned short)({}{})", element, r % 2 ? " >> 16" : " & 0xffffu");
    w.line(fmt::format("if ({}) to[{}] = {};", inside, index, element));
  }
  w.close();
}

void HopperTarget::workspace(Emitter& e, const Op& op) {
  const std::string at = fmt::format("workspace + {}", op.attrs.integer("word"));
  if (op.code == OpCode::workspace_set) return e.issue(ptx_(Ptx::store_global, {at, e.scalar(op.operand(0))}));
  if (!e.place().elected) return e.fail(op, "only in a task that runs on one thread");
  const std::string name = e.declare(op.result());
  e.out().line(fmt::format("i32 {}; {}", name, ptx_(Ptx::atomic_add, {name, at, e.scalar(op.operand(0))})));
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END

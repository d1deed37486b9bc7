// src/codegen/abi.cpp — collects the parameters of a lowered kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/codegen/abi_p.h"

#include <algorithm>

#include "src/ir/access_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

Error fault(const Module& module, const Op& op, std::string message) {
  Error error;
  error.kind = ErrorKind::user;
  error.stage = Stage::emit;
  error.code = ErrorCode::unsupported;
  error.message = std::string(info(op.code).text) + ": " + std::move(message);
  error.location = module.location(op);
  return error;
}

Result<AbiMap> map_of(const Module& module, const Abi& abi, const Op& copy) {
  AbiMap map;
  map.tensor = abi.tensor_index(copy.operand(0));
  if (map.tensor == abi.tensors.size()) return fault(module, copy, "operand 0 is no tensor of the kernel");
  const Op* buffer = module.def(copy.operand(1));
  if (!buffer || buffer->code != OpCode::buffer) return fault(module, copy, "operand 1 is no buffer");
  map.box = copy.attrs.list("box");
  map.swizzle = static_cast<int>(buffer->attrs.integer("swizzle"));
  map.ragged = static_cast<int>(copy.attrs.integer("ragged", -1));
  map.store = copy.code == OpCode::copy_store;
  const AbiTensor& tensor = abi.tensors[map.tensor];
  const size_t rank = tensor.extents.size();
  if (map.box.size() != rank || rank == 0)
    return fault(module, copy, "the box has not one extent per axis of the tensor");
  if (map.rank(rank) > 5) return fault(module, copy, "a tensor map has at most 5 axes, 3 of a ragged tensor");
  if (map.ragged >= static_cast<int>(rank) - 1)
    return fault(module, copy, "the innermost axis of a tensor cannot be ragged");
  map.box.back() = copy_span(map.swizzle, tensor.elem, map.box.back());
  for (int64_t extent : map.box)
    if (extent < 1 || extent > 256) return fault(module, copy, "a box has 1 to 256 elements per axis");
  if (map.box.back() * bytes(tensor.elem) % 16 != 0)
    return fault(module, copy, "the innermost extent of a box is a multiple of 16 bytes");
  return map;
}

}  // namespace

int64_t copy_span(int swizzle, Elem elem, int64_t inner_extent) {
  if (swizzle == 0 || bytes(elem) == 0) return inner_extent;
  return std::min<int64_t>(inner_extent, swizzle / bytes(elem));
}

size_t Abi::tensor_index(Value tensor) const {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const AbiTensor& t) { return t.value == tensor; });
  return static_cast<size_t>(found - tensors.begin());
}

Result<size_t> Abi::map_index(const Module& module, const Op& copy) const {
  auto map = map_of(module, *this, copy);
  if (!map) return map.error();
  const auto found = std::find(maps.begin(), maps.end(), *map);
  if (found == maps.end()) return fault(module, copy, "has no tensor map among the kernel's parameters");
  return static_cast<size_t>(found - maps.begin());
}

Result<Abi> make_abi(const Module& lowered, bool tensor_maps) {
  Abi abi;
  abi.threads = static_cast<int>(lowered.attrs.integer("threads"));
  abi.shared_bytes = lowered.attrs.integer("shared_bytes");
  for (const auto& op : lowered.body.ops) {
    const std::string name(op->attrs.text("name"));
    switch (op->code) {
      case OpCode::dim: abi.dims.push_back({op->result(), name, Elem::i32}); break;
      case OpCode::scalar: abi.scalars.push_back({op->result(), name, lowered.type(op->result()).elem}); break;
      case OpCode::tensor:
        abi.tensors.push_back({op->result(), name, lowered.type(op->result()).elem, op->operands, !tensor_maps});
        break;
      case OpCode::grid: abi.grid = op->operand(0); break;
      case OpCode::workspace: abi.workspace_words += op->attrs.integer("words"); break;
      default: break;
    }
  }
  Error error;
  bool failed = false;
  walk(lowered.body, [&](const Op& op) {
    if (failed) return;
    if (op.code == OpCode::load_scalar || op.code == OpCode::tile_store || is_access(op.code)) {
      const size_t index = abi.tensor_index(op.operand(0));
      if (index == abi.tensors.size()) {
        failed = true;
        error = fault(lowered, op, "operand 0 is no tensor of the kernel");
        return;
      }
      abi.tensors[index].direct = true;
    }
    if (!tensor_maps || (op.code != OpCode::copy_load && op.code != OpCode::copy_store)) return;
    auto map = map_of(lowered, abi, op);
    if (!map) {
      failed = true;
      error = map.error();
      return;
    }
    if (std::find(abi.maps.begin(), abi.maps.end(), *map) == abi.maps.end()) abi.maps.push_back(*map);
  });
  if (failed) return error;
  return abi;
}

TLXJIT_NAMESPACE_END

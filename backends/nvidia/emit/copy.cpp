// backends/nvidia/emit/copy.cpp — copies between tensors and shared memory by tensor maps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include "backends/nvidia/emit/target_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

namespace {

/// One copy op as the hardware's copies: a box wider than the swizzle span goes block by block.
struct CopyPlan {
  size_t map = 0;
  int blocks = 1;
  int64_t block_bytes = 0;               ///< in shared memory
  int64_t block_elements = 0;            ///< along the innermost axis
  std::vector<std::string> coordinates;  ///< of block 0, innermost first
  std::string address;
};

bool plan_copy(Emitter& e, const Op& op, size_t first_coordinate, CopyPlan& plan) {
  auto map = e.abi().map_index(e.module(), op);
  if (!map) {
    e.fail(op, map.error().message);
    return false;
  }
  plan.map = *map;
  const AbiMap& m = e.abi().maps[plan.map];
  const AbiTensor& tensor = e.abi().tensors[m.tensor];
  const std::vector<int64_t>& box = op.attrs.list("box");
  const size_t rank = box.size();
  plan.block_elements = m.box.back();
  if (box.back() % plan.block_elements != 0) {
    e.fail(op, "the innermost extent is no multiple of the swizzle span");
    return false;
  }
  plan.blocks = static_cast<int>(box.back() / plan.block_elements);
  plan.block_bytes = bytes(tensor.elem);
  for (int64_t extent : m.box) plan.block_bytes *= extent;
  const Op* buffer = e.module().def(op.operand(1));
  const Type& type = e.module().type(op.operand(1));
  // PTX ISA, cp.async.bulk.tensor: the address in shared memory.
  if (buffer->attrs.integer("offset") % 128 || (type.slots > 1 && slot_bytes(type) % 128)) {
    e.fail(op, "slots that copies reach begin on multiples of 128 bytes of shared memory");
    return false;
  }
  plan.address = shared_address(e, buffer->attrs.integer("offset"), op.operand(2), slot_bytes(type));
  const size_t wanted = first_coordinate + rank + (m.ragged >= 0 ? 1 : 0);
  if (op.operands.size() != wanted) {
    e.fail(op, fmt::format("expected {} operands", wanted), ErrorCode::internal_error);
    return false;
  }
  for (size_t i = rank; i-- > 0;) plan.coordinates.push_back(e.scalar(op.operand(first_coordinate + i)));
  if (m.ragged >= 0) {
    // See AbiMap::rank: the bound moves into two more axes.
    const std::string bound = e.scalar(op.operand(first_coordinate + rank));
    std::string& x = plan.coordinates[rank - 1 - static_cast<size_t>(m.ragged)];
    x = fmt::format("1073741824 - {} + {}", bound, x);
    plan.coordinates.push_back(bound);
    plan.coordinates.push_back("1073741824");
  }
  return true;
}

std::string plus(const std::string& a, int64_t b) { return b == 0 ? a : fmt::format("{} + {}", a, b); }

/// Statements of all blocks.
std::string statements(PtxUses& ptx, const CopyPlan& plan, const std::string& barrier) {
  std::string out;
  const auto first = barrier.empty() ? Ptx::tma_store_1d : Ptx::tma_load_1d;
  const auto id = static_cast<Ptx>(static_cast<size_t>(first) + plan.coordinates.size() - 1);
  for (int block = 0; block < plan.blocks; ++block) {
    const std::string map = fmt::format("map{}", plan.map), at = plus(plan.address, block * plan.block_bytes);
    std::string coordinates = plus(plan.coordinates[0], block * plan.block_elements);
    for (size_t i = 1; i < plan.coordinates.size(); ++i) coordinates += ", " + plan.coordinates[i];
    if (!out.empty()) out += ' ';
    out += barrier.empty() ? ptx(id, {map, at, coordinates}) : ptx(id, {at, map, barrier, coordinates});
  }
  return out;
}

}  // namespace

void HopperTarget::copy_load(Emitter& e, const Op& op) {
  CopyPlan plan;
  if (!plan_copy(e, op, 5, plan)) return;
  e.issue(statements(ptx_, plan, barrier_slot(e, op.operand(3), op.operand(4))));
}

void HopperTarget::copy_store(Emitter& e, const Op& op) {
  CopyPlan plan;
  if (op.attrs.find("reduce")) return e.fail(op, "a store that reduces is not supported by the NVIDIA back end");
  if (!plan_copy(e, op, 3, plan)) return;
  e.issue(statements(ptx_, plan, {}) + " " + ptx_(Ptx::bulk_commit));
}

void HopperTarget::copy_drain(Emitter& e, const Op& op) {
  const std::string pending = std::to_string(op.attrs.integer("pending"));
  e.issue(ptx_(op.attrs.integer("read") ? Ptx::bulk_wait_read : Ptx::bulk_wait, {pending}));
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END

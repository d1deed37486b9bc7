// src/passes/op_builder.cpp — copying and inlining ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/op_builder_p.h"

TLXJIT_NAMESPACE_BEGIN

void splice(Block& region, OpBuilder& b) {
  std::vector<const Op*> open;  // waits for slots without a release
  for (const auto& op : region.ops) {
    if (op->code == OpCode::wait_slot) open.push_back(op.get());
    if (op->code == OpCode::release)
      std::erase_if(open, [&](const Op* wait) { return wait->result() == op->operand(0); });
  }
  for (auto& op : region.ops) b.out->push_back(std::move(op));
  region.ops.clear();
  for (const Op* wait : open) {
    OpBuilder at = b;
    at.location = wait->location;
    at.append(OpCode::release, {wait->result()}, {}, OpBuilder::attr("implied", int64_t{1}));
  }
}

void clone_ops(const Block& from, std::unordered_map<Value, Value>& map, OpBuilder& b) {
  const auto mapped = [&](Value v) {
    const auto found = map.find(v);
    return found == map.end() ? v : found->second;
  };
  for (const auto& op : from.ops) {
    std::vector<Value> operands;
    for (Value v : op->operands) operands.push_back(mapped(v));
    std::vector<Type> results;
    for (Value v : op->results) results.push_back(b.module.type(v));
    OpBuilder at = b;
    at.location = op->location;
    Op& copy = at.append(op->code, std::move(operands), results, op->attrs);
    for (size_t i = 0; i < op->results.size(); ++i) map[op->results[i]] = copy.results[i];
    for (size_t i = 0; i < op->regions.size(); ++i) {
      for (Value v : op->regions[i].args) {
        copy.regions[i].args.push_back(b.module.new_value(b.module.type(v)));
        map[v] = copy.regions[i].args.back();
      }
      OpBuilder inner = at.in(copy.regions[i]);
      clone_ops(op->regions[i], map, inner);
    }
  }
}

TLXJIT_NAMESPACE_END

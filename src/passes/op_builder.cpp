// src/passes/op_builder.cpp — copying ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/op_builder_p.h"

TLXJIT_NAMESPACE_BEGIN

void clone_ops(const Block& from, std::vector<std::pair<Value, Value>>& map, OpBuilder& b) {
  const auto mapped = [&](Value v) {
    for (size_t i = map.size(); i-- > 0;)
      if (map[i].first == v) return map[i].second;
    return v;
  };
  for (const auto& op : from.ops) {
    std::vector<Value> operands;
    for (Value v : op->operands) operands.push_back(mapped(v));
    std::vector<Type> results;
    for (Value v : op->results) results.push_back(b.module.type(v));
    OpBuilder at = b;
    at.location = op->location;
    Op& copy = at.append(op->code, std::move(operands), results, op->attrs);
    for (size_t i = 0; i < op->results.size(); ++i) map.emplace_back(op->results[i], copy.results[i]);
    for (size_t i = 0; i < op->regions.size(); ++i) {
      for (Value v : op->regions[i].args) {
        copy.regions[i].args.push_back(b.module.new_value(b.module.type(v)));
        map.emplace_back(v, copy.regions[i].args.back());
      }
      OpBuilder inner = at.in(copy.regions[i]);
      clone_ops(op->regions[i], map, inner);
    }
  }
}

TLXJIT_NAMESPACE_END

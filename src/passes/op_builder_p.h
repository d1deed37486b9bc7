// src/passes/op_builder_p.h — making ops while rewriting.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

using Ops = std::vector<std::unique_ptr<Op>>;

/// Appends ops to a list; all carry one source location.
struct OpBuilder {
  Module& module;
  Ops* out;
  uint32_t location = 0;

  Op& append(OpCode code, std::vector<Value> operands, const std::vector<Type>& results = {}, Attrs attrs = {}) {
    out->push_back(module.make(code, std::move(operands), results, std::move(attrs), location));
    return *out->back();
  }
  Value value(OpCode code, std::vector<Value> operands, const Type& result, Attrs attrs = {}) {
    return append(code, std::move(operands), {result}, std::move(attrs)).results[0];
  }
  Value i32(int64_t number) { return value(OpCode::constant, {}, Type::scalar(Elem::i32), attr("value", number)); }
  Value b1(bool truth) { return value(OpCode::constant, {}, Type::scalar(Elem::b1), attr("value", int64_t{truth})); }
  /// Arithmetic whose result has the operands' type.
  Value binary(OpCode code, Value a, Value b) { return value(code, {a, b}, module.type(a)); }
  Value compare(const char* pred, Value a, Value b) {
    return value(OpCode::cmp, {a, b}, Type::scalar(Elem::b1), attr("pred", std::string(pred)));
  }
  Value variable(Value initial) { return value(OpCode::var, {initial}, module.type(initial).as_variable()); }
  Value get(Value variable) { return value(OpCode::get, {variable}, module.type(variable).as_value()); }
  void set(Value variable, Value v) { append(OpCode::set, {variable, v}); }

  /// The same builder, appending to a region.
  OpBuilder in(Block& region) const { return {module, &region.ops, location}; }

  static Attrs attr(const char* name, Attr value) {
    Attrs attrs;
    attrs.set(name, std::move(value));
    return attrs;
  }
};

/// Replaces ops block by block. A handler gets each op with its operands already replaced and appends what
/// stands in its place to `b`; `keep` passes an op on unchanged, its regions rewritten.
class Rewriter {
 public:
  explicit Rewriter(Module& module) : module_(module), map_(module.value_count()) {
    for (size_t i = 0; i < map_.size(); ++i) map_[i] = static_cast<Value>(i);
  }
  virtual ~Rewriter() = default;

  void run(Block& block) {
    Ops old = std::move(block.ops);
    block.ops.clear();
    OpBuilder b{module_, &block.ops};
    for (auto& op : old) {
      for (Value& v : op->operands) v = mapped(v);
      b.location = op->location;
      rewrite(std::move(op), b);
    }
  }

 protected:
  virtual void rewrite(std::unique_ptr<Op> op, OpBuilder& b) = 0;

  void keep(std::unique_ptr<Op> op, OpBuilder& b) {
    Op& kept = *op;
    for (Block& region : kept.regions) run(region);
    b.out->push_back(std::move(op));
  }
  void replace(Value from, Value to) {
    if (from >= map_.size()) grow();
    map_[from] = to;
  }
  Value mapped(Value v) {
    if (v >= map_.size()) grow();
    return map_[v];
  }

  Module& module_;

 private:
  void grow() {
    for (size_t i = map_.size(); i < module_.value_count(); ++i) map_.push_back(static_cast<Value>(i));
  }
  std::vector<Value> map_;
};

/// Appends the ops of a region that runs once, where it would run. A slot that the region waits for and does not
/// release is given back at the region's end, for its author; that end is written down (release, implied = 1), since
/// what follows here may wait for whom that slot is needed by. Regions are put in another's place by this function
/// alone.
void splice(Block& region, OpBuilder& b);

/// Appends copies of the block's ops, their results new; `map` translates operands and learns the results.
void clone_ops(const Block& from, std::unordered_map<Value, Value>& map, OpBuilder& b);

TLXJIT_NAMESPACE_END

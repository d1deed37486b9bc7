// src/passes/lower_stages.cpp — stages of a loop's body to barriers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/lower_stages_p.h"

#include "src/passes/op_builder_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

class Lowering : public Rewriter {
 public:
  using Rewriter::Rewriter;

 private:
  void rewrite(std::unique_ptr<Op> op, OpBuilder& b) override {
    if (op->code == OpCode::task) return task(std::move(op), b);
    if (op->code == OpCode::stage) return meet(b);
    keep(std::move(op), b);
  }

  void meet(OpBuilder& b) {
    if (barrier_ != no_value) b.append(OpCode::barrier_sync, {barrier_, b.i32(0)});
  }

  /// Meets the others `times` times.
  void meet(Value times, OpBuilder& b) {
    Op& loop = b.append(OpCode::for_, {b.i32(0), times, b.i32(1)});
    loop.regions[0].args.push_back(module_.new_value(Type::scalar(Elem::i32)));
    OpBuilder in = b.in(loop.regions[0]);
    meet(in);
  }

  void task(std::unique_ptr<Op> op, OpBuilder& b) {
    bool stages = false;
    walk(op->regions[0], [&](const Op& inner) { stages |= inner.code == OpCode::stage; });
    const int64_t replicas = op->attrs.integer("replicas");
    const bool staggered = op->attrs.integer("staggered", 0) == 1;
    if (op->attrs.find("staggered")) {
      Attrs attrs;
      for (const auto& [name, value] : op->attrs.all())
        if (name != "staggered") attrs.set(name, value);
      op->attrs = std::move(attrs);
    }
    barrier_ = no_value;
    if (stages && replicas > 1) {
      Attrs attrs = OpBuilder::attr("count", replicas);
      attrs.set("name", std::string(op->attrs.text("name")) + ".stages");
      barrier_ = b.value(OpCode::barrier, {}, Type::barrier(1), std::move(attrs));
    }
    Op& kept = *op;
    keep(std::move(op), b);
    if (barrier_ == no_value || !staggered) return;
    Ops prologue;
    OpBuilder p{module_, &prologue, kept.location};
    meet(p.value(OpCode::replica, {}, Type::scalar(Elem::i32)), p);
    Ops& ops = kept.regions[0].ops;
    ops.insert(ops.begin(), std::make_move_iterator(prologue.begin()), std::make_move_iterator(prologue.end()));
    OpBuilder e{module_, &ops, kept.location};
    const Value replica = e.value(OpCode::replica, {}, Type::scalar(Elem::i32));
    meet(e.binary(OpCode::sub, e.i32(replicas - 1), replica), e);
  }

  Value barrier_ = no_value;  ///< of the task at hand; absent where nobody is to be met
};

}  // namespace

Result<void> lower_stages(Module& module) {
  Lowering(module).run(module.body);
  return {};
}

TLXJIT_NAMESPACE_END

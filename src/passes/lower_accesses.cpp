// src/passes/lower_accesses.cpp — accesses to elements of tensor views, at coordinates of the tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/lower_accesses_p.h"

#include "src/ir/access_p.h"
#include "src/passes/op_builder_p.h"
#include "src/passes/tensor_view_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

class Lowering : public Rewriter {
 public:
  explicit Lowering(Module& module) : Rewriter(module) {}

  void run_all() { Rewriter::run(module_.body); }

 private:
  bool is_view(Value tensor) const { return module_.def(tensor)->code != OpCode::tensor; }

  void rewrite(std::unique_ptr<Op> op, OpBuilder& b) override {
    if (is_box_access(op->code)) return box(*op, b);
    if (op->code == OpCode::load_scalar && is_view(op->operands[0])) {
      scalar(*op, b);
    } else if (is_access(op->code) && is_view(op->operands[0])) {
      ElementAccess access = *access_of(module_, *op);
      while (is_view(access.tensor)) step(access, b);
      op->operands = access.operands();
    }
    keep(std::move(op), b);
  }

  void box(const Op& op, OpBuilder& b) {
    ElementAccess access = *access_of(module_, op);
    const bool load = access.values.empty();
    const Type type = module_.type(load ? op.results[0] : access.values[0]);
    const TensorPlace place = resolve(module_, op.operands[0], type.shape, access.indices, b);
    access.tensor = place.tensor;
    access.indices = place.coordinates;
    access.bound = place.bound;
    Op& made = b.append(load ? OpCode::tile_load : OpCode::tile_store_masked, access.operands(),
                        load ? std::vector<Type>{type} : std::vector<Type>{}, place.attrs());
    if (load) replace(op.results[0], made.results[0]);
  }

  /// A scalar load keeps what it takes to say that its index is outside a window.
  void scalar(Op& op, OpBuilder& b) {
    const Op* window = module_.def(op.operands[0]);
    while (window->code == OpCode::select_axis) window = module_.def(window->operands[0]);
    Shape point;
    point.rank = static_cast<uint8_t>(op.operands.size() - 1);
    for (int i = 0; i < point.rank; ++i) point[i] = 1;
    const TensorPlace place = resolve(module_, op.operands[0], point, {op.operands.begin() + 1, op.operands.end()}, b);
    op.operands = place.coordinates;
    op.operands.insert(op.operands.begin(), place.tensor);
    if (place.ragged < 0) return;
    op.attrs.set("window", int64_t{place.ragged});
    op.operands.insert(op.operands.end(), {window->operands[1], window->operands[2]});
  }

  /// One view outwards: the indices as those of the tensor that the view was made from.
  void step(ElementAccess& access, OpBuilder& b) {
    const Op& view = *module_.def(access.tensor);
    const auto axis = static_cast<size_t>(view.attrs.integer("axis"));
    access.tensor = view.operands[0];
    if (view.code == OpCode::select_axis) {
      access.indices.insert(access.indices.begin() + static_cast<long>(axis), view.operands[1]);
      return;
    }
    // In 64 bits nothing wraps; an index outside the window becomes −1, which is outside every tensor.
    Value& index = access.indices[axis];
    const Type type = module_.type(index).with_elem(Elem::i64);
    const auto cast = [&](Value v) {
      return module_.type(v).elem == Elem::i64 ? v : b.value(OpCode::cast, {v}, module_.type(v).with_elem(Elem::i64));
    };
    const auto spread = [&](Value scalar) { return type.is_tile() ? b.value(OpCode::splat, {scalar}, type) : scalar; };
    const auto number = [&](int64_t n) {
      return spread(b.value(OpCode::constant, {}, Type::scalar(Elem::i64), OpBuilder::attr("value", n)));
    };
    const auto compare = [&](const char* pred, Value x, Value y) {
      return b.value(OpCode::cmp, {x, y}, type.with_elem(Elem::b1), OpBuilder::attr("pred", std::string(pred)));
    };
    const Value wide = cast(index);
    const Value inside =
        b.binary(OpCode::bit_and, compare("ge", wide, number(0)), compare("lt", wide, spread(cast(view.operands[2]))));
    const Value moved = b.binary(OpCode::add, wide, spread(cast(view.operands[1])));
    index = b.value(OpCode::select, {inside, moved, number(-1)}, type);
  }
};

}  // namespace

void lower_accesses(Module& module) { Lowering(module).run_all(); }

TLXJIT_NAMESPACE_END

// src/passes/lower_stores.cpp — stores of tiles through staging buffers, or element by element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/lower_stores_p.h"

#include <map>
#include <set>

#include "src/passes/op_builder_p.h"
#include "src/passes/tensor_view_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// Staging of the stores of one task that write equal tiles to one tensor.
struct Staging {
  Value buffer = no_value;
  int stores = 0;        ///< in the task's text
  bool together = true;  ///< all in one block, so that they happen in their order, all or none
  const Block* block = nullptr;
  int slots = 1;  ///< per instance
  int next = 0;   ///< slot of the next store
};

using Key = std::pair<Value, std::string>;  // tensor parameter, tile type

class Lowering : public Rewriter {
 public:
  Lowering(Module& module, const Target& target) : Rewriter(module), target_(target) {}

  Result<void> run_all() {
    TLXJIT_TRY(check_loads());
    Rewriter::run(module_.body);
    return {};
  }

 private:
  Value parameter(Value tensor) const {
    while (module_.def(tensor)->code != OpCode::tensor) tensor = module_.def(tensor)->operands[0];
    return tensor;
  }
  Key key(const Op& store) const { return {parameter(store.operands[0]), to_string(module_.type(store.operands[1]))}; }

  /// Tensor maps move tiles of two axes whose rows fill the swizzle span; a ragged axis costs two more
  /// axes of at most five and cannot be the innermost.
  bool staged(const Op& store) const {
    if (!target_.tensor_maps) return false;
    const Type& tile = module_.type(store.operands[1]);
    if (tile.shape.rank != 2 || bytes(tile.elem) != 2 || (tile.shape[1] * bytes(tile.elem)) % 128 ||
        tile.shape[0] > 256)
      return false;
    bool ragged = false, innermost = false;
    for (const Op* def = module_.def(store.operands[0]); def->code != OpCode::tensor;
         def = module_.def(def->operands[0]))
      if (def->code == OpCode::window) {
        ragged = true;
        innermost |= def->attrs.integer("axis") == module_.type(def->operands[0]).slots - 1;
      }
    return !ragged || (module_.type(parameter(store.operands[0])).slots <= 3 && !innermost);
  }

  void rewrite(std::unique_ptr<Op> op, OpBuilder& b) override {
    switch (op->code) {
      case OpCode::select_axis:
      case OpCode::window:
        dropped_.push_back(std::move(op));  // kept alive: stores still look at their chains
        return;
      case OpCode::store: return store(*op, b);
      case OpCode::copy_load:
      case OpCode::copy_store:
      case OpCode::copy_lanes:
      case OpCode::copy_prefetch: return copy(std::move(op), b);
      case OpCode::task: return task(std::move(op), b);
      default: return keep(std::move(op), b);
    }
  }

  void survey(const Block& block) {
    for (const auto& op : block.ops) {
      if (op->code == OpCode::store && staged(*op)) {
        Staging& staging = stagings_[key(*op)];
        staging.together &= staging.stores++ == 0 || staging.block == &block;
        staging.block = &block;
      }
      for (const Block& region : op->regions) survey(region);
    }
  }

  /// Scalar loads are ordinary reads by one thread; nothing orders them after stores that other threads or the
  /// copy engine still carry out.
  Result<void> check_loads() const {
    if (!target_.tensor_maps) return {};
    std::set<Value> stored;
    walk(module_.body, [&](const Op& op) {
      if (op.code == OpCode::store || op.code == OpCode::copy_store) stored.insert(parameter(op.operands[0]));
    });
    const Op* bad = nullptr;
    walk(module_.body, [&](const Op& op) {
      if (!bad && op.code == OpCode::load_scalar && stored.count(parameter(op.operands[0]))) bad = &op;
    });
    if (bad)
      return lower_error(
          module_, *bad,
          "reads a tensor that this kernel writes, which " + target_.name + " does not order; use another tensor");
    return {};
  }

  void task(std::unique_ptr<Op> op, OpBuilder& b) {
    stagings_.clear();
    survey(op->regions[0]);
    const int64_t replicas = op->attrs.integer("replicas");
    for (auto& [key, staging] : stagings_) {
      // Two slots let a store read one while the next tile is written to the other. The slot of each store is
      // fixed in the text: in one block and even in number, the stores alternate however often the block runs.
      staging.slots = staging.together && staging.stores % 2 == 0 ? 2 : 1;
      const Type tile = *parse_type(key.second);
      staging.buffer = b.value(OpCode::buffer, {},
                               Type::buffer(static_cast<int32_t>(replicas * staging.slots), tile.shape, tile.elem),
                               OpBuilder::attr("swizzle", int64_t{128}));
    }
    bool by_hand = false;  // copies to tensors that the author wrote read shared memory to the end
    walk(op->regions[0], [&](const Op& inner) { by_hand |= inner.code == OpCode::copy_store; });
    Op& kept = *op;
    keep(std::move(op), b);
    if (stagings_.empty() && !by_hand) return;
    Attrs all = OpBuilder::attr("pending", int64_t{0});
    all.set("read", int64_t{0});
    OpBuilder end{module_, &kept.regions[0].ops, kept.location};
    end.append(OpCode::copy_drain, {}, {}, std::move(all));
  }

  /// A copy written by hand names a tensor or a view of one.
  void copy(std::unique_ptr<Op> op, OpBuilder& b) {
    if (module_.def(op->operands[0])->code == OpCode::tensor) return keep(std::move(op), b);
    const size_t first = op->operands.size() - op->attrs.list("box").size();
    Shape box;
    for (int64_t extent : op->attrs.list("box")) box.dim[box.rank++] = extent;
    const TensorPlace place = resolve(module_, op->operands[0], box,
                                      {op->operands.begin() + static_cast<long>(first), op->operands.end()}, b);
    op->operands.resize(first);
    op->operands[0] = place.tensor;
    for (Value v : place.operands()) op->operands.push_back(v);
    const Attrs attrs = place.attrs();
    for (const auto& [name, value] : attrs.all()) op->attrs.set(name, value);
    keep(std::move(op), b);
  }

  void store(Op& op, OpBuilder& b) {
    const Type tile = module_.type(op.operands[1]);
    const TensorPlace place =
        resolve(module_, op.operands[0], tile.shape, {op.operands.begin() + 2, op.operands.end()}, b);
    if (!staged(op)) {
      std::vector<Value> operands = {place.tensor, op.operands[1]};
      for (Value v : place.operands()) operands.push_back(v);
      b.append(OpCode::tile_store, std::move(operands), {}, place.attrs());
      return;
    }
    Staging& staging = stagings_[key(op)];
    const Value replica = b.value(OpCode::replica, {}, Type::scalar(Elem::i32));
    const Value first = b.binary(OpCode::mul, replica, b.i32(staging.slots));
    const Value slot = b.binary(OpCode::add, first, b.i32(staging.next));
    staging.next = (staging.next + 1) % staging.slots;
    // Groups are counted over all stagings of the instance: with several, the count says nothing of one.
    Attrs drain = OpBuilder::attr("pending", int64_t{stagings_.size() == 1 ? staging.slots - 1 : 0});
    drain.set("read", int64_t{1});
    b.append(OpCode::copy_drain, {}, {}, std::move(drain));
    b.append(OpCode::sync, {});
    b.append(OpCode::buffer_store, {staging.buffer, slot, op.operands[1]});
    b.append(OpCode::fence, {});
    b.append(OpCode::sync, {});
    std::vector<Value> operands = {place.tensor, staging.buffer, slot};
    for (Value v : place.operands()) operands.push_back(v);
    b.append(OpCode::copy_store, std::move(operands), {}, place.attrs());
  }

  const Target& target_;
  std::map<Key, Staging> stagings_;
  Ops dropped_;
};

}  // namespace

Result<void> lower_stores(Module& module, const Target& target) { return Lowering(module, target).run_all(); }

TLXJIT_NAMESPACE_END

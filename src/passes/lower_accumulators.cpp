// src/passes/lower_accumulators.cpp — clears become properties of dots.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/lower_accumulators_p.h"

#include <map>
#include <set>

#include "src/passes/op_builder_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

constexpr uint8_t cleared = 1, summed = 2, either = 3;
using State = std::map<Value, uint8_t>;

/// Whether v is known to be 1 or more; looks a few ops deep.
bool at_least_one(const Module& module, Value v, int depth = 6) {
  const Op* def = module.def(v);
  if (!def || depth == 0) return false;
  switch (def->code) {
    case OpCode::constant: return def->attrs.integer("value") >= 1;
    case OpCode::dim: return def->attrs.integer("min") >= 1;
    case OpCode::ceil_div:
      return at_least_one(module, def->operands[0], depth - 1) && at_least_one(module, def->operands[1], depth - 1);
    default: return false;
  }
}

/// Follows, for each accumulator, whether it may be clear and whether it may hold sums before each op.
class Analysis {
 public:
  explicit Analysis(const Module& module) : module_(module) {}
  std::map<const Op*, uint8_t> before;

  void block(const Block& block, State& s) {
    for (const auto& op : block.ops) this->op(*op, s);
  }

 private:
  void op(const Op& op, State& s) {
    switch (op.code) {
      case OpCode::accumulator: s[op.results[0]] = cleared; break;
      case OpCode::acc_clear: s[op.operands[0]] = cleared; break;
      case OpCode::dot:
      case OpCode::acc_read:
      case OpCode::acc_write:
        before[&op] |= s[op.operands[0]];
        // A read of sums that may be clear fills them with zeros first.
        if (op.code != OpCode::acc_read || s[op.operands[0]] == either) s[op.operands[0]] = summed;
        break;
      case OpCode::if_: {
        State other = s;
        block(op.regions[0], s);
        block(op.regions[1], other);
        join(s, other);
        break;
      }
      case OpCode::for_:
      case OpCode::while_: {
        // Asked with the same state again, as loops around it settle, it ends in the same one.
        for (const auto& [entry, exit] : exits_[&op])
          if (entry == s) {
            s = exit;
            return;
          }
        const State entry = s;
        loop(op, s);
        exits_[&op].emplace_back(entry, s);
        return;
      }
      default:
        for (const Block& region : op.regions) block(region, s);
    }
  }

  void loop(const Op& op, State& s) {
    while (true) {
      State body = s;
      block(op.regions[0], body);
      const State exit = body;
      if (op.code == OpCode::while_) block(op.regions[1], body);
      State head = s;
      join(head, body);
      const bool stable = head == s;
      s = head;
      if (!stable) continue;
      if (op.code == OpCode::while_)
        s = exit;
      else if (runs(op))
        s = body;
      return;
    }
  }

  bool runs(const Op& loop) const {
    const Op* low = module_.def(loop.operands[0]);
    return low && low->code == OpCode::constant && low->attrs.integer("value") == 0 &&
           at_least_one(module_, loop.operands[1]);
  }

  static void join(State& a, const State& b) {
    for (const auto& [acc, state] : b) a[acc] |= state;
  }

  const Module& module_;
  std::map<const Op*, std::vector<std::pair<State, State>>> exits_;  ///< loop → (entry, exit)
};

class Lowering : public Rewriter {
 public:
  Lowering(Module& module, const std::map<const Op*, uint8_t>& before) : Rewriter(module), before_(before) {
    for (const auto& [op, state] : before_)
      if (state == either && op->code != OpCode::acc_write) flagged_.insert(op->operands[0]);
  }

 private:
  void rewrite(std::unique_ptr<Op> op, OpBuilder& b) override {
    const uint8_t state = before_.count(op.get()) ? before_.at(op.get()) : 0;
    const Value acc = op->code == OpCode::accumulator ? op->results[0]
                      : op->operands.empty()          ? no_value
                                                      : op->operands[0];
    const bool flagged = flagged_.count(acc) != 0;
    switch (op->code) {
      case OpCode::accumulator:
        keep(std::move(op), b);
        if (flagged) flags_[acc] = b.variable(b.b1(false));
        return;
      case OpCode::acc_clear:
        if (flagged) b.set(flags_[acc], b.b1(false));
        return;
      case OpCode::dot: {
        op->attrs.set("overwrite", std::string(state == cleared ? "always" : state == summed ? "never" : "unless"));
        if (state == either) op->operands.push_back(b.get(flags_[acc]));
        keep(std::move(op), b);
        if (flagged) b.set(flags_[acc], b.b1(true));
        return;
      }
      case OpCode::acc_read: {
        const Type& type = module_.type(acc);
        if (state == cleared) {
          const Value zero = zero_of(type.elem, b);
          replace(op->results[0], b.value(OpCode::splat, {zero}, module_.type(op->results[0])));
          return;
        }
        if (state == either) {
          const Value clear = b.value(OpCode::bit_not, {b.get(flags_[acc])}, Type::scalar(Elem::b1));
          OpBuilder in = b.in(b.append(OpCode::if_, {clear}).regions[0]);
          const Value zero = zero_of(type.elem, in);
          in.append(OpCode::acc_write, {acc, in.value(OpCode::splat, {zero}, Type::tile(type.shape, type.elem))});
          b.set(flags_[acc], b.b1(true));
        }
        return keep(std::move(op), b);
      }
      case OpCode::acc_write:
        keep(std::move(op), b);
        if (flagged) b.set(flags_[acc], b.b1(true));
        return;
      default: return keep(std::move(op), b);
    }
  }

  static Value zero_of(Elem elem, OpBuilder& b) {
    const Attrs value = is_float(elem) ? OpBuilder::attr("value", 0.0) : OpBuilder::attr("value", int64_t{0});
    return b.value(OpCode::constant, {}, Type::scalar(elem), value);
  }

  const std::map<const Op*, uint8_t>& before_;
  std::set<Value> flagged_;
  std::map<Value, Value> flags_;
};

}  // namespace

Result<void> lower_accumulators(Module& module) {
  Analysis analysis(module);
  State state;
  analysis.block(module.body, state);
  Lowering(module, analysis.before).run(module.body);
  return {};
}

TLXJIT_NAMESPACE_END

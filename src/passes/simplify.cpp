// src/passes/simplify.cpp — folds what is known of integers: constants, bounds, multiples.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/simplify_p.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "src/ir/evaluate_p.h"
#include "src/ir/ranges_p.h"
#include "src/passes/op_builder_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// Numbers that divide an integer scalar.
class Multiples {
 public:
  Multiples(const Module& module, Ranges& ranges) : module_(module), ranges_(ranges) {}

  bool divides(int64_t n, Value v) { return of(v) % n == 0; }

 private:
  static constexpr int64_t most = int64_t{1} << 31;  // beyond it nothing is asked; so products stay small

  /// The largest that is found, at most 2^31; 0 for zero, which all numbers divide.
  int64_t of(Value v) {
    if (const auto known = known_number(module_, v)) return *known == INT64_MIN ? most : std::abs(*known);
    if (const auto found = known_.find(v); found != known_.end()) return found->second;
    const Op* op = module_.def(v);
    // As in Ranges, the stack bounds how far is looked at once.
    constexpr int max_depth = 256;
    if (!op || depth_ == max_depth) return 1;
    ++depth_;
    const int64_t n = compute(*op);
    --depth_;
    known_.emplace(v, n);
    return n;
  }
  int64_t compute(const Op& op) {
    switch (op.code) {
      case OpCode::dim:
      case OpCode::scalar: return op.attrs.integer("multiple", 1);
      case OpCode::min:
      case OpCode::max: return std::gcd(of(op.operand(0)), of(op.operand(1)));
      case OpCode::select: return std::gcd(of(op.operand(1)), of(op.operand(2)));
      case OpCode::add:
      case OpCode::sub: return unwrapped(op, std::gcd(of(op.operand(0)), of(op.operand(1))));
      case OpCode::mul: {
        int64_t n = 0;
        const bool large = __builtin_mul_overflow(of(op.operand(0)), of(op.operand(1)), &n);
        return unwrapped(op, large ? 1 : n);
      }
      default: return 1;
    }
  }
  /// What divides the exact result divides it also where it wraps only if it is a power of two.
  int64_t unwrapped(const Op& op, int64_t n) {
    if (ranges_.exact(op).within(range_of(module_.type(op.result()).elem))) return n;
    return n == 0 ? 1 : std::min(n & -n, most);
  }

  const Module& module_;
  Ranges& ranges_;
  std::unordered_map<Value, int64_t> known_;
  int depth_ = 0;
};

/// Whether a region may go without a trace: no other task waits for what it does, and it declares nothing.
bool may_vanish(const Block& region) {
  bool may = true;
  walk(region, [&](const Op& op) {
    const OpInfo& row = info(op.code);
    may &= row.effect != Effect::sync && row.effect != Effect::async && row.scope != Scope::declare;
  });
  return may;
}

class Folding final : public Rewriter {
 public:
  explicit Folding(Module& module) : Rewriter(module), ranges_(module), multiples_(module, ranges_) {}

 private:
  void rewrite(std::unique_ptr<Op> op, OpBuilder& b) override {
    if (op->code == OpCode::if_ && take_branch(*op, b)) return;
    if (op->code == OpCode::for_) {
      if (never_runs(*op) && may_vanish(op->regions[0])) return;
      if (ranges_.of(op->operand(2)).low > 0) ranges_.set_loop(op->regions[0].args[0], op->operand(0), op->operand(1));
    }
    const Value same = op->results.size() == 1 ? fold(*op, b) : no_value;
    if (same == no_value) return keep(std::move(op), b);
    replace(op->result(), same);
    module_.set_def(op->result(), nullptr);
  }

  bool take_branch(Op& op, OpBuilder& b) {
    const auto condition = known_number(module_, op.operand(0));
    if (!condition || !may_vanish(op.regions[*condition ? 1 : 0])) return false;
    Block& taken = op.regions[*condition ? 0 : 1];
    run(taken);
    splice(taken, b);
    return true;
  }
  bool never_runs(const Op& loop) { return ranges_.of(loop.operand(0)).low >= ranges_.of(loop.operand(1)).high; }

  /// A value that is always the op's, or no_value.
  Value fold(const Op& op, OpBuilder& b) {
    const Type& type = module_.type(op.result());
    if (op.code == OpCode::select && module_.type(op.operand(0)).is_scalar()) {
      const auto condition = known_number(module_, op.operand(0));
      return condition ? op.operand(*condition ? 1 : 2) : no_value;
    }
    if (!evaluates(op.code) || !is_integral(op.result()) || !is_integral(op.operand(0))) return no_value;
    if (op.code == OpCode::cast && !op.attrs.all().empty()) return no_value;
    const auto x = known_number(module_, op.operand(0));
    const bool unary = op.operands.size() == 1;
    const auto y = unary ? x : known_number(module_, op.operand(1));
    if (x && y) {
      const auto pred = op.code == OpCode::cmp ? word_of<Predicate>(op, "pred") : Predicate::eq;
      const Evaluated result = evaluate(op.code, type.elem, pred, *x, *y);
      return result.ok() ? constant(b, result.value, type) : no_value;
    }
    if (unary) return no_value;
    if (op.code == OpCode::cmp) return compare(op, b);
    if (const Value same = identity(op, x, y); same != no_value) return same;
    if (y && *y > 0) return divide(op, *y, b);
    return no_value;
  }

  static Value constant(OpBuilder& b, int64_t number, const Type& type) {
    return b.value(OpCode::constant, {}, type, OpBuilder::attr("value", number));
  }

  Value compare(const Op& op, OpBuilder& b) {
    const NumberRange x = ranges_.of(op.operand(0)), y = ranges_.of(op.operand(1));
    const auto always = [&](bool truth) { return constant(b, truth, module_.type(op.result())); };
    const bool below = x.high<y.low, above = x.low> y.high, at_most = x.high <= y.low, at_least = x.low >= y.high;
    switch (word_of<Predicate>(op, "pred")) {
      case Predicate::eq: return below || above ? always(false) : no_value;
      case Predicate::ne: return below || above ? always(true) : no_value;
      case Predicate::lt: return below ? always(true) : at_least ? always(false) : no_value;
      case Predicate::le: return at_most ? always(true) : above ? always(false) : no_value;
      case Predicate::gt: return above ? always(true) : at_most ? always(false) : no_value;
      case Predicate::ge: return at_least ? always(true) : below ? always(false) : no_value;
    }
    return no_value;
  }

  /// The operand that the op gives back.
  Value identity(const Op& op, std::optional<int64_t> x, std::optional<int64_t> y) {
    const Value a = op.operand(0), b = op.operand(1);
    switch (op.code) {
      case OpCode::add: return y == 0 ? a : x == 0 ? b : no_value;
      case OpCode::sub: return y == 0 ? a : no_value;
      case OpCode::mul: return y == 1 || x == 0 ? a : x == 1 || y == 0 ? b : no_value;
      case OpCode::div:
      case OpCode::floor_div:
      case OpCode::ceil_div: return y == 1 ? a : no_value;
      case OpCode::bit_or:
      case OpCode::bit_xor: return y == 0 ? a : x == 0 ? b : no_value;
      case OpCode::bit_and:
        if (x == 0 || y == 0) return x == 0 ? a : b;
        return module_.type(a).elem != Elem::b1 ? no_value : y == 1 ? a : x == 1 ? b : no_value;
      case OpCode::min:
      case OpCode::max: {
        const NumberRange p = ranges_.of(a), q = ranges_.of(b);
        const bool is_min = op.code == OpCode::min;
        return p.high <= q.low ? (is_min ? a : b) : q.high <= p.low ? (is_min ? b : a) : no_value;
      }
      default: return no_value;
    }
  }

  /// Quotients and remainders by a number above 0.
  Value divide(const Op& op, int64_t by, OpBuilder& b) {
    const Value x = op.operand(0);
    const NumberRange range = ranges_.of(x);
    const Type& type = module_.type(op.result());
    switch (op.code) {
      case OpCode::mod:
      case OpCode::floor_mod:
        if (multiples_.divides(by, x)) return constant(b, 0, type);
        return range.low >= 0 && range.high < by ? x : no_value;
      case OpCode::div: return range.low >= 0 && range.high < by ? constant(b, 0, type) : no_value;
      case OpCode::ceil_div:
        return range.low >= 0 && multiples_.divides(by, x) ? b.binary(OpCode::div, x, op.operand(1)) : no_value;
      default: return no_value;
    }
  }

  bool is_integral(Value v) const {
    const Type& type = module_.type(v);
    return type.is_scalar() && (is_int(type.elem) || type.elem == Elem::b1);
  }

  Ranges ranges_;
  Multiples multiples_;
};

/// Drops pure ops without a use, from the end on, so that what only they used goes too.
class Sweep {
 public:
  explicit Sweep(Module& module) : module_(module), uses_(module.value_count()) {
    walk(module.body, [&](Op& op) {
      for (Value v : op.operands) ++uses_[v];
    });
  }

  void run(Block& block) {
    for (auto at = block.ops.end(); at != block.ops.begin();) {
      Op& op = **--at;
      for (auto region = op.regions.rbegin(); region != op.regions.rend(); ++region) run(*region);
      if (info(op.code).scope != Scope::pure || !unused(op)) continue;
      for (Value v : op.operands) --uses_[v];
      for (Value v : op.results) module_.set_def(v, nullptr);
      at = block.ops.erase(at);
    }
  }

 private:
  bool unused(const Op& op) const {
    return std::all_of(op.results.begin(), op.results.end(), [&](Value v) { return uses_[v] == 0; });
  }
  Module& module_;
  std::vector<int> uses_;
};

}  // namespace

void simplify(Module& module) {
  Folding(module).run(module.body);
  Sweep(module).run(module.body);
}

TLXJIT_NAMESPACE_END

// src/ir/verify_unfinished.cpp — what may be done with a partial reduction before it is finished.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <map>
#include <vector>

#include "src/ir/verify_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// What the lanes of an instance have of a value. Where paths meet, the later of two in this order holds, sums apart:
/// all lanes have the same, which is as good as a share of a maximum; 0 is as good as a share of a sum.
enum class Share : uint8_t { zero, whole, max, sum, mixed };

Share meet(Share a, Share b) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);
  if (b == Share::sum) return a == Share::zero ? Share::sum : Share::mixed;
  return b;
}

const char* text_of(Share share) { return share == Share::sum ? "sum" : "maximum"; }

using Held = std::map<Value, Share>;  // of variables; those that are not there hold whole values

Share held_by(const Held& held, Value variable) {
  const auto found = held.find(variable);
  return found == held.end() ? Share::whole : found->second;
}

void merge(Held& into, const Held& other) {
  for (auto& [variable, share] : into) share = meet(share, held_by(other, variable));
  for (const auto& [variable, share] : other) into.try_emplace(variable, meet(share, Share::whole));
}

class Unfinished {
 public:
  Unfinished(const Module& module, const Report& report)
      : module_(module), report_(report), share_(module.value_count(), Share::whole) {}

  void run() {
    do {
      changed_ = false;
      Held held;
      block(module_.body, held);
    } while (changed_);
    final_ = true;
    Held held;
    block(module_.body, held);
  }

 private:
  void block(const Block& block, Held& held) {
    for (const auto& op : block.ops) this->op(*op, held);
  }

  void op(const Op& op, Held& held) {
    switch (op.code) {
      case OpCode::var: held[op.results[0]] = share_[op.operands[0]]; return;
      case OpCode::set: held[op.operands[0]] = share_[op.operands[1]]; return;
      case OpCode::get: {
        Share& share = share_[op.results[0]] = held_by(held, op.operands[0]);
        if (share != Share::mixed) return;
        refuse(op, "holds an unfinished reduction on one path, and something else on another");
        share = Share::whole;
        return;
      }
      default: break;
    }
    if (!op.regions.empty()) return regions(op, held);
    const Share share = result(op);
    for (Value v : op.results) share_[v] = share;
  }

  void regions(const Op& op, Held& held) {
    refuse_operands(op);
    if (op.code == OpCode::if_) {
      Held other = held;
      block(op.regions[0], held);
      block(op.regions[1], other);
      return merge(held, other);
    }
    // A loop begins with what is there before it or after one of its rounds; what is known of that only grows.
    auto [found, first] = begin_.try_emplace(&op, held);
    if (!first) merge(found->second, held);
    held = found->second;
    block(op.regions[0], held);
    const bool repeats = op.code == OpCode::for_ || op.code == OpCode::each || op.code == OpCode::while_;
    Held end = held;
    if (op.code == OpCode::while_) block(op.regions[1], end);
    if (!repeats) return;
    Held begin = found->second;
    merge(begin, end);
    if (begin != found->second) {
      found->second = begin;
      changed_ = true;
    }
    if (op.code != OpCode::while_) held = std::move(begin);
  }

  /// What an op without regions gives; refuses what is done with an unfinished operand.
  Share result(const Op& op) {
    if (op.code == OpCode::constant) {
      const Attr* value = op.attrs.find("value");
      const auto* real = value ? std::get_if<double>(value) : nullptr;
      return real && *real == 0 ? Share::zero : Share::whole;
    }
    if (op.code == OpCode::reduce && op.attrs.integer("partial") == 1)
      return refuse_operands(op), op.attrs.text("kind") == "sum" ? Share::sum : Share::max;
    const Share a = op.operands.empty() ? Share::whole : share_[op.operands[0]];
    const Share b = op.operands.size() < 2 ? Share::whole : share_[op.operands[1]];
    const auto plain = [](Share s) { return s <= Share::whole; };
    switch (op.code) {
      case OpCode::finish: {
        const bool sum = op.attrs.text("kind") == "sum";
        if (a != (sum ? Share::sum : Share::max) && !(sum && a == Share::zero))
          refuse(op, std::string("its operand is no unfinished ") + (sum ? "sum" : "maximum"));
        return Share::whole;
      }
      case OpCode::splat:
      case OpCode::broadcast:
      case OpCode::neg:
        if (a == Share::zero || (a == Share::sum && op.code == OpCode::neg)) return a;
        break;
      case OpCode::add:
      case OpCode::sub:
        if (plain(a) && plain(b)) return a == Share::zero && b == Share::zero ? a : Share::whole;
        if (meet(a, b) == Share::sum) return Share::sum;
        if (a == Share::max && plain(b)) return a;
        if (b == Share::max && plain(a) && op.code == OpCode::add) return b;
        break;
      case OpCode::mul:
        if (plain(a) && plain(b)) return std::min(a, b);
        if (meet(a, b) != Share::max && (plain(a) || plain(b))) return Share::sum;
        break;
      case OpCode::div:
        if (a == Share::sum && plain(b)) return a;
        break;
      case OpCode::max:
        if (meet(a, b) == Share::max) return Share::max;
        break;
      default: break;
    }
    refuse_operands(op);
    return Share::whole;
  }

  void refuse_operands(const Op& op) {
    for (Value v : op.operands)
      if (share_[v] > Share::whole)
        return refuse(op, std::string("an unfinished ") + text_of(share_[v]) +
                              " is used, of which each lane has its share; finish it first");
  }

  void refuse(const Op& op, std::string what) {
    if (final_) report_(op, std::move(what));
  }

  const Module& module_;
  const Report& report_;
  std::vector<Share> share_;
  std::map<const Op*, Held> begin_;
  bool changed_ = false, final_ = false;
};

}  // namespace

void verify_unfinished(const Module& module, const Report& report) {
  bool any = false;
  walk(module.body, [&](const Op& op) {
    any |= op.code == OpCode::finish || (op.code == OpCode::reduce && op.attrs.integer("partial") == 1);
  });
  if (any) Unfinished(module, report).run();
}

TLXJIT_NAMESPACE_END

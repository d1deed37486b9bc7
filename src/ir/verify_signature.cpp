// src/ir/verify_signature.cpp — what a call binds: how many parameters, every dim, extents and grid on the host.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <set>
#include <vector>

#include "src/ir/check_p.h"
#include "src/ir/signature_p.h"
#include "src/ir/verify_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

bool has_meaning(OpCode code) {
  switch (code) {
    case OpCode::constant:
    case OpCode::dim:
    case OpCode::scalar:
    case OpCode::sms: return true;
    // Of reals, or of bits that a number without a size lacks.
    case OpCode::min_nan:
    case OpCode::max_nan:
    case OpCode::mulhi:
    case OpCode::popcount:
    case OpCode::clz:
    case OpCode::bitcast: return false;
    default: return is_elementwise(code) && info(code).family != Family::math;
  }
}

/// The ops that extents and the grid are made of.
class HostOps {
 public:
  HostOps(const Module& module, const Report& report) : module_(module), report_(report) {}

  void reserve(size_t ops) { others_ += ops; }

  void add(const Op& user, Value value) {
    std::vector<Value> open = {value};
    while (!open.empty()) {
      const Value v = open.back();
      open.pop_back();
      if (!seen_.insert(v).second) continue;
      const Op& op = *module_.def(v);  // outside tasks nothing else has values
      if (std::string what = check_host_op(module_, op); !what.empty()) {
        report_(op, std::move(what));
        continue;
      }
      if (!too_many_ && seen_.size() + others_ > max_host_ops) {
        too_many_ = true;
        report_(user, "the expressions for extents and grid have more than " + std::to_string(max_host_ops) + " ops");
      }
      open.insert(open.end(), op.operands.begin(), op.operands.end());
    }
  }

 private:
  const Module& module_;
  const Report& report_;
  std::set<Value> seen_;
  size_t others_ = 0;
  bool too_many_ = false;
};

}  // namespace

std::string check_host_op(const Module& module, const Op& op) {
  if (!has_meaning(op.code)) return "has no value on the host, which needs it for an extent or the grid";
  const Elem elem = module.type(op.results[0]).elem;
  const Attr* value = op.attrs.find("value");
  if ((op.code == OpCode::constant && (!value || !std::holds_alternative<int64_t>(*value))) ||
      (op.code == OpCode::scalar && !is_int(elem) && elem != Elem::b1))
    return "is no integer, and cannot be part of an extent or the grid";
  if (op.code == OpCode::cast && !op.attrs.all().empty())
    return "saturates or rounds in its own way, and cannot be part of an extent or the grid";
  return {};
}

void verify_signature(const Module& module, const Report& report) {
  size_t tensors = 0, dims = 0, scalars = 0;
  std::set<Value> bound;
  HostOps host(module, report);
  const auto count = [&](const Op& op, size_t& n, size_t most) {
    if (++n == most + 1)
      report(op, "a kernel has at most " + std::to_string(max_tensors) + " tensors, " + std::to_string(max_dims) +
                     " dims and " + std::to_string(max_scalars) + " scalars");
  };
  for (const auto& op : module.body.ops) switch (op->code) {
      case OpCode::dim: count(*op, dims, max_dims); break;
      case OpCode::scalar: count(*op, scalars, max_scalars); break;
      case OpCode::tensor:
        count(*op, tensors, max_tensors);
        for (Value extent : op->operands)
          if (module.def(extent)->code == OpCode::dim)
            bound.insert(extent);
          else
            host.add(*op, extent);
        break;
      case OpCode::schedule:
        if (op->attrs.text("kind") != "grid") host.reserve(2);  // the lesser of the tiles and of what the device runs
        [[fallthrough]];
      case OpCode::grid: host.add(*op, op->operands[0]); break;
      default: break;
    }
  for (const auto& op : module.body.ops)
    if (op->code == OpCode::dim && !bound.count(op->results[0]))
      report(*op, "`" + std::string(op->attrs.text("name")) +
                      "` is the extent of no tensor, so a call cannot bind it; make it a scalar parameter");
}

TLXJIT_NAMESPACE_END

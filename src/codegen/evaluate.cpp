// src/codegen/evaluate.cpp — module-level integer expressions on the host, exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "src/codegen/abi_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

class Evaluator {
 public:
  Evaluator(const Module& module, const HostInputs& inputs) : module_(module), inputs_(inputs) {
    size_t dims = 0, scalars = 0;
    for (const auto& op : module.body.ops) {
      if (op->code == OpCode::dim && dims < inputs.dims.size()) known_[op->result()] = inputs.dims[dims++];
      if (op->code == OpCode::scalar && scalars < inputs.scalars.size())
        known_[op->result()] = inputs.scalars[scalars++];
    }
  }

  Result<int64_t> value(Value v) {
    if (auto found = known_.find(v); found != known_.end()) return found->second;
    const Op* op = module_.def(v);
    if (!op) return fault(nullptr, "a value without a defining op");
    auto result = compute(*op);
    if (!result) return result;
    if (!fits(*result, module_.type(v).elem))
      return fault(op, std::string(info(op->code).text) + " gives " + std::to_string(*result) + ", which is no " +
                           to_string(module_.type(v)));
    known_[v] = *result;
    return result;
  }

 private:
  static bool fits(int64_t x, Elem elem) {
    if (elem == Elem::b1) return x == 0 || x == 1;
    if (!is_int(elem)) return false;
    const int n = bits(elem);
    if (is_unsigned_int(elem)) return x >= 0 && (n >= 63 || x < (int64_t{1} << n));
    return n == 64 || (x >= -(int64_t{1} << (n - 1)) && x < (int64_t{1} << (n - 1)));
  }

  Error fault(const Op* op, std::string message) const {
    Error error;
    error.kind = ErrorKind::user;
    error.stage = Stage::launch;
    error.code = ErrorCode::bad_argument;
    error.message = "the host cannot evaluate an expression of the kernel: " + std::move(message);
    if (op) error.location = module_.location(*op);
    return error;
  }

  Result<int64_t> compute(const Op& op) {
    switch (op.code) {
      case OpCode::constant: {
        const Attr* attr = op.attrs.find("value");
        const auto* i = attr ? std::get_if<int64_t>(attr) : nullptr;
        if (!i) return fault(&op, "a constant that is no integer");
        return *i;
      }
      case OpCode::sms: return inputs_.sms;
      case OpCode::dim:
      case OpCode::scalar: return fault(&op, "'" + std::string(op.attrs.text("name")) + "' is not bound");
      case OpCode::select: {
        auto condition = value(op.operand(0));
        if (!condition) return condition;
        return value(op.operand(*condition ? 1 : 2));
      }
      case OpCode::cast: return value(op.operand(0));
      case OpCode::bit_not:
      case OpCode::neg:
      case OpCode::abs: return unary(op);
      default: break;
    }
    if (info(op.code).scope != Scope::pure || op.operands.size() != 2)
      return fault(&op, std::string(info(op.code).text) + " has no meaning there");
    auto a = value(op.operand(0));
    if (!a) return a;
    auto b = value(op.operand(1));
    if (!b) return b;
    return binary(op, *a, *b);
  }

  Result<int64_t> unary(const Op& op) {
    auto a = value(op.operand(0));
    if (!a) return a;
    if (op.code == OpCode::bit_not) return module_.type(op.result()).elem == Elem::b1 ? int64_t{!*a} : ~*a;
    if (*a == std::numeric_limits<int64_t>::min()) return fault(&op, "overflow");
    return op.code == OpCode::neg || *a < 0 ? -*a : *a;
  }

  Result<int64_t> binary(const Op& op, int64_t a, int64_t b) {
    int64_t r = 0;
    switch (op.code) {
      case OpCode::add:
        if (__builtin_add_overflow(a, b, &r)) return fault(&op, "add overflows");
        return r;
      case OpCode::sub:
        if (__builtin_sub_overflow(a, b, &r)) return fault(&op, "sub overflows");
        return r;
      case OpCode::mul:
        if (__builtin_mul_overflow(a, b, &r)) return fault(&op, "mul overflows");
        return r;
      case OpCode::div:
      case OpCode::mod:
      case OpCode::ceil_div:
        if (b == 0) return fault(&op, std::string(info(op.code).text) + " by zero");
        if (b == -1)
          return op.code == OpCode::mod
                     ? 0
                     : (a == std::numeric_limits<int64_t>::min() ? fault(&op, "overflow") : Result<int64_t>(-a));
        if (op.code == OpCode::div) return a / b;
        if (op.code == OpCode::mod) return a % b;
        return a / b + (a % b > 0);
      case OpCode::min: return std::min(a, b);
      case OpCode::max: return std::max(a, b);
      case OpCode::bit_and: return a & b;
      case OpCode::bit_or: return a | b;
      case OpCode::bit_xor: return a ^ b;
      case OpCode::shl:
        if (b < 0 || b > 62 || __builtin_mul_overflow(a, int64_t{1} << b, &r)) return fault(&op, "shl overflows");
        return r;
      case OpCode::shr:
        if (b < 0 || b > 63) return fault(&op, "shr by " + std::to_string(b));
        return a >> b;
      case OpCode::cmp: {
        const std::string_view pred = op.attrs.text("pred");
        return pred == "eq"   ? a == b
               : pred == "ne" ? a != b
               : pred == "lt" ? a < b
               : pred == "le" ? a <= b
               : pred == "gt" ? a > b
                              : a >= b;
      }
      default: return fault(&op, std::string(info(op.code).text) + " has no meaning there");
    }
  }

  const Module& module_;
  const HostInputs& inputs_;
  std::unordered_map<Value, int64_t> known_;
};

}  // namespace

Result<int64_t> evaluate(const Module& module, Value value, const HostInputs& inputs) {
  if (value == no_value) return int64_t{1};
  return Evaluator(module, inputs).value(value);
}

TLXJIT_NAMESPACE_END

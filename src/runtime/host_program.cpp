// src/runtime/host_program.cpp — module-level integer expressions without allocation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/host_program_p.h"

#include <algorithm>
#include <limits>

#include "src/ir/signature_p.h"
#include "src/ir/words_p.h"
#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

Error refuse(const Module& module, const Op* op, const std::string& message) {
  Error error = error_of(ErrorKind::user, Stage::verify, ErrorCode::unsupported, message);
  if (op) error.location = module.location(*op);
  return error;
}

template <class List>
int64_t index_in(const List& list, Value value) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& item) { return item.value == value; });
  return found - list.begin();
}

}  // namespace

Result<uint16_t> HostProgram::add(const Module& module, const Abi& abi, Value value) {
  return add(module, abi, value, 0);
}

Result<uint16_t> HostProgram::add(const Module& module, const Abi& abi, Value value, size_t above) {
  for (const auto& [known, place] : places_)
    if (known == value) return place;
  const Op* op = module.def(value);
  if (!op) return refuse(module, op, "a block argument has no value on the host");
  if (const std::string what = check_host_op(module, *op); !what.empty())
    return refuse(module, op, std::string(info(op->code).text) + ": " + what);
  // The ops above this one become steps as well; asked first, so that a long chain does not exhaust the stack.
  if (steps_.size() + above >= max_steps)
    return refuse(module, op,
                  "the expressions for extents and grid have more than " + std::to_string(max_steps) + " ops");
  Step step;
  step.code = op->code;
  step.elem = module.type(value).elem;
  step.op = op;
  step.operands = static_cast<uint8_t>(op->operands.size());
  uint16_t* const inputs[] = {&step.a, &step.b, &step.c};
  for (size_t i = 0; i < op->operands.size() && i < 3; ++i) {
    auto place = add(module, abi, op->operand(i), above + 1);
    if (!place) return place;
    *inputs[i] = *place;
  }
  if (op->code == OpCode::constant) step.number = op->attrs.integer("value");
  if (op->code == OpCode::cmp) step.number = static_cast<int64_t>(word_of<Predicate>(*op, "pred"));
  if (op->code == OpCode::dim) step.number = index_in(abi.dims, value);
  if (op->code == OpCode::scalar) step.number = index_in(abi.scalars, value);
  steps_.push_back(step);
  const auto place = static_cast<uint16_t>(steps_.size() - 1);
  places_.emplace_back(value, place);
  return place;
}

HostProgram::Number HostProgram::compute(uint16_t place, std::span<const int32_t> dims,
                                         std::span<const uint64_t> scalars, int64_t sms,
                                         std::span<const Number> values) const {
  const Step& s = steps_[place];
  const Number &a = values[s.a], &b = values[s.b], &c = values[s.c];
  switch (s.code) {
    case OpCode::constant: return {s.number};
    case OpCode::sms: return {sms};
    case OpCode::dim: return {dims[static_cast<size_t>(s.number)]};
    case OpCode::scalar: return {integer_of(scalars[static_cast<size_t>(s.number)], s.elem)};
    default: break;
  }
  if (!a.ok()) return a;
  if (s.code == OpCode::select) return a.value ? b : c;
  if (s.operands > 1 && !b.ok()) return b;
  const Evaluated r = evaluate(s.code, s.elem, static_cast<Predicate>(s.number), a.value, b.value);
  return {r.value, r.lack, place};
}

void HostProgram::run(std::span<const int32_t> dims, std::span<const uint64_t> scalars, int64_t sms,
                      std::span<Number> values) const {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const auto step = static_cast<uint16_t>(i);
    values[i] = compute(step, dims, scalars, sms, values);
    if (values[i].ok() && !fits(values[i].value, steps_[i].elem)) values[i] = {0, Lack::overflow, step};
  }
}

}  // namespace runtime
TLXJIT_NAMESPACE_END

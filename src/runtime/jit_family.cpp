// src/runtime/jit_family.cpp — calls of one signature: the generic kernel, and which class a call is of.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/jit_family_p.h"

#include <algorithm>

#include "src/ir/evaluate_p.h"
#include "src/ir/ranges_p.h"
#include "src/runtime/call_plan_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/key_p.h"
#include "src/runtime/tensor_span_p.h"
#include "tlxjit/ir/text.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

constexpr int64_t alignment = 16;  // bytes: what vector accesses and tensor maps want

/// An argument's types in one number.
uint32_t kind_of(bool is_tensor, Elem elem, int rank) {
  const auto number = static_cast<uint32_t>(elem);
  return is_tensor ? number << 8 | static_cast<uint32_t>(rank + 1) << 16 : number;
}

uint32_t kind_of(const Argument& a) {
  return a.scalar == Elem::none ? kind_of(true, a.tensor.elem, a.tensor.rank) : kind_of(false, a.scalar, 0);
}

bool is_aligned(const TensorArg& t) { return reinterpret_cast<uintptr_t>(t.data) % alignment == 0; }

/// Two bits: aligned, narrow.
int64_t memory_class(const TensorPolicy& policy, const TensorArg& t) {
  return (policy.aligned && is_aligned(t) ? 1 : 0) | (policy.narrow && is_narrow(t) ? 2 : 0);
}

/// The stride that a promise can be made of: 0 or more. Where nothing moves along the axis any will do, and all calls
/// have the same.
int64_t stride_class(const TensorArg& t, size_t axis) {
  return t.dims[axis] <= 1 || t.strides[axis] < 0 ? -1 : t.strides[axis];
}

Error unknown(const std::string& what, const std::string& name) {
  return error_of(ErrorKind::user, Stage::build, ErrorCode::bad_argument,
                  "JitOptions name " + what + " `" + name + "`, which the kernel has not");
}

}  // namespace

std::string text_of(const Signature::Argument& a) {
  std::string out = a.name.empty() ? "" : a.name + ": ";
  out += to_string(a.elem);
  return a.is_tensor ? out + "[" + std::to_string(a.rank) + "]" : out;
}

Result<Signature> signature_of(std::span<const Argument> arguments, std::string target) {
  Signature s;
  s.target = std::move(target);
  if (arguments.size() > max_arguments)
    return error_of(ErrorKind::user, Stage::launch, ErrorCode::bad_argument,
                    "a kernel has at most " + std::to_string(max_arguments) + " arguments");
  for (const Argument& a : arguments) {
    const bool is_tensor = a.scalar == Elem::none;
    if (is_tensor && (a.tensor.rank < 1 || a.tensor.rank > TensorArg::max_rank))
      return error_of(ErrorKind::user, Stage::launch, ErrorCode::bad_argument,
                      "argument " + std::to_string(&a - arguments.data()) +
                          " is a tensor without axes, of more than 5, or with another number of strides");
    s.arguments.push_back(
        {is_tensor, is_tensor ? a.tensor.elem : a.scalar, is_tensor ? a.tensor.rank : 0, std::string(a.name)});
  }
  return s;
}

int64_t Family::Number::of(std::span<const Argument> arguments) const {
  const Argument& a = arguments[argument];
  return axis < 0 ? integer_of(a.bits, elem) : a.tensor.dims[static_cast<size_t>(axis)];
}

bool Family::Number::has_class(int64_t code) const {
  if (beyond(code)) return code == -1;
  const NumberRange all = axis < 0 ? range_of(elem) : NumberRange{0, INT32_MAX};
  const auto is_of_it = [&](Bound n) {
    return n >= all.low && n <= std::min(all.high, Bound{INT64_MAX}) &&
           policy.class_of(static_cast<int64_t>(n)) == code;
  };
  const Policy::Class c = policy.class_at(code);
  return is_of_it(std::max(Bound{c.least}, all.low)) || is_of_it(std::min(Bound{c.most}, all.high)) || is_of_it(0) ||
         is_of_it(1);
}

Result<std::unique_ptr<Family>> Family::make(Signature signature, Module generic, const JitOptions& options,
                                             uint64_t salt) {
  std::unique_ptr<Family> family(new Family);
  family->signature_ = std::move(signature);
  family->generic_ = std::move(generic);
  family->salt_ = salt * 0x9e3779b97f4a7c15u;
  family->ir_hash_ = key_text(print(family->generic_));
  for (const Signature::Argument& a : family->signature_.arguments) {
    family->kinds_.push_back(kind_of(a.is_tensor, a.elem, a.rank));
    family->named_ |= !a.name.empty();
  }
  TLXJIT_TRY(family->plan(options));
  return family;
}

/// The arguments of the kernel's parameters, by their order; an Error for a signature that no launch could bind.
Result<std::vector<size_t>> Family::places() const {
  std::vector<Argument> call;
  for (const Signature::Argument& a : signature_.arguments) {
    TensorArg tensor;
    tensor.elem = a.elem;
    tensor.rank = a.rank;
    call.emplace_back(tensor);
    if (!a.is_tensor) call.back().scalar = a.elem;
    call.back().name = a.name;
  }
  const ParameterList parameters(generic_);
  std::array<const Argument*, max_arguments> given{};
  TLXJIT_TRY(parameters.match(call, given));
  std::vector<size_t> places;
  for (size_t i = 0; i < parameters.all.size(); ++i) places.push_back(static_cast<size_t>(given[i] - call.data()));
  return places;
}

/// Which argument each number and tensor of the module comes from, and how it is classed.
Result<void> Family::plan(const JitOptions& options) {
  const auto places = this->places();
  if (!places) return places.error();
  std::vector<const Op*> dims, tensors, scalars;
  for (const auto& op : generic_.body.ops) {
    if (op->code == OpCode::dim) dims.push_back(op.get());
    if (op->code == OpCode::tensor) tensors.push_back(op.get());
    if (op->code == OpCode::scalar) scalars.push_back(op.get());
  }
  const auto name_of = [](const Op* op) { return std::string(op->attrs.text("name")); };
  const auto policy_of = [&](const std::string& name, const Policy& other) {
    const auto found = options.numbers.find(name);
    return found == options.numbers.end() ? other : found->second;
  };
  const auto add = [&](std::vector<std::optional<Number>>& to, std::optional<Number> number) {
    if (number && number->policy.is_any()) number.reset();
    if (number) policies_ += number->name + " " + number->policy.text() + "; ";
    code_count_ += number.has_value();
    to.push_back(std::move(number));
  };
  for (const Op* dim : dims) {
    std::optional<Number> number;
    for (size_t i = 0; i < tensors.size() && !number; ++i)
      for (size_t axis = 0; axis < tensors[i]->operands.size() && !number; ++axis)
        if (tensors[i]->operand(axis) == dim->result())
          number = Number{name_of(dim), policy_of(name_of(dim), options.other_dims), (*places)[i],
                          static_cast<int>(axis), Elem::i32};
    add(dims_, std::move(number));
  }
  for (size_t i = 0; i < scalars.size(); ++i) {
    const Elem elem = generic_.type(scalars[i]->result()).elem;
    std::optional<Number> number;
    if (is_int(elem))
      number = Number{name_of(scalars[i]), policy_of(name_of(scalars[i]), options.other_integers),
                      (*places)[tensors.size() + i], -1, elem};
    add(scalars_, std::move(number));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto found = options.tensors.find(name_of(tensors[i]));
    const TensorPolicy policy = found == options.tensors.end() ? options.other_tensors : found->second;
    std::optional<Memory> memory;
    if (policy.aligned || policy.narrow || policy.strides)
      memory = Memory{name_of(tensors[i]), policy, (*places)[i], static_cast<int>(tensors[i]->operands.size())};
    if (memory)
      policies_ += memory->name + (policy.aligned ? " aligned" : "") + (policy.narrow ? " narrow" : "") +
                   (policy.strides ? " strides" : "") + "; ";
    code_count_ += memory ? 1 + (policy.strides ? static_cast<size_t>(memory->rank) - 1 : 0) : 0;
    tensors_.push_back(std::move(memory));
  }
  for (const auto& [name, policy] : options.numbers) {
    const auto is_it = [&](const Op* op) {
      return op->attrs.text("name") == name && (op->code == OpCode::dim || is_int(generic_.type(op->result()).elem));
    };
    if (std::none_of(dims.begin(), dims.end(), is_it) && std::none_of(scalars.begin(), scalars.end(), is_it))
      return unknown("a dim or integer", name);
  }
  for (const auto& [name, policy] : options.tensors)
    if (std::none_of(tensors.begin(), tensors.end(), [&](const Op* op) { return op->attrs.text("name") == name; }))
      return unknown("a tensor", name);
  return {};
}

bool Family::matches(std::span<const Argument> arguments) const {
  if (arguments.size() != kinds_.size()) return false;
  for (size_t i = 0; i < kinds_.size(); ++i)
    if (kind_of(arguments[i]) != kinds_[i]) return false;
  for (size_t i = 0; i < kinds_.size(); ++i) {
    if (!named_ && arguments[i].name.empty()) continue;
    if (arguments[i].name != signature_.arguments[i].name) return false;
  }
  return true;
}

void Family::classify(std::span<const Argument> arguments, CallClass& c) const {
  c.size = 0;
  for (const auto* numbers : {&dims_, &scalars_})
    for (const auto& n : *numbers)
      if (n) c.codes[c.size++] = n->code_of(arguments);
  for (const auto& m : tensors_) {
    if (!m) continue;
    const TensorArg& t = arguments[m->argument].tensor;
    c.codes[c.size++] = memory_class(m->policy, t);
    if (!m->policy.strides) continue;
    for (size_t axis = 0; axis + 1 < static_cast<size_t>(m->rank); ++axis) c.codes[c.size++] = stride_class(t, axis);
  }
  finish(c);
}

bool Family::accepts(std::span<const int64_t> codes) const {
  if (codes.size() != code_count_) return false;
  size_t at = 0;
  for (const auto* numbers : {&dims_, &scalars_})
    for (const auto& n : *numbers)
      if (n && !n->has_class(codes[at++])) return false;
  for (const auto& m : tensors_) {
    if (!m) continue;
    const int64_t bits = (m->policy.aligned ? 1 : 0) | (m->policy.narrow ? 2 : 0);
    if (codes[at] < 0 || (codes[at] & ~bits) != 0) return false;
    ++at;
    if (!m->policy.strides) continue;
    for (int axis = 0; axis + 1 < m->rank; ++axis)
      if (codes[at++] < -1) return false;
  }
  return true;
}

Promises Family::promises(std::span<const int64_t> codes) const {
  Promises p;
  size_t at = 0;
  const auto add = [&](const std::vector<std::optional<Number>>& numbers, std::vector<NumberPromise>& to) {
    for (const auto& n : numbers) {
      to.emplace_back();
      if (n) to.back() = n->promise(codes[at++]);
    }
  };
  add(dims_, p.dims);
  add(scalars_, p.scalars);
  for (const auto& m : tensors_) {
    MemoryPromise memory;
    if (m) {
      const int64_t bits = codes[at++];
      if (bits & 1) memory.align = alignment;
      memory.narrow = bits & 2;
      if (m->policy.strides)
        for (size_t axis = 0; axis + 1 < static_cast<size_t>(m->rank); ++axis) memory.strides[axis] = codes[at++];
    }
    p.tensors.push_back(memory);
  }
  return p;
}

bool Family::keeps(std::span<const Argument> arguments, const Promises& promises) const {
  const auto all_kept = [&](const std::vector<std::optional<Number>>& numbers,
                            const std::vector<NumberPromise>& promised) {
    for (size_t i = 0; i < promised.size(); ++i)
      if (numbers[i] && !numbers[i]->keeps(arguments, promised[i])) return false;
    return true;
  };
  if (!all_kept(dims_, promises.dims) || !all_kept(scalars_, promises.scalars)) return false;
  for (size_t i = 0; i < promises.tensors.size(); ++i) {
    if (!tensors_[i]) continue;
    const TensorArg& t = arguments[tensors_[i]->argument].tensor;
    const MemoryPromise& p = promises.tensors[i];
    if ((p.align > 1 && !is_aligned(t)) || (p.narrow && !is_narrow(t))) return false;
    for (size_t axis = 0; axis + 1 < static_cast<size_t>(tensors_[i]->rank); ++axis)
      if (p.strides[axis] >= 0 && t.dims[axis] > 1 && t.strides[axis] != p.strides[axis]) return false;
  }
  return true;
}

std::string Family::text(std::span<const int64_t> codes) const {
  const Promises p = promises(codes);
  std::string out;
  const auto say = [&](const std::string& what) { out += (out.empty() ? "" : ", ") + what; };
  const auto say_numbers = [&](const std::vector<std::optional<Number>>& numbers,
                               const std::vector<NumberPromise>& promised) {
    for (size_t i = 0; i < promised.size(); ++i) {
      if (!numbers[i]) continue;
      const NumberPromise& n = promised[i];
      const std::string& name = numbers[i]->name;
      if (n.least == n.most) {
        say(name + " = " + std::to_string(n.least));
        continue;
      }
      if (n.least != INT64_MIN) say(name + " >= " + std::to_string(n.least));
      if (n.most != INT64_MAX) say(name + " <= " + std::to_string(n.most));
      if (n.multiple != 1) say(name + " % " + std::to_string(n.multiple) + " = 0");
    }
  };
  say_numbers(dims_, p.dims);
  say_numbers(scalars_, p.scalars);
  for (size_t i = 0; i < p.tensors.size(); ++i) {
    if (!tensors_[i]) continue;
    const std::string& name = tensors_[i]->name;
    if (p.tensors[i].align > 1) say(name + " aligned to " + std::to_string(p.tensors[i].align));
    if (p.tensors[i].narrow) say(name + " narrow");
    for (size_t axis = 0; axis < p.tensors[i].strides.size(); ++axis)
      if (p.tensors[i].strides[axis] >= 0)
        say(name + " stride " + std::to_string(axis) + " = " + std::to_string(p.tensors[i].strides[axis]));
  }
  return out.empty() ? "nothing" : out;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END

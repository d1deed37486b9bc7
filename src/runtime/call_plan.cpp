// src/runtime/call_plan.cpp — prepares the checks of a call; the signature as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/call_plan_p.h"

#include <algorithm>

#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN

std::string Parameter::text() const {
  std::string out = name + ": " + to_string(elem);
  if (!is_tensor) return out;
  out += '[';
  for (size_t i = 0; i < extents.size(); ++i) out += (i ? ", " : "") + extents[i];
  return out + ']';
}

namespace runtime {

namespace {

/// An expression as people write it; `depth` keeps absurd ones short.
std::string text_of(const Module& module, Value value, int depth = 0) {
  const Op* op = module.def(value);
  if (!op || depth > 6) return "…";
  switch (op->code) {
    case OpCode::constant: return std::to_string(op->attrs.integer("value"));
    case OpCode::dim:
    case OpCode::scalar: return std::string(op->attrs.text("name"));
    case OpCode::sms: return "sms";
    default: break;
  }
  const char* sign = op->code == OpCode::add   ? " + "
                     : op->code == OpCode::sub ? " - "
                     : op->code == OpCode::mul ? " * "
                     : op->code == OpCode::div ? " / "
                                               : nullptr;
  if (sign && op->operands.size() == 2) {
    std::string out = text_of(module, op->operand(0), depth + 1) + sign + text_of(module, op->operand(1), depth + 1);
    return depth ? "(" + out + ")" : out;
  }
  std::string out = std::string(info(op->code).text) + "(";
  for (size_t i = 0; i < op->operands.size(); ++i) out += (i ? ", " : "") + text_of(module, op->operand(i), depth + 1);
  return out + ")";
}

}  // namespace

ParameterList::ParameterList(const Module& module) : kernel(module.name) {
  for (const auto& op : module.body.ops) {
    if (op->code != OpCode::tensor) continue;
    all.push_back({std::string(op->attrs.text("name")), true, module.type(op->result()).elem, {}});
    for (Value extent : op->operands) all.back().extents.push_back(text_of(module, extent));
  }
  for (const auto& op : module.body.ops)
    if (op->code == OpCode::scalar)
      all.push_back({std::string(op->attrs.text("name")), false, module.type(op->result()).elem, {}});
  for (const Parameter& parameter : all) text += (text.empty() ? kernel + "(" : ", ") + parameter.text();
  text += text.empty() ? kernel + "()" : ")";
}

Result<CallPlan> CallPlan::make(const Module& module, const Abi& abi) {
  CallPlan plan;
  plan.parameters_ = ParameterList(module);
  plan.module_ = &module;
  for (const AbiScalar& dim : abi.dims) {
    const Op* op = module.def(dim.value);
    plan.dims_.push_back(
        {dim.name, op->attrs.integer("min"), op->attrs.integer("max", INT32_MAX), op->attrs.integer("multiple", 1)});
  }
  for (const AbiTensor& tensor : abi.tensors) {
    TensorPlan t;
    t.elem = tensor.elem;
    const Attrs& promised = module.def(tensor.value)->attrs;
    t.strides = promised.list("strides");
    t.align = static_cast<uintptr_t>(promised.integer("align", 1));
    t.narrow = promised.integer("narrow") != 0;
    for (Value extent : tensor.extents) {
      const auto dim = std::find_if(abi.dims.begin(), abi.dims.end(), [&](const auto& d) { return d.value == extent; });
      Extent e;
      if (dim != abi.dims.end()) {
        e.dim = static_cast<int>(dim - abi.dims.begin());
      } else {
        auto place = plan.program_.add(module, abi, extent);
        if (!place) return place.error();
        e.place = *place;
      }
      t.extents.push_back(e);
    }
    plan.tensors_.push_back(std::move(t));
  }
  for (const AbiMap& map : abi.maps) {
    plan.tensors_[map.tensor].mapped = true;
    plan.tensors_[map.tensor].stored |= map.store;
    if (map.ragged >= 0) plan.tensors_[map.tensor].ragged = map.ragged;
  }
  for (const AbiScalar& scalar : abi.scalars) {
    const Attrs& promised = module.def(scalar.value)->attrs;
    ScalarPlan s;
    if (const Attr* above = promised.find("above")) s.above = std::get<double>(*above);
    const NumberRange all = range_of(scalar.elem);
    s.least = promised.find("min") ? promised.integer("min") : all.low;
    s.most = promised.find("max") ? promised.integer("max") : all.high;
    s.multiple = promised.integer("multiple", s.multiple);
    s.is_number = promised.find("min") || promised.find("max") || promised.find("multiple");
    plan.scalars_.push_back(s);
  }
  if (abi.grid != no_value) {
    auto place = plan.program_.add(module, abi, abi.grid);
    if (!place) return place.error();
    plan.grid_ = *place;
    plan.grid_text_ = text_of(module, abi.grid);
  }
  for (const auto& op : module.body.ops)
    if (op->code == OpCode::cluster) plan.cluster_ = op.get();
  return plan;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END

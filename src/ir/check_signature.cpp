// src/ir/check_signature.cpp — rules of a kernel's parameters and of what it is promised of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bit>
#include <cmath>
#include <limits>

#include "src/ir/check_p.h"
#include "src/ir/evaluate_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// An attribute that is absent or an integer from `least` on.
bool is_integer(const Op& op, std::string_view name, int64_t least) {
  const Attr* attr = op.attrs.find(name);
  const int64_t* number = attr ? std::get_if<int64_t>(attr) : nullptr;
  return !attr || (number && *number >= least);
}

std::string check_dim(const Module& module, const Op& op) {
  const int64_t least = op.attrs.integer("min", op.attrs.find("min") ? -1 : 0);
  const int64_t most = op.attrs.integer("max", op.attrs.find("max") ? -1 : INT32_MAX);
  if (least < 0 || least > INT32_MAX) return "its least value is 0 to 2^31 − 1";
  if (most < least || most > INT32_MAX) return "its greatest value is the least, or more, up to 2^31 − 1";
  return is_i32(module.type(op.results[0])) ? "" : "gives i32";
}

std::string check_parameter(const Module& module, const Op& op) {
  const Type& t = module.type(op.results[0]);
  if (const Attr* above = op.attrs.find("above")) {
    const double* least = std::get_if<double>(above);
    if (!least || std::isnan(*least) || (t.elem != Elem::f32 && t.elem != Elem::f64))
      return "above is a real number, for a scalar of f32 or f64";
    if (*least == std::numeric_limits<double>::infinity()) return "no finite number is above infinity";
  }
  if (!t.is_scalar()) return "gives a scalar";
  for (const char* name : {"min", "max", "multiple"}) {
    if (!op.attrs.find(name)) continue;
    if (!is_int(t.elem)) return std::string(name) + " is for a scalar of integers";
    if (!is_integer(op, name, INT64_MIN) || !fits(op.attrs.integer(name), t.elem))
      return std::string(name) + " is a number of " + to_string(t.elem);
  }
  if (op.attrs.find("min") && op.attrs.find("max") && op.attrs.integer("max") < op.attrs.integer("min"))
    return "its greatest value is below its least";
  return {};
}

std::string check_tensor(const Module& module, const Op& op) {
  const Type& t = module.type(op.results[0]);
  if (t.kind != TypeKind::tensor || t.slots != static_cast<int32_t>(op.operands.size()) || t.slots < 1)
    return "has one extent per axis, 1 to 5 axes";
  if (bytes(t.elem) == 0) return std::string(to_string(t.elem)) + " has no whole bytes: keep it in u8, and bitcast";
  if (std::string what = check_indices(module, op, 0); !what.empty()) return what;
  for (Value extent : op.operands)
    if (std::string what = check_count(module, extent, "an extent"); !what.empty()) return what;
  if (const Attr* attr = op.attrs.find("strides")) {
    const auto* strides = std::get_if<std::vector<int64_t>>(attr);
    if (!strides || strides->size() + 1 != op.operands.size()) return "strides has one number per axis but the last";
    for (int64_t stride : *strides)
      if (stride < -1) return "a stride is 0 or more, or -1 for any";
  }
  if (!is_integer(op, "align", 1) || std::popcount(static_cast<uint64_t>(op.attrs.integer("align", 1))) != 1)
    return "align is a power of two";
  if (op.attrs.find("narrow") && op.attrs.integer("narrow") != 1) return "narrow is 1, or not there";
  return {};
}

}  // namespace

std::string check_signature(const Module& module, const Op& op) {
  if (op.attrs.text("name").empty()) return "needs a name";
  if (op.code == OpCode::tensor) return check_tensor(module, op);
  if (!is_integer(op, "multiple", 1)) return "multiple is an integer from 1 on";
  return op.code == OpCode::dim ? check_dim(module, op) : check_parameter(module, op);
}

TLXJIT_NAMESPACE_END

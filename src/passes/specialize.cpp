// src/passes/specialize.cpp — writes promises into a module's parameters, and folds what follows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/specialize_p.h"

#include <algorithm>
#include <numeric>

#include "src/ir/ranges_p.h"
#include "src/passes/lower_p.h"
#include "src/passes/simplify_p.h"
#include "tlxjit/ir/verify.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// The stricter of what the op says and of the promise, as numbers of the op's type: classes know of none. An Error
/// where they exclude each other.
Result<void> promise(const Module& module, Op& op, const NumberPromise& p) {
  const Elem elem = module.type(op.result()).elem;
  const NumberRange all = op.code == OpCode::dim ? NumberRange{0, INT32_MAX} : range_of(elem);
  const auto own = [&](const char* name, Bound otherwise) {
    return op.attrs.find(name) ? Bound{op.attrs.integer(name)} : otherwise;
  };
  const Bound least = std::max(own("min", all.low), Bound{p.least});
  const Bound most = std::min(own("max", all.high), p.most == INT64_MAX ? all.high : Bound{p.most});
  if (least > most)
    return lower_error(module, op,
                       "no call can keep what is promised here of `" + std::string(op.attrs.text("name")) +
                           "` beside what the kernel asks for");
  const bool known = least == most;  // a number has both bounds written, also at the end of its range
  if (known || least != all.low) op.attrs.set("min", static_cast<int64_t>(least));
  if (known || most != all.high) op.attrs.set("max", static_cast<int64_t>(most));
  const int64_t multiple = op.attrs.integer("multiple", 1);
  const Bound both = Bound{multiple / std::gcd(multiple, p.multiple)} * p.multiple;
  // What no multiple can be written for is hardly more than 0, and is not said.
  if (both != 1 && both <= std::min(all.high, Bound{INT32_MAX})) op.attrs.set("multiple", static_cast<int64_t>(both));
  return {};
}

void promise(Op& op, const MemoryPromise& p) {
  std::vector<int64_t> strides = op.attrs.list("strides");
  strides.resize(op.operands.size() - 1, -1);
  bool any = false;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    if (strides[axis] < 0) strides[axis] = p.strides[axis];
    any |= strides[axis] >= 0;
  }
  if (any) op.attrs.set("strides", std::move(strides));
  if (const int64_t align = std::max(op.attrs.integer("align", 1), p.align); align > 1) op.attrs.set("align", align);
  if (p.narrow) op.attrs.set("narrow", int64_t{1});
}

}  // namespace

Result<Module> specialize(const Module& generic, const Promises& promises) {
  Module module = generic.clone();
  size_t dim = 0, scalar = 0, tensor = 0;
  for (auto& op : module.body.ops) {
    if (op->code == OpCode::dim && dim < promises.dims.size()) TLXJIT_TRY(promise(module, *op, promises.dims[dim++]));
    if (op->code == OpCode::scalar && scalar < promises.scalars.size())
      TLXJIT_TRY(promise(module, *op, promises.scalars[scalar++]));
    if (op->code == OpCode::tensor && tensor < promises.tensors.size()) promise(*op, promises.tensors[tensor++]);
  }
  simplify(module);
  TLXJIT_TRY(first_of(verify(module)));
  return module;
}

TLXJIT_NAMESPACE_END

// src/runtime/bind.cpp — compares a call's arguments with the signature. Allocates only to report an error.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "src/runtime/call_plan_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/tensor_span_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

constexpr int64_t max_extent = std::numeric_limits<int32_t>::max();

Error bad(std::string message) {
  return error_of(ErrorKind::user, Stage::launch, ErrorCode::bad_argument, std::move(message));
}

std::string number(int64_t n) { return std::to_string(n); }

/// One of i64 or of u64.
std::string wide_number(Bound n) {
  return n > INT64_MAX ? std::to_string(static_cast<uint64_t>(n)) : number(static_cast<int64_t>(n));
}

std::string real(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", x);
  return text;
}

bool is_empty(const TensorArg& t) {
  return std::any_of(t.dims.begin(), t.dims.begin() + t.rank, [](int64_t d) { return d == 0; });
}

}  // namespace

Error ParameterList::fault(size_t parameter, const std::string& what) const {
  return bad("argument `" + all[parameter].name + "` " + what);
}

Result<void> ParameterList::match(std::span<const Argument> arguments, std::span<const Argument*> given) const {
  size_t position = 0;
  bool named = false;
  for (const Argument& argument : arguments) {
    size_t parameter = position;
    if (argument.name.empty()) {
      if (named) return bad("an argument without a name follows one with a name; give the rest names too");
      if (position == all.size())
        return bad("`" + kernel + "` takes " + number(static_cast<int64_t>(all.size())) + " arguments and " +
                   number(static_cast<int64_t>(arguments.size())) + " were given: " + text);
      ++position;
    } else {
      named = true;
      const auto found =
          std::find_if(all.begin(), all.end(), [&](const Parameter& p) { return p.name == argument.name; });
      if (found == all.end())
        return bad("`" + kernel + "` has no parameter `" + std::string(argument.name) + "`: " + text);
      parameter = static_cast<size_t>(found - all.begin());
      if (given[parameter]) return fault(parameter, "is given twice");
    }
    given[parameter] = &argument;
    const Parameter& p = all[parameter];
    const bool is_tensor = argument.scalar == Elem::none;
    if (is_tensor != p.is_tensor)
      return fault(parameter, std::string(is_tensor ? "is a tensor" : "is a scalar") + ", and the kernel wants a " +
                                  (p.is_tensor ? "tensor: " : "scalar: ") + p.text());
    const Elem elem = is_tensor ? argument.tensor.elem : argument.scalar;
    if (elem != p.elem)
      return fault(parameter, std::string("is of ") + to_string(elem) + ", and the kernel wants " + to_string(p.elem) +
                                  ": convert it, or build the kernel for " + to_string(elem));
    if (is_tensor && argument.tensor.rank == -1)
      return fault(parameter, "has another number of strides than of dimensions");
    if (is_tensor && argument.tensor.rank != static_cast<int>(p.extents.size()))
      return fault(parameter, "has " + number(argument.tensor.rank) + " dimensions, and the kernel wants " +
                                  number(static_cast<int64_t>(p.extents.size())) + ": " + p.text());
  }
  for (size_t i = 0; i < all.size(); ++i)
    if (!given[i]) return fault(i, "is missing: " + text);
  return {};
}

Result<void> CallPlan::bind_extents(std::span<const Argument*> given, CallFrame& frame) const {
  std::array<int8_t, max_dims> by;  // the tensor that bound a dim
  by.fill(-1);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const TensorPlan& plan = tensors_[i];
    const TensorArg& t = given[i]->tensor;
    for (size_t axis = 0; axis < plan.extents.size(); ++axis) {
      const int64_t extent = t.dims[axis];
      if (extent < 0 || extent > max_extent)
        return fault(i, "has extent " + number(extent) + " in dimension " + number(static_cast<int64_t>(axis)) +
                            "; 0 to 2147483647 are possible" + (extent < 0 ? "" : ": split the call"));
      const int dim = plan.extents[axis].dim;
      if (dim < 0) continue;
      const auto d = static_cast<size_t>(dim);
      if (by[d] < 0) {
        by[d] = static_cast<int8_t>(i);
        frame.dims[d] = static_cast<int32_t>(extent);
        const auto here = [&] {
          return "has extent " + number(extent) + " in dimension " + number(static_cast<int64_t>(axis)) + " (" +
                 dims_[d].name + "), and the kernel ";
        };
        if (extent < dims_[d].least) return fault(i, here() + "was promised at least " + number(dims_[d].least));
        if (extent > dims_[d].most)
          return fault(i, here() + "takes at most " + number(dims_[d].most) + ": split the call");
        if (dims_[d].multiple != 1 && extent % dims_[d].multiple != 0)
          return fault(i, here() + "was promised a multiple of " + number(dims_[d].multiple));
      } else if (frame.dims[d] != extent) {
        return fault(i, "has extent " + number(extent) + " in dimension " + number(static_cast<int64_t>(axis)) + " (" +
                            dims_[d].name + "), which is " + number(frame.dims[d]) + " in `" +
                            parameters_.all[static_cast<size_t>(by[d])].name + "`");
      }
    }
  }
  return {};
}

Result<void> CallPlan::check_expressions(std::span<const Argument*> given, int64_t sms, CallFrame& frame) const {
  using Lack = HostProgram::Lack;
  std::array<HostProgram::Number, HostProgram::max_steps> values;
  program_.run({frame.dims.data(), dims_.size()}, {frame.scalars.data(), parameters_.all.size() - tensors_.size()}, sms,
               values);
  for (size_t i = 0; i < tensors_.size(); ++i)
    for (size_t axis = 0; axis < tensors_[i].extents.size(); ++axis) {
      const Extent& extent = tensors_[i].extents[axis];
      if (extent.dim >= 0) continue;
      const HostProgram::Number& wanted = values[extent.place];
      const int64_t is = given[i]->tensor.dims[axis];
      if (wanted.ok() && wanted.value == is) continue;
      return fault(i, "has extent " + number(is) + " in dimension " + number(static_cast<int64_t>(axis)) +
                          ", and the kernel wants " + parameters_.all[i].extents[axis] +
                          (wanted.lack == Lack::division_by_zero ? ", which divides by 0 in this call"
                           : wanted.lack == Lack::overflow       ? ", which is no i32 in this call"
                           : parameters_.all[i].extents[axis] == number(wanted.value) ? ""
                                                                                      : " = " + number(wanted.value)));
    }
  const HostProgram::Number grid = grid_ < 0 ? HostProgram::Number{1} : values[static_cast<size_t>(grid_)];
  if (!grid.ok() || grid.value > max_extent) {
    Error error = bad(grid.lack == Lack::division_by_zero
                          ? "the number of programs of this call, " + grid_text_ + ", divides by 0"
                          : "the number of programs of this call is beyond 2^31: split the call");
    const uint16_t place = grid.ok() ? static_cast<uint16_t>(grid_) : grid.place;
    if (const Op* op = program_.op(place)) error.log = "grid: " + to_string(module_->location(*op));
    return error;
  }
  frame.grid = static_cast<int32_t>(std::max<int64_t>(grid.value, 0));
  if (cluster_ && frame.grid % cluster_->attrs.integer("size") != 0) {
    Error error = bad("`" + module_->name + "`: the grid of " + std::to_string(frame.grid) +
                      " programs is no multiple of the cluster of " + std::to_string(cluster_->attrs.integer("size")));
    error.log = "cluster: " + to_string(module_->location(*cluster_));
    return error;
  }
  return {};
}

Result<void> CallPlan::check_scalar(size_t index, const Argument& given) const {
  const ScalarPlan& plan = scalars_[index - tensors_.size()];
  if (plan.is_number) {
    const Bound value = given.scalar == Elem::u64 ? Bound{given.bits} : integer_of(given.bits, given.scalar);
    const auto promised = [&](const std::string& what) {
      return fault(index, "is " + wide_number(value) + ", and the kernel was promised " + what);
    };
    if (value < plan.least) return promised("at least " + wide_number(plan.least));
    if (value > plan.most) return promised("at most " + wide_number(plan.most));
    if (value % plan.multiple != 0) return promised("a multiple of " + number(plan.multiple));
  }
  const std::optional<double>& above = plan.above;
  if (!above) return {};
  const double value = parameters_.all[index].elem == Elem::f64
                           ? std::bit_cast<double>(given.bits)
                           : static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(given.bits)));
  if (std::isfinite(value) && value > *above) return {};
  return fault(index, "is " + real(value) + ", and the kernel wants a finite number above " + real(*above));
}

Result<void> CallPlan::check_map(size_t index, const TensorArg& t) const {
  const TensorPlan& plan = tensors_[index];
  const int64_t size = bytes(plan.elem);
  if (reinterpret_cast<uintptr_t>(t.data) % 16 != 0)
    return fault(index,
                 "begins at an address that is no multiple of 16 bytes, which the copies of this target need: "
                 "allocate it so, or begin at another element");
  for (int axis = 0; axis + 1 < t.rank; ++axis) {
    const auto a = static_cast<size_t>(axis);
    if (t.dims[a] <= 1) continue;
    if (t.strides[a] < 0 || t.strides[a] >= (int64_t{1} << 34))
      return fault(index, "has stride " + number(t.strides[a]) + " in dimension " + number(axis) +
                              "; the copies of this target need 0 to 2^34 - 1: copy the tensor to a packed one");
    if (t.strides[a] * size % 16 != 0)
      return fault(index, "has a stride of " + number(t.strides[a] * size) + " bytes in dimension " + number(axis) +
                              ", no multiple of 16, which the copies of this target need: pad the rows");
    if (axis == plan.ragged && (t.dims[a] > (int64_t{1} << 30) || t.strides[a] * size >= (int64_t{1} << 34)))
      return fault(index, "has more than 2^30 rows, or rows of 2^34 bytes, in the jagged dimension: split the call");
  }
  // Seen on an H200: loads end exactly at the extent, stores at the next multiple of 16 bytes.
  const int64_t row = t.dims[static_cast<size_t>(t.rank - 1)] * size;
  if (plan.stored && row % 16 != 0)
    return fault(index, "has rows of " + number(row) +
                            " bytes; the copies of this target store multiples of 16 and would write past their end: "
                            "pad the innermost extent");
  return {};
}

Result<void> CallPlan::check_device(size_t index, const TensorArg& t, const CallPlace& place) const {
  constexpr std::array<char, 16> unknown{};
  if (t.device == place.device || t.device == unknown || place.device == unknown) return {};
  const std::string here(place.device.data());
  return fault(index, "is in memory of " + std::string(t.device.data(), strnlen(t.device.data(), t.device.size())) +
                          ", and the kernel runs on " + here + ": copy the tensor to a buffer of " + here);
}

Result<void> CallPlan::check_capacity(size_t index, const TensorArg& t) const {
  __int128 low = 0, high = 1;  // elements, from the first on
  for (size_t axis = 0; axis < static_cast<size_t>(t.rank); ++axis) {
    const __int128 span = static_cast<__int128>(t.dims[axis] - 1) * t.strides[axis];
    (span < 0 ? low : high) += span;
  }
  if (low < 0) return fault(index, "begins before its buffer: its strides are negative");
  const __int128 over = high * bytes(t.elem) - t.capacity;
  if (over <= 0) return {};
  const bool huge = over > std::numeric_limits<int64_t>::max();
  return fault(index, "ends " + (huge ? "2^63 or more" : number(static_cast<int64_t>(over))) +
                          " bytes behind its buffer: allocate more, or check the extents");
}

Result<void> CallPlan::check_promises(size_t index, const TensorArg& t, const BoundTensor& bound) const {
  const TensorPlan& plan = tensors_[index];
  if (reinterpret_cast<uintptr_t>(t.data) % plan.align != 0)
    return fault(index, "begins at an address that is no multiple of the promised " +
                            number(static_cast<int64_t>(plan.align)) + " bytes");
  for (size_t axis = 0; axis < plan.strides.size(); ++axis)
    if (plan.strides[axis] >= 0 && plan.strides[axis] != bound.strides[axis] && t.dims[axis] > 1)
      return fault(index, "has stride " + number(t.strides[axis]) + " in dimension " +
                              number(static_cast<int64_t>(axis)) + ", and the kernel was promised " +
                              number(plan.strides[axis]));
  if (plan.narrow && !is_narrow(t))
    return fault(index, "has elements 2^31 or more elements from its first, and the kernel was promised none");
  return {};
}

Result<void> CallPlan::bind_memory(size_t index, const TensorArg& t, const CallPlace& place, BoundTensor& bound) const {
  bound.data = t.data;
  bound.dims = t.dims;
  bound.strides = t.strides;
  bound.empty = is_empty(t);
  if (bound.empty) return {};
  TLXJIT_TRY(check_device(index, t, place));
  if (t.rank == 0) return {};
  if (!t.data) return fault(index, "is a null pointer, and its extents are not 0");
  const auto last = static_cast<size_t>(t.rank - 1);
  if (t.dims[last] > 1 && t.strides[last] != 1)
    return fault(index, "has stride " + number(t.strides[last]) +
                            " in its innermost dimension, and the kernel wants 1: copy it to a packed tensor");
  const auto size = static_cast<uintptr_t>(std::max(bytes(t.elem), 1));
  if (reinterpret_cast<uintptr_t>(t.data) % size != 0)
    return fault(index, "begins at an address that is no multiple of its element's " +
                            number(static_cast<int64_t>(size)) + " bytes");
  if (tensors_[index].mapped) TLXJIT_TRY(check_map(index, t));
  if (t.capacity >= 0) TLXJIT_TRY(check_capacity(index, t));
  // Strides along which nothing moves may be anything; these suit every use.
  const auto unit = static_cast<int64_t>(std::max<uintptr_t>(16 / size, 1));
  const int64_t row = (std::max<int64_t>(t.dims[last], 1) + unit - 1) / unit * unit;
  bound.strides[last] = 1;
  for (size_t axis = 0; axis < last; ++axis)
    if (t.dims[axis] <= 1) bound.strides[axis] = row;
  return check_promises(index, t, bound);
}

Result<void> CallPlan::bind(std::span<const Argument> arguments, const CallPlace& place, CallFrame& frame) const {
  std::array<const Argument*, max_tensors + max_scalars> given{};
  TLXJIT_TRY(parameters_.match(arguments, given));
  TLXJIT_TRY(bind_extents(given, frame));
  for (size_t i = tensors_.size(); i < parameters_.all.size(); ++i) {
    TLXJIT_TRY(check_scalar(i, *given[i]));
    frame.scalars[i - tensors_.size()] = given[i]->bits;
  }
  TLXJIT_TRY(check_expressions(given, place.programs_at_once, frame));
  for (size_t i = 0; i < tensors_.size(); ++i) TLXJIT_TRY(bind_memory(i, given[i]->tensor, place, frame.tensors[i]));
  return {};
}

BoundCall CallPlan::view(const CallFrame& frame) const {
  return {{frame.dims.data(), dims_.size()},
          {frame.tensors.data(), tensors_.size()},
          {frame.scalars.data(), parameters_.all.size() - tensors_.size()},
          frame.grid};
}

}  // namespace runtime
TLXJIT_NAMESPACE_END

// bench/gpu/pack.cpp — packs parameters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/gpu/pack.h"

#include <fmt/format.h>

namespace tlxjit::bench {
namespace {

Error fault(std::string message) {
  Error error;
  error.kind = ErrorKind::user;
  error.stage = Stage::launch;
  error.code = ErrorCode::bad_argument;
  error.message = std::move(message);
  return error;
}

template <class Map>
const typename Map::mapped_type* find(const Map& map, const std::string& name) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : &found->second;
}

Result<nvidia::TensorElem> elem_of_map(Elem elem) {
  switch (elem) {
    case Elem::bf16: return nvidia::TensorElem::bf16;
    case Elem::f16: return nvidia::TensorElem::f16;
    case Elem::f32: return nvidia::TensorElem::f32;
    case Elem::i32: return nvidia::TensorElem::i32;
    default: return fault("the benchmarks have no tensor map for elements of this type");
  }
}

Result<nvidia::TensorMapSpec> spec_of(const AbiMap& map, const AbiTensor& tensor, const TensorArgument& argument,
                                      const std::vector<int64_t>& extents) {
  if (map.ragged >= 0) return fault("the benchmarks pass no ragged tensors");
  const auto elem = elem_of_map(tensor.elem);
  if (!elem) return elem.error();
  nvidia::TensorMapSpec spec;
  spec.elem = *elem;
  spec.base = argument.address;
  spec.swizzle = static_cast<unsigned>(map.swizzle);
  const size_t rank = extents.size();
  spec.rank = static_cast<uint32_t>(rank);
  if (rank > spec.dims.size()) return fault("a tensor map has at most 5 axes");
  for (size_t i = 0; i < rank; ++i) {  // the driver counts axes from the innermost
    const size_t axis = rank - 1 - i;
    spec.dims[i] = static_cast<uint64_t>(extents[axis]);
    spec.box[i] = static_cast<uint32_t>(map.box[axis]);
    if (i > 0) spec.byte_strides[i - 1] = static_cast<uint64_t>(argument.strides[axis] * bytes(tensor.elem));
  }
  return spec;
}

Result<void> push_scalar(Parameters& params, const AbiScalar& scalar, double value) {
  bool fits = false;
  switch (scalar.elem) {
    case Elem::f32: fits = params.push(static_cast<float>(value)); break;
    case Elem::i32: fits = params.push(static_cast<int32_t>(value)); break;
    case Elem::i64: fits = params.push(static_cast<int64_t>(value)); break;
    default: return fault("scalar '" + scalar.name + "': the benchmarks pass f32, i32 and i64 only");
  }
  if (!fits) return fault("the kernel has more than 4096 bytes of parameters");
  return {};
}

}  // namespace

Result<Packed> pack(const Module& lowered, const Abi& abi, const Call& call, const Encode& encode) {
  HostInputs inputs;
  inputs.sms = call.sms;
  inputs.scalars.assign(abi.scalars.size(), 0);
  for (const AbiScalar& dim : abi.dims) {
    const int64_t* size = find(call.dims, dim.name);
    if (!size) return fault("the call does not say how large '" + dim.name + "' is");
    inputs.dims.push_back(*size);
  }
  std::vector<const TensorArgument*> arguments;
  std::vector<std::vector<int64_t>> extents;
  for (const AbiTensor& tensor : abi.tensors) {
    const TensorArgument* argument = find(call.tensors, tensor.name);
    if (!argument) return fault("the call has no tensor '" + tensor.name + "'");
    if (argument->strides.size() + 1 != tensor.extents.size())
      return fault(fmt::format("tensor '{}' has {} axes, the call gives {} strides", tensor.name, tensor.extents.size(),
                               argument->strides.size()));
    arguments.push_back(argument);
    std::vector<int64_t>& sizes = extents.emplace_back();
    for (const Value extent : tensor.extents) {
      const auto size = evaluate(lowered, extent, inputs);
      if (!size) return size.error();
      sizes.push_back(*size);
    }
  }

  Packed packed;
  bool fits = true;
  for (const AbiMap& map : abi.maps) {
    const auto spec = spec_of(map, abi.tensors[map.tensor], *arguments[map.tensor], extents[map.tensor]);
    if (!spec) return spec.error();
    nvidia::CuTensorMap encoded;
    TLXJIT_TRY(encode(*spec, encoded));
    fits = packed.params.push(encoded) && fits;
  }
  for (size_t i = 0; i < abi.tensors.size(); ++i) {
    if (!abi.tensors[i].direct) continue;
    fits = packed.params.push(arguments[i]->address) && fits;
    for (const int64_t stride : arguments[i]->strides) fits = packed.params.push(stride) && fits;
  }
  for (const int64_t dim : inputs.dims) fits = packed.params.push(static_cast<int32_t>(dim)) && fits;
  if (!fits) return fault("the kernel has more than 4096 bytes of parameters");
  for (const AbiScalar& scalar : abi.scalars) {
    const double* value = find(call.scalars, scalar.name);
    if (!value) return fault("the call has no scalar '" + scalar.name + "'");
    TLXJIT_TRY(push_scalar(packed.params, scalar, *value));
  }
  if (abi.workspace_words > 0) {
    if (call.workspace == 0) return fault("the kernel needs a workspace");
    if (!packed.params.push(call.workspace)) return fault("the kernel has more than 4096 bytes of parameters");
  }
  const auto grid = evaluate(lowered, abi.grid, inputs);
  if (!grid) return grid.error();
  if (*grid < 0 || *grid > INT32_MAX) return fault(fmt::format("a grid of {} programs", *grid));
  packed.grid = static_cast<unsigned>(*grid);
  return packed;
}

}  // namespace tlxjit::bench

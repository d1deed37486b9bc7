// backends/nvidia/tensor_map.cpp — checks and encodes TMA descriptors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include "backends/nvidia/launch_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {
namespace {

struct ElemRow {
  unsigned bytes;
  int code;
};

ElemRow row_of(TensorElem elem) {
  switch (elem) {
    case TensorElem::u8: return {1, cu_tensor_uint8};
    case TensorElem::u16: return {2, cu_tensor_uint16};
    case TensorElem::u32: return {4, cu_tensor_uint32};
    case TensorElem::i32: return {4, cu_tensor_int32};
    case TensorElem::u64: return {8, cu_tensor_uint64};
    case TensorElem::i64: return {8, cu_tensor_int64};
    case TensorElem::f16: return {2, cu_tensor_float16};
    case TensorElem::f32: return {4, cu_tensor_float32};
    case TensorElem::f64: return {8, cu_tensor_float64};
    case TensorElem::bf16: return {2, cu_tensor_bfloat16};
  }
  return {1, cu_tensor_uint8};
}

int swizzle_code(unsigned bytes) {
  switch (bytes) {
    case 0: return cu_tensor_swizzle_none;
    case 32: return cu_tensor_swizzle_32;
    case 64: return cu_tensor_swizzle_64;
    case 128: return cu_tensor_swizzle_128;
    default: return -1;
  }
}

int l2_code(unsigned bytes) {
  switch (bytes) {
    case 0: return cu_tensor_l2_none;
    case 64: return cu_tensor_l2_64;
    case 128: return cu_tensor_l2_128;
    case 256: return cu_tensor_l2_256;
    default: return -1;
  }
}

template <class... Args>
Error bad(fmt::format_string<Args...> text, Args&&... args) {
  return {ErrorKind::user,
          Stage::launch,
          ErrorCode::bad_argument,
          "TMA: " + fmt::format(text, std::forward<Args>(args)...),
          {},
          {},
          {}};
}

// What the driver would answer with a bare INVALID_VALUE.
Result<void> check(const TensorMapSpec& spec) {
  if (spec.rank < 1 || spec.rank > 5) return bad("a tensor of rank {} cannot be copied; 1 to 5 can", spec.rank);
  if (spec.base == 0) return bad("the tensor's address is null");
  if (spec.base % 16 != 0) return bad("the tensor's address {:#x} is not a multiple of 16 bytes", spec.base);
  for (uint32_t i = 0; i < spec.rank; ++i) {
    if (spec.dims[i] < 1 || spec.dims[i] > uint64_t{1} << 32)
      return bad("dimension {} has {} elements; 1 to 2^32 are possible", i, spec.dims[i]);
    if (spec.box[i] < 1 || spec.box[i] > 256)
      return bad("the box is {} wide in dimension {}; 1 to 256 are possible", spec.box[i], i);
  }
  for (uint32_t i = 0; i + 1 < spec.rank; ++i) {
    if (spec.byte_strides[i] % 16 != 0)
      return bad("the stride of dimension {} is {} bytes, not a multiple of 16; pad the tensor's rows", i + 1,
                 spec.byte_strides[i]);
    if (spec.byte_strides[i] >= uint64_t{1} << 40)
      return bad("the stride of dimension {} is {} bytes; below 2^40 is possible", i + 1, spec.byte_strides[i]);
  }
  const unsigned inner = spec.box[0] * size_of(spec.elem);
  if (inner % 16 != 0) return bad("the box's rows have {} bytes, not a multiple of 16", inner);
  if (swizzle_code(spec.swizzle) < 0) return bad("there is no swizzle of {} bytes", spec.swizzle);
  if (spec.swizzle != 0 && inner > spec.swizzle)
    return bad("the box's rows have {} bytes and a swizzle of {} bytes spans no more than that", inner, spec.swizzle);
  if (l2_code(spec.l2_promotion) < 0) return bad("there is no L2 promotion of {} bytes", spec.l2_promotion);
  return {};
}

void* pointer(CuDevicePtr address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

}  // namespace

unsigned size_of(TensorElem elem) { return row_of(elem).bytes; }

Result<void> encode_tensor_map(const Driver& driver, const TensorMapSpec& spec, CuTensorMap& map) {
  TLXJIT_TRY(check(spec));
  static constexpr uint32_t dense[5] = {1, 1, 1, 1, 1};
  return driver.check(
      driver.cuTensorMapEncodeTiled(&map, row_of(spec.elem).code, spec.rank, pointer(spec.base), spec.dims.data(),
                                    spec.byte_strides.data(), spec.box.data(), dense, /*interleave=*/0,
                                    swizzle_code(spec.swizzle), l2_code(spec.l2_promotion), /*fill=*/0),
      "cuTensorMapEncodeTiled", Stage::launch);
}

Result<void> replace_address(const Driver& driver, CuTensorMap& map, CuDevicePtr base) {
  if (base == 0 || base % 16 != 0) return bad("the tensor's address {:#x} is null or not a multiple of 16 bytes", base);
  if (!driver.cuTensorMapReplaceAddress)
    return Error{ErrorKind::environment,
                 Stage::launch,
                 ErrorCode::unsupported,
                 "this NVIDIA driver lacks cuTensorMapReplaceAddress",
                 {},
                 {},
                 {}};
  return driver.check(driver.cuTensorMapReplaceAddress(&map, pointer(base)), "cuTensorMapReplaceAddress",
                      Stage::launch);
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END

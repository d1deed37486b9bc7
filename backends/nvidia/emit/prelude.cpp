// backends/nvidia/emit/prelude.cpp — types, the kernel's signature, the start of a program, elementwise functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>

#include "backends/nvidia/emit/target_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

std::string HopperTarget::prelude() {
  std::string text =
      "typedef int i32;\ntypedef unsigned int u32;\ntypedef long long i64;\ntypedef unsigned long long u64;\n"
      "typedef float f32;\nstruct __align__(64) TensorMap { u64 words[16]; };\n"
      // Sums and results of macros are declared before they are written; unused names cost nothing.
      "#pragma nv_diag_suppress 177,549,550\n";
  if (descriptors_)
    // Address and byte offsets between groups of 8 rows, in units of 16 bytes; swizzle in the top bits.
    text +=
        "#define descriptor(at, leading, stride, swizzle) ((u64)(((at) & 0x3ffff) >> 4) | (u64)((leading) >> 4) << 16 "
        "| "
        "(u64)((stride) >> 4) << 32 | (u64)(swizzle) << 62)\n";
  if (elects_)
    text +=
        "static __device__ __forceinline__ bool elect() {\n  u32 p;\n  asm volatile(\"{ .reg .pred q; elect.sync _|q, "
        "0xffffffff; "
        "selp.u32 %0, 1, 0, q; }\" : \"=r\"(p));\n  return p;\n}\n";
  return text + ptx_.macros() + "\n";
}

std::string HopperTarget::signature(Emitter& e, const std::string& name) {
  const Abi& abi = e.abi();
  std::string parameters;
  const auto add = [&](const std::string& text) { parameters += (parameters.empty() ? "" : ", ") + text; };
  for (size_t i = 0; i < abi.maps.size(); ++i) add(fmt::format("const __grid_constant__ TensorMap map{}", i));
  for (const AbiTensor& tensor : abi.tensors) {
    if (!tensor.direct) continue;
    add(fmt::format("{}* __restrict__ {}", c_type(tensor.elem), name_of(tensor)));
    for (size_t axis = 0; axis + 1 < tensor.extents.size(); ++axis) add("i64 " + stride_name(tensor, axis));
  }
  for (const AbiScalar& dim : abi.dims) add("i32 " + parameter_name('d', dim.value, dim.name));
  for (const AbiScalar& scalar : abi.scalars)
    add(fmt::format("{} {}", c_type(scalar.elem), parameter_name('s', scalar.value, scalar.name)));
  if (abi.workspace_words > 0) add("u32* workspace");
  return fmt::format("extern \"C\" __global__ void __launch_bounds__({}, 1)\n{}({})", abi.threads, name, parameters);
}

void HopperTarget::setup(Emitter& e) {
  Writer& w = e.out();
  w.line("extern __shared__ __align__(1024) unsigned char shared[];");
  for (const AbiTensor& tensor : e.abi().tensors)
    if (const int64_t align = e.module().def(tensor.value)->attrs.integer("align", 1); tensor.direct && align > 1)
      w.line(
          fmt::format("{0} = ({1}*)__builtin_assume_aligned({0}, {2});", name_of(tensor), c_type(tensor.elem), align));
  w.line("const u32 base = (u32)__cvta_generic_to_shared(shared);");
  // Through a shuffle the compiler knows that the warp's number is the same in all its threads.
  w.line("const u32 warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0), wg = warp >> 2;");
  w.open("if (threadIdx.x == 0) {");
  for (size_t i = 0; i < e.abi().maps.size(); ++i) w.line(ptx_(Ptx::prefetch_map, {fmt::format("map{}", i)}));
  bool barriers = false;
  for (const auto& op : e.module().body.ops) {
    if (op->code != OpCode::barrier) continue;
    barriers = true;
    const int64_t offset = op->attrs.integer("offset"), count = op->attrs.integer("count");
    for (int slot = 0; slot < e.module().type(op->result()).slots; ++slot)
      w.line(ptx_(Ptx::mbar_init, {fmt::format("base + {}", offset + 8 * slot), std::to_string(count)}));
  }
  if (barriers) w.line(ptx_(Ptx::mbar_init_fence));
  w.close();
  if (barriers) w.line("__syncthreads();");
}

void HopperTarget::registers(Emitter& e, int count) {
  const int share = register_share(e.abi().threads, facts_.registers);
  if (count == share) return;
  e.out().line(ptx_(count > share ? Ptx::setmaxnreg_inc : Ptx::setmaxnreg_dec, {std::to_string(count)}));
}

std::string HopperTarget::elect() {
  elects_ = true;
  return "elect()";
}

std::string HopperTarget::math(Math fn, const std::string& dest, const std::string& a, const std::string& b) {
  switch (fn) {
    case Math::exp2: return ptx_(Ptx::exp2_f32, {dest, a});
    case Math::log2: return ptx_(Ptx::log2_f32, {dest, a});
    case Math::rcp: return ptx_(Ptx::rcp_f32, {dest, a});
    case Math::abs: return ptx_(Ptx::abs_f32, {dest, a});
    case Math::div: return ptx_(Ptx::div_f32, {dest, a, b});
    case Math::min: return ptx_(Ptx::min_f32, {dest, a, b});
    case Math::max: return ptx_(Ptx::max_f32, {dest, a, b});
    case Math::to_i32: return ptx_(Ptx::f32_to_i32, {dest, a});
    case Math::pack_bf16: return ptx_(Ptx::pack_bf16, {dest, a, b});
    case Math::pack_f16: return ptx_(Ptx::pack_f16, {dest, a, b});
    case Math::f16_low: return ptx_(Ptx::f16_low, {dest, a});
    case Math::f16_high: return ptx_(Ptx::f16_high, {dest, a});
  }
  return {};
}

std::string HopperTarget::shuffle_xor(const std::string& value, int mask) {
  return fmt::format("__shfl_xor_sync(0xffffffffu, {}, {})", value, mask);
}

void HopperTarget::hardware(Emitter& e, const Op& op) {
  switch (op.code) {
    case OpCode::wait: return wait(e, op);
    case OpCode::arrive: return arrive(e, op);
    case OpCode::expect: return expect(e, op);
    case OpCode::sync: return sync(e, op);
    case OpCode::fence:
      if (op.attrs.find("scope")) return e.fail(op, "a fence of this scope is not supported by the NVIDIA back end");
      return e.out().line(ptx_(Ptx::fence_async));
    case OpCode::copy_load: return copy_load(e, op);
    case OpCode::copy_store: return copy_store(e, op);
    case OpCode::copy_drain: return copy_drain(e, op);
    case OpCode::dot: return dot(e, op);
    case OpCode::dot_fence: return e.out().line(ptx_(Ptx::wgmma_fence));
    case OpCode::dot_commit: return e.out().line(ptx_(Ptx::wgmma_commit));
    case OpCode::dot_wait: return e.out().line(ptx_(Ptx::wgmma_wait, {std::to_string(op.attrs.integer("pending"))}));
    case OpCode::buffer_store: return buffer_store(e, op);
    case OpCode::buffer_put: return buffer_put(e, op);
    case OpCode::buffer_get: return buffer_get(e, op);
    case OpCode::tile_store: return tile_store(e, op);
    case OpCode::load_scalar: return load(e, op);
    case OpCode::workspace_add:
    case OpCode::workspace_set: return workspace(e, op);
    default: return e.fail(op, "the op table lets the NVIDIA back end have it", ErrorCode::internal_error);
  }
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END

// bench/gpu/prototype.cpp — loads and launches the prototypes; the parameters follow the signatures in gemm.in, fa.in.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/gpu/prototype.h"

namespace tlxjit::bench {
namespace {

constexpr nvidia::CuDevicePtr off = 0;

}  // namespace

Result<Prototype> Prototype::load(std::shared_ptr<const nvidia::Context> context, PrototypeSource source,
                                  std::span<const char> cubin) {
  Prototype p(std::move(source));
  auto module = nvidia::Module::load(context, cubin);
  if (!module) return module.error();
  auto function = (*module)->function(p.source_.entry, p.source_.shared_bytes);
  if (!function) return function.error();
  p.function_ = std::move(*function);
  auto counters = nvidia::DeviceBuffer::allocate(context, 8);
  if (!counters) return counters.error();
  p.counters_ = std::move(*counters);
  TLXJIT_TRY(p.counters_.fill(0));
  TLXJIT_TRY(context->synchronize());
  p.context_ = std::move(context);
  return p;
}

Result<void> Prototype::push_map(nvidia::ParamBuffer& params, const void* base, int64_t rows, int64_t columns,
                                 int box_rows) const {
  nvidia::TensorMapSpec spec;
  spec.base = reinterpret_cast<uintptr_t>(base);
  spec.rank = 2;
  spec.dims = {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows)};
  spec.byte_strides = {static_cast<uint64_t>(columns) * 2};
  spec.box = {64, static_cast<uint32_t>(box_rows)};
  spec.swizzle = 128;
  nvidia::CuTensorMap map;
  TLXJIT_TRY(nvidia::encode_tensor_map(context_->driver(), spec, map));
  params.push(map);
  return {};
}

Result<nvidia::ParamBuffer> Prototype::bind_gemm(const void* a, const void* b, void* c, int m, int n, int k) const {
  nvidia::ParamBuffer params;
  TLXJIT_TRY(push_map(params, a, m, k, 128));
  TLXJIT_TRY(push_map(params, b, n, k, 256));
  TLXJIT_TRY(push_map(params, c, m, n, 64));
  params.push(m);
  params.push(n);
  params.push(k);
  // Device flag, host flag and limit of bounded waits.
  params.push(off);
  params.push(off);
  params.push(0u);
  return params;
}

Result<nvidia::ParamBuffer> Prototype::bind_attention(const void* q, const void* k, const void* v, void* out, void* lse,
                                                      int sequence, int heads, float scale) const {
  nvidia::ParamBuffer params;
  const int64_t rows = int64_t{sequence} * heads;
  TLXJIT_TRY(push_map(params, q, rows, 128, 128));
  TLXJIT_TRY(push_map(params, k, rows, 128, 128));
  TLXJIT_TRY(push_map(params, v, rows, 128, 128));
  TLXJIT_TRY(push_map(params, out, rows, 128, 64));
  params.push(lse);
  params.push(sequence);
  params.push(heads);
  params.push(scale * 1.44269504088896340736f);
  params.push(counters_.address());
  params.push(off);
  params.push(off);
  params.push(0u);
  return params;
}

Result<void> Prototype::launch(const nvidia::ParamBuffer& params, nvidia::CuStream stream) const {
  nvidia::LaunchShape shape;
  shape.grid[0] = static_cast<unsigned>(context_->info().sm_count);
  shape.block[0] = 384;
  return nvidia::launch(function_, shape, stream, params);
}

}  // namespace tlxjit::bench

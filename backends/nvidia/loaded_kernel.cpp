// backends/nvidia/loaded_kernel.cpp — the launch of a generated kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/loaded_kernel_p.h"

#include <algorithm>

#include "backends/nvidia/workspaces_p.h"
#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {
namespace {

TensorElem map_elem(Elem elem) {
  switch (elem) {
    case Elem::u16: return TensorElem::u16;
    case Elem::u32: return TensorElem::u32;
    case Elem::i32: return TensorElem::i32;
    case Elem::u64: return TensorElem::u64;
    case Elem::i64: return TensorElem::i64;
    case Elem::f16: return TensorElem::f16;
    case Elem::f32: return TensorElem::f32;
    case Elem::f64: return TensorElem::f64;
    case Elem::bf16: return TensorElem::bf16;
    case Elem::i16: return TensorElem::u16;
    default: return TensorElem::u8;
  }
}

/// What a launch needs on the device, and a graph that it was captured into.
struct Loaded {
  Loaded(Function f, DeviceBuffer n, std::shared_ptr<Context> context, int64_t words)
      : function(std::move(f)), nothing(std::move(n)), workspaces(std::move(context), words) {}
  const Function function;
  const DeviceBuffer nothing;  // 256 zeroed bytes for maps of tensors without elements: loads, then stores
  Workspaces workspaces;
};

class NvidiaKernel final : public runtime::LoadedKernel {
 public:
  NvidiaKernel(std::shared_ptr<Context> context, std::shared_ptr<Loaded> loaded, const Abi& abi, int programs,
               std::shared_ptr<CapturedCode> captured)
      : abi_(abi),
        context_(std::move(context)),
        loaded_(std::move(loaded)),
        captured_(std::move(captured)),
        programs_(programs) {}

  int programs_at_once() const override { return programs_; }
  bool captured() const override { return captured_->has(loaded_.get()); }

  Result<void> launch(const runtime::BoundCall& call, void* handle) const override {
    const auto stream = static_cast<CuStream>(handle);
    // Encoding a tensor map asks for a current context, though it touches no device.
    const CurrentContext current(*context_, Stage::launch);
    TLXJIT_TRY(current.status());
    auto capturing = is_capturing(*context_, stream);
    if (!capturing) return capturing.error();
    ParamBuffer params;
    bool fits = true;
    for (const AbiMap& map : abi_.maps) {
      CuTensorMap encoded;
      TLXJIT_TRY(encode_tensor_map(context_->driver(),
                                   map_spec(map, abi_.tensors[map.tensor], call.tensors[map.tensor],
                                            loaded_->nothing.address() + (map.store ? 128 : 0)),
                                   encoded));
      fits = fits && params.push(encoded);
    }
    for (size_t i = 0; i < abi_.tensors.size(); ++i) {
      if (!abi_.tensors[i].direct) continue;
      const runtime::BoundTensor& tensor = call.tensors[i];
      fits = fits && params.push(reinterpret_cast<uintptr_t>(tensor.data));
      for (size_t axis = 0; axis + 1 < abi_.tensors[i].extents.size(); ++axis)
        fits = fits && params.push(tensor.strides[axis]);
    }
    for (int32_t dim : call.dims) fits = fits && params.push(dim);
    for (size_t i = 0; i < call.scalars.size(); ++i) {
      const auto size = static_cast<size_t>(bytes(abi_.scalars[i].elem));  // little endian: the low bytes come first
      fits = fits && params.push(&call.scalars[i], size, size);
    }
    CuDevicePtr workspace = 0;
    if (loaded_->workspaces.bytes() > 0) {
      auto words = loaded_->workspaces.of(stream, *capturing);
      if (!words) return words.error();
      workspace = *words;
      fits = fits && params.push(workspace);
    }
    if (!fits)
      return runtime::error_of(ErrorKind::user, Stage::launch, ErrorCode::out_of_resources,
                               "the kernel has more than 128 parameters, or 4096 bytes of them: use fewer tensors");
    LaunchShape shape;
    shape.grid = {static_cast<unsigned>(call.grid), 1, 1};
    shape.block = {static_cast<unsigned>(abi_.threads), 1, 1};
    if (*capturing) captured_->keep(loaded_);
    auto queued = nvidia::launch(loaded_->function, shape, stream, params);
    if (!queued && workspace && !*capturing) loaded_->workspaces.clear(stream, workspace);
    return queued;
  }

 private:
  const Abi& abi_;
  const std::shared_ptr<Context> context_;
  const std::shared_ptr<Loaded> loaded_;
  const std::shared_ptr<CapturedCode> captured_;
  const int programs_;
};

}  // namespace

void CapturedCode::keep(std::shared_ptr<const void> code) {
  std::lock_guard lock(mutex_);
  if (std::find(kept_.begin(), kept_.end(), code) == kept_.end()) kept_.push_back(std::move(code));
}

bool CapturedCode::has(const void* code) const {
  std::lock_guard lock(mutex_);
  return std::any_of(kept_.begin(), kept_.end(), [&](const auto& kept) { return kept.get() == code; });
}

size_t CapturedCode::alone() const {
  std::lock_guard lock(mutex_);
  return static_cast<size_t>(
      std::count_if(kept_.begin(), kept_.end(), [](const auto& kept) { return kept.use_count() == 1; }));
}

void CapturedCode::release() {
  std::vector<std::shared_ptr<const void>> released;  // unloaded without the lock
  std::lock_guard lock(mutex_);
  released.swap(kept_);
}

TensorMapSpec map_spec(const AbiMap& map, const AbiTensor& tensor, const runtime::BoundTensor& bound,
                       CuDevicePtr nothing) {
  const size_t rank = tensor.extents.size();
  const auto size = static_cast<uint64_t>(bytes(tensor.elem));
  TensorMapSpec spec;
  spec.elem = map_elem(tensor.elem);
  spec.rank = static_cast<uint32_t>(map.rank(rank));
  spec.swizzle = static_cast<unsigned>(map.swizzle);
  spec.base = bound.empty ? nothing : reinterpret_cast<uintptr_t>(bound.data);
  spec.box.fill(1);
  for (size_t i = 0; i < rank; ++i) {
    const size_t axis = rank - 1 - i;
    spec.dims[i] = bound.empty ? 1 : static_cast<uint64_t>(bound.dims[axis]);
    spec.box[i] = static_cast<uint32_t>(map.box[axis]);
    if (i > 0) spec.byte_strides[i - 1] = bound.empty ? 16 : static_cast<uint64_t>(bound.strides[axis]) * size;
  }
  if (map.ragged < 0) return spec;
  if (bound.empty) {
    // Coordinates of the extra axes are 2^30 and a bound ≥ 0: beyond one element, so that all is outside.
    for (size_t i = rank; i < spec.rank; ++i) spec.dims[i] = 1, spec.byte_strides[i - 1] = 16;
    return spec;
  }
  const auto axis = static_cast<size_t>(map.ragged);
  const uint64_t step = static_cast<uint64_t>(bound.strides[axis]) * size;
  spec.dims[rank - 1 - axis] = uint64_t{1} << 30;
  spec.dims[rank] = spec.dims[rank + 1] = 0x7fff0000;
  spec.byte_strides[rank - 1] = step;
  spec.byte_strides[rank] = (uint64_t{1} << 34) - step;
  return spec;
}

Result<std::unique_ptr<runtime::LoadedKernel>> load_kernel(std::shared_ptr<Context> context,
                                                           std::span<const char> cubin, const std::string& entry,
                                                           const Abi& abi, std::shared_ptr<CapturedCode> captured,
                                                           const std::string& compiler) {
  const BesideCaptures beside(context->driver());
  auto module = Module::load(context, cubin, compiler);
  if (!module) return module.error();
  auto function = (*module)->function(entry, static_cast<unsigned>(abi.shared_bytes));
  if (!function) return function.error();
  auto blocks = blocks_per_sm(*function, abi.threads);
  if (!blocks) return blocks.error();
  if (*blocks < 1)
    return runtime::error_of(
        ErrorKind::user, Stage::load, ErrorCode::out_of_resources,
        "a program of `" + entry + "` does not fit a multiprocessor: use fewer warps or registers");
  auto nothing = DeviceBuffer::allocate(context, 256);
  if (!nothing) return nothing.error();
  // On a stream of its own: what is put on the default one would become part of captures of others.
  auto stream = create_stream(context);
  if (!stream) return stream.error();
  TLXJIT_TRY(nothing->fill(0, stream->get()));
  TLXJIT_TRY(synchronize(*context, stream->get()));
  const int programs = context->info().sm_count * *blocks;
  auto loaded = std::make_shared<Loaded>(std::move(*function), std::move(*nothing), context, abi.workspace_words);
  return std::unique_ptr<runtime::LoadedKernel>(
      std::make_unique<NvidiaKernel>(std::move(context), std::move(loaded), abi, programs, std::move(captured)));
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END

// backends/nvidia/loaded_kernel.cpp — the launch of a generated kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/loaded_kernel_p.h"

#include <atomic>
#include <mutex>
#include <optional>

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

/// Workspaces of one kernel, one per stream, zero whenever no launch is in flight. Found without a lock; a new
/// stream takes the lock and allocates.
class Workspaces {
 public:
  Workspaces(std::shared_ptr<Context> context, int64_t words)
      : context_(std::move(context)), bytes_(static_cast<size_t>(words) * sizeof(int32_t)) {}
  ~Workspaces() {
    for (Node* node = head_.load(); node;) delete std::exchange(node, node->next);
  }

  size_t bytes() const { return bytes_; }

  Result<CuDevicePtr> of(CuStream stream) {
    // CU_STREAM_PER_THREAD is another stream in each thread.
    static thread_local char own;
    const void* thread = reinterpret_cast<uintptr_t>(stream) == 2 ? &own : nullptr;
    if (auto found = find(stream, thread)) return *found;
    std::lock_guard lock(mutex_);
    if (auto found = find(stream, thread)) return *found;
    auto capturing = is_capturing(*context_, stream);
    if (!capturing) return capturing.error();
    if (*capturing)
      return runtime::error_of(
          ErrorKind::user, Stage::launch, ErrorCode::unsupported,
          "the first launch on a stream allocates a workspace, which a capture forbids: launch once "
          "on this stream before the capture begins");
    auto memory = DeviceBuffer::allocate(context_, bytes_);
    if (!memory) return memory.error();
    TLXJIT_TRY(memory->fill(0, stream));
    TLXJIT_TRY(synchronize(*context_, stream));
    auto* node = new Node{stream, thread, std::move(*memory), head_.load(std::memory_order_relaxed)};
    head_.store(node, std::memory_order_release);
    return node->memory.address();
  }

  /// After a launch that failed: whatever it left is cleared, if the stream can still be waited for. (It cannot
  /// after a fault on the device, which ends the context, and must not be while it captures.)
  void clear(CuStream stream, CuDevicePtr words) {
    const auto capturing = is_capturing(*context_, stream);
    if (!capturing || *capturing || !synchronize(*context_, stream)) return;
    std::lock_guard lock(mutex_);
    for (Node* n = head_.load(); n; n = n->next)
      if (n->memory.address() == words && n->memory.fill(0, stream)) (void)synchronize(*context_, stream);
  }

 private:
  struct Node {
    CuStream stream;
    const void* thread;
    DeviceBuffer memory;
    Node* next;
  };
  std::optional<CuDevicePtr> find(CuStream stream, const void* thread) const {
    for (const Node* n = head_.load(std::memory_order_acquire); n; n = n->next)
      if (n->stream == stream && n->thread == thread) return n->memory.address();
    return {};
  }

  const std::shared_ptr<Context> context_;
  const size_t bytes_;
  std::mutex mutex_;
  std::atomic<Node*> head_ = nullptr;
};

class NvidiaKernel final : public runtime::LoadedKernel {
 public:
  NvidiaKernel(std::shared_ptr<Context> context, Function function, const Abi& abi, int programs, DeviceBuffer nothing)
      : abi_(abi),
        context_(context),
        function_(std::move(function)),
        nothing_(std::move(nothing)),
        programs_(programs),
        workspaces_(std::move(context), abi.workspace_words) {}

  int programs_at_once() const override { return programs_; }

  Result<void> launch(const runtime::BoundCall& call, void* handle) const override {
    const auto stream = static_cast<CuStream>(handle);
    // Encoding a tensor map asks for a current context, though it touches no device.
    const CurrentContext current(*context_, Stage::launch);
    TLXJIT_TRY(current.status());
    ParamBuffer params;
    bool fits = true;
    for (const AbiMap& map : abi_.maps) {
      CuTensorMap encoded;
      TLXJIT_TRY(encode_tensor_map(
          context_->driver(),
          map_spec(map, abi_.tensors[map.tensor], call.tensors[map.tensor], nothing_.address() + (map.store ? 128 : 0)),
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
    if (workspaces_.bytes() > 0) {
      auto words = workspaces_.of(stream);
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
    auto queued = nvidia::launch(function_, shape, stream, params);
    if (!queued && workspace) workspaces_.clear(stream, workspace);
    return queued;
  }

 private:
  const Abi& abi_;
  const std::shared_ptr<Context> context_;
  const Function function_;
  const DeviceBuffer nothing_;  // 256 zeroed bytes for maps of tensors without elements: loads, then stores
  const int programs_;
  mutable Workspaces workspaces_;
};

}  // namespace

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
                                                           const Abi& abi) {
  const BesideCaptures beside(context->driver());
  auto module = Module::load(context, cubin);
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
  return std::unique_ptr<runtime::LoadedKernel>(
      std::make_unique<NvidiaKernel>(std::move(context), std::move(*function), abi, programs, std::move(*nothing)));
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END

// bench/gpu/loaded_kernel.cpp — loads and launches a generated kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/gpu/loaded_kernel.h"

namespace tlxjit::bench {

Result<LoadedKernel> LoadedKernel::load(std::shared_ptr<const nvidia::Context> context, Generated generated,
                                        CompiledCode code) {
  LoadedKernel kernel(std::move(generated), std::move(code));
  const Abi& abi = kernel.generated_.emitted.abi;
  auto module = nvidia::Module::load(context, kernel.code_.cubin);
  if (!module) return module.error();
  auto function = (*module)->function(kernel.code_.entry, static_cast<unsigned>(abi.shared_bytes));
  if (!function) return function.error();
  kernel.function_ = std::move(*function);
  auto workspace = nvidia::DeviceBuffer::allocate(context, static_cast<size_t>(abi.workspace_words) * 4);
  if (!workspace) return workspace.error();
  kernel.workspace_ = std::move(*workspace);
  TLXJIT_TRY(kernel.workspace_.fill(0));
  TLXJIT_TRY(context->synchronize());
  kernel.context_ = std::move(context);
  return kernel;
}

Result<Packed> LoadedKernel::bind(Call call) const {
  call.workspace = workspace_.address();
  call.sms = context_->info().sm_count;
  auto packed = pack(generated_.lowered, generated_.emitted.abi, call,
                     [&](const nvidia::TensorMapSpec& spec, nvidia::CuTensorMap& map) {
                       return nvidia::encode_tensor_map(context_->driver(), spec, map);
                     });
  if (packed) TLXJIT_TRY(check_parameters(packed->params, declared_parameters(code_.cubin, code_.entry)));
  return packed;
}

Result<void> LoadedKernel::launch(const Packed& packed, nvidia::CuStream stream) const {
  return launch_kernel(function_, packed.grid, static_cast<unsigned>(generated_.emitted.abi.threads), stream,
                       packed.params);
}

}  // namespace tlxjit::bench

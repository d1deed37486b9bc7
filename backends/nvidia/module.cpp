// backends/nvidia/module.cpp — loads a cubin and prepares its functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/module_p.h"

#include <fmt/format.h>

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {
namespace {

constexpr unsigned portable_cluster = 8;

Error not_loaded(const Driver& driver, CuResult result, const std::string& compiler) {
  Error error = driver.failure(result, "cuLibraryLoadData", Stage::load);
  if (result != cu_invalid_image && result != cu_no_binary_for_gpu && result != cu_unsupported_ptx_version)
    return error;
  const int version = driver.version();
  error.message += fmt::format(" (the driver supports CUDA {}.{}{}{})", version / 1000, version % 1000 / 10,
                               compiler.empty() ? "" : "; compiled by ", compiler);
  return error;
}

}  // namespace

Result<std::shared_ptr<Module>> Module::load(std::shared_ptr<const Context> context, std::span<const char> cubin,
                                             const std::string& compiler) {
  const Driver& driver = context->driver();
  const CurrentContext current(*context, Stage::load);
  TLXJIT_TRY(current.status());
  const BesideCaptures beside(driver);
  std::shared_ptr<Module> module(new Module);
  const CuResult result =
      driver.cuLibraryLoadData(&module->handle_, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result != cu_success) {
    module->handle_ = nullptr;
    return not_loaded(driver, result, compiler);
  }
  module->context_ = std::move(context);
  return module;
}

Module::~Module() {
  if (!handle_) return;
  const Driver& driver = context_->driver();
  const CurrentContext current(*context_, Stage::load);
  if (!current.usable()) return;
  const BesideCaptures beside(driver);
  // A launch may be on its way on a stream that nothing is known of. What cannot be waited for, as while the device's
  // default stream is captured, stays loaded.
  if (driver.cuCtxSynchronize() == cu_success) driver.cuLibraryUnload(handle_);
}

Result<Function> Module::function(const std::string& name, unsigned shared_bytes, unsigned cluster_ctas) const {
  const Driver& driver = context_->driver();
  const BesideCaptures beside(driver);
  const CurrentContext current(*context_, Stage::load);
  TLXJIT_TRY(current.status());
  CuKernel kernel = nullptr;
  Function function;
  function.module = shared_from_this();
  function.shared_bytes = shared_bytes;
  TLXJIT_TRY(
      driver.check(driver.cuLibraryGetKernel(&kernel, handle_, name.c_str()), "cuLibraryGetKernel", Stage::load));
  TLXJIT_TRY(driver.check(driver.cuKernelGetFunction(&function.handle, kernel), "cuKernelGetFunction", Stage::load));
  // Loading is lazy by default: the first launch would upload the code, and fail in a capture.
  if (driver.cuFuncLoad) TLXJIT_TRY(driver.check(driver.cuFuncLoad(function.handle), "cuFuncLoad", Stage::load));

  const struct {
    int attribute;
    int* value;
  } wanted[] = {
      {cu_function_num_regs, &function.registers},
      {cu_function_local_size_bytes, &function.local_bytes},
      {cu_function_shared_size_bytes, &function.static_shared_bytes},
      {cu_function_max_threads_per_block, &function.max_threads},
  };
  for (const auto& [attribute, value] : wanted)
    TLXJIT_TRY(
        driver.check(driver.cuFuncGetAttribute(value, attribute, function.handle), "cuFuncGetAttribute", Stage::load));

  const unsigned limit = unsigned(context_->info().shared_per_block);
  if (shared_bytes > limit || unsigned(function.static_shared_bytes) > limit - shared_bytes)
    return Error{
        ErrorKind::user,
        Stage::load,
        ErrorCode::out_of_resources,
        fmt::format("`{}` needs {} bytes of shared memory and a block of {} has {}; use smaller tiles or fewer stages",
                    name, shared_bytes + unsigned(function.static_shared_bytes), context_->info().name, limit),
        {},
        {},
        {}};
  TLXJIT_TRY(
      driver.check(driver.cuFuncSetAttribute(function.handle, cu_function_max_dynamic_shared_bytes, int(shared_bytes)),
                   "cuFuncSetAttribute(MAX_DYNAMIC_SHARED_SIZE_BYTES)", Stage::load));
  if (cluster_ctas > portable_cluster)
    TLXJIT_TRY(driver.check(driver.cuFuncSetAttribute(function.handle, cu_function_nonportable_cluster_allowed, 1),
                            "cuFuncSetAttribute(NON_PORTABLE_CLUSTER_SIZE_ALLOWED)", Stage::load));
  return function;
}

Result<int> blocks_per_sm(const Function& function, int threads) {
  const Context& context = function.module->context();
  const CurrentContext current(context, Stage::load);
  TLXJIT_TRY(current.status());
  int blocks = 0;
  TLXJIT_TRY(context.driver().check(context.driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                                        &blocks, function.handle, threads, function.shared_bytes),
                                    "cuOccupancyMaxActiveBlocksPerMultiprocessor", Stage::load));
  return blocks;
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END

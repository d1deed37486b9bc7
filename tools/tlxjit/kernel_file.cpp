// tools/tlxjit/kernel_file.cpp — reads, verifies and lowers kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/kernel_file.h"

#include "src/runtime/guard_p.h"
#include "tlxjit/ir/text.h"
#include "tlxjit/ir/verify.h"
#include "tools/tlxjit/files.h"

namespace tlxjit::cli {

Result<Module> read_kernel(const std::string& path) {
  constexpr uint64_t most = uint64_t{64} << 20;
  auto text = read_file(path, most);
  if (!text) return text.error();
  auto module = parse(*text, path == "-" ? "<standard input>" : path);
  if (!module) return module;
  TLXJIT_TRY(first_of(verify(*module)));
  return module;
}

std::string target_of(const Module& module, const std::string& name, const std::string& otherwise) {
  if (!name.empty()) return name;
  return module.level == Level::lowered ? module.target : otherwise;
}

Result<std::unique_ptr<Lowered>> lower_for(const Module& module, const std::string& target) {
  auto found = find_target(target);
  if (!found) return found.error();
  auto out = std::make_unique<Lowered>();
  out->target = std::move(*found);
  runtime::StopWatch watch;
  if (module.level == Level::portable) {
    auto lowered = lower(module, out->target);
    if (!lowered) return lowered.error();
    out->module = std::move(*lowered);
  } else if (module.target == target) {
    TLXJIT_TRY(check_capabilities(module, out->target));
    out->module = module.clone();
  } else {
    return runtime::error_of(
        ErrorKind::user, Stage::lower, ErrorCode::unsupported,
        "the kernel is lowered for " + module.target + ", and " + target + " was asked for: take its portable text");
  }
  out->times.lower = watch.lap();
  auto abi = make_abi(out->module, out->target.tensor_maps);
  if (!abi) return abi.error();
  out->abi = std::move(*abi);
  auto plan = runtime::CallPlan::make(out->module, out->abi);
  if (!plan) return plan.error();
  out->plan = std::move(*plan);
  return out;
}

}  // namespace tlxjit::cli

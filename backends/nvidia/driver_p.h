// backends/nvidia/driver_p.h — libcuda found at run time, and its entry points.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <string>

#include "backends/nvidia/cuda_types_p.h"
#include "backends/nvidia/library_p.h"
#include "src/runtime/process_p.h"
#include "tlxjit/core/result.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

/// A loaded and initialised libcuda. Members named as in cuda.h are the calls themselves.
struct Driver {
  /// An empty path means libcuda.so.1 through the loader, the copy the process already has before
  /// any other. A path is taken as it is: the only way to name another file.
  static Result<std::shared_ptr<Driver>> load(const std::string& path = {});

  /// Whether the process is the one that loaded it: a driver that was in use when its process was forked is no good in
  /// the child, where most of its calls fail and some hang.
  bool of_this_process() const { return process_ == runtime::ProcessNumber::get(); }
  /// What a call on a device says in a forked child.
  static Error forked(Stage stage);

  /// The CUDA version that it supports: 13000 for 13.0.
  int version() const {
    int number = 0;
    cuDriverGetVersion(&number);
    return number;
  }
  const std::string& path() const { return library_.path; }

  /// `CUDA_ERROR_INVALID_VALUE`, or the number if the driver does not know it.
  std::string name_of(CuResult result) const;

  /// Success, or an Error that names the call, the result and its number.
  Result<void> check(CuResult result, const char* call, Stage stage = Stage::run) const {
    if (result == cu_success) return {};
    return failure(result, call, stage);
  }
  Error failure(CuResult result, const char* call, Stage stage) const;

#define TLXJIT_CU(need, name, suffix, params) CuResult(*name) params = nullptr;
#include "backends/nvidia/symbols.def"
#undef TLXJIT_CU

 private:
  Result<void> bind();

  const int64_t process_ = runtime::ProcessNumber::get();
  Library library_;
};

}  // namespace nvidia
TLXJIT_NAMESPACE_END

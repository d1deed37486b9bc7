// backends/nvidia/nvrtc_p.h — NVRTC found at run time: CUDA C++ text in, cubin out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/nvidia/library_p.h"
#include "tlxjit/core/result.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

using NvrtcProgram = struct NvrtcProgramTag*;

constexpr int oldest_nvrtc = 12;  ///< major version

/// Where to look. `path` (a file, or a folder that holds libnvrtc.so.*) excludes every other place;
/// else `directories` in order (the engine puts TLXJIT_NVRTC_DIR there), then the loader's own
/// search, then /usr/local/cuda/lib64.
struct NvrtcSearch {
  std::string path;
  std::vector<std::string> directories;
};

struct NvrtcOptions {
  bool ptx = false;       ///< keep the PTX text too
  bool lineinfo = false;  ///< -lineinfo; five times the cubin, so off by default
  std::vector<std::string> extra;
  /// Asked from within the compile, possibly from other threads; true cancels it. Once true it must
  /// stay true, and it must not call NVRTC. A throw from it cancels as well.
  std::function<bool()> cancelled;
};

/// The words that NVRTC is given; with the source, the name and the identity they make the cache key.
std::vector<std::string> nvrtc_arguments(const std::string& arch, const NvrtcOptions& options = {});

struct NvrtcResult {
  std::vector<char> cubin;
  std::string ptx;    ///< empty unless asked for
  std::string log;    ///< the front end's warnings, then ptxas -v
  double cpu_ms = 0;  ///< CPU time of the calling thread, on which NVRTC does all its work
  double wall_ms = 0;
};

/// A loaded NVRTC of CUDA 12 or newer, with its builtins. Compiles may run on several threads at once: it has no global
/// lock.
class Nvrtc {
 public:
  static Result<std::shared_ptr<Nvrtc>> load(const NvrtcSearch& search);

  /// `arch` is `sm_90a` or such. A refusal of the source is an internal error: we wrote the source.
  Result<NvrtcResult> compile(const std::string& source, const std::string& name, const std::string& arch,
                              const NvrtcOptions& options = {}) const;

  int major() const { return major_; }
  int minor() const { return minor_; }
  const std::string& path() const { return library_.path; }
  /// Version and build-ids of NVRTC and its builtins, for people.
  const std::string& identity() const { return identity_; }
  /// Of NVRTC and of its builtins: the compiler's part of the cache key. Files without a build-id leave a gap.
  const std::string& build_ids() const { return build_ids_; }
  bool can_cancel() const { return nvrtcSetFlowCallback != nullptr; }

 private:
  Result<void> bind();
  Result<void> open_builtins();
  std::string program_log(NvrtcProgram program) const;

  Library library_;
  Library builtins_;
  std::string identity_;
  std::string build_ids_;
  int major_ = 0;
  int minor_ = 0;

#define TLXJIT_NVRTC(need, name, params) int(*name) params = nullptr;
#include "backends/nvidia/nvrtc_symbols.def"
#undef TLXJIT_NVRTC
};

}  // namespace nvidia
TLXJIT_NAMESPACE_END

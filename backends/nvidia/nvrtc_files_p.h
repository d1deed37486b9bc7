// backends/nvidia/nvrtc_files_p.h — where NVRTC's files are, and which build they are, without loading them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

#include "backends/nvidia/nvrtc_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

/// Every place to try, in order: files, and names that the loader looks for.
std::vector<std::string> nvrtc_candidates(const NvrtcSearch& search);

/// Where a library's builtins may lie beside it: its folder, and that of the file which it may be a link to.
std::vector<std::string> folders_of(const std::string& library);

/// Nvrtc::build_ids of what Nvrtc::load would most likely open, from the files; "" where that cannot be told. It may
/// err, say where a file turns out not to fit: what was loaded tells the truth.
std::string nvrtc_build_ids_of_files(const NvrtcSearch& search);

/// The file that the loader would take for this name; "" where that cannot be told.
std::string file_of_loader(const std::string& name, const std::string& cache = "/etc/ld.so.cache");

}  // namespace nvidia
TLXJIT_NAMESPACE_END

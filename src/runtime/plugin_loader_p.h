// src/runtime/plugin_loader_p.h — finds and opens the CPU plug-in.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "src/runtime/cpu_plugin_p.h"
#include "tlxjit/core/result.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// The table of the plug-in in the file `path`; an empty path looks beside the file that this library is in, then
/// in ../lib/tlxjit, ../lib and .. of it. One that another version of the sources made is refused. It stays loaded.
Result<const tlxjit_cpu_backend*> load_cpu_plugin(const std::string& path);

}  // namespace runtime
TLXJIT_NAMESPACE_END

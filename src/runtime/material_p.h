// src/runtime/material_p.h — all that a compiled kernel depends on, as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// What is in a material besides code_version().
struct MaterialParts {
  std::string_view target;    ///< of the device
  std::string_view as;        ///< what the module is lowered for
  bool lineinfo = false;      ///< of CompileOptions
  std::string_view runs_on;   ///< DeviceBackend::runs_on
  std::string_view compiler;  ///< DeviceBackend::compiler; empty: whichever it was
  std::string_view module;    ///< portable, as text without locations
};

/// No two of different parts read alike (docs/reference/cache-format.md).
std::string material_of(const MaterialParts& parts);

/// The same material with no compiler in it: what a kernel is looked up by where any compiler's will do. A text of
/// another shape is given back as it is.
std::string without_compiler(std::string_view material);

}  // namespace runtime
TLXJIT_NAMESPACE_END

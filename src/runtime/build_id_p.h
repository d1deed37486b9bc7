// src/runtime/build_id_p.h — the GNU build-id of a library: which build it is, wherever its file lies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Of the loaded library that the address lies in, in hexadecimal; "" if there is none.
std::string build_id_at(const void* address);
/// Of a library's file, which is read and not loaded; "" if it has none or is no 64-bit ELF file.
std::string build_id_of_file(const std::string& path);

}  // namespace runtime
TLXJIT_NAMESPACE_END

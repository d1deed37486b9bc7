// include/tlxjit/ir/text.h — the text form of modules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

#include "tlxjit/core/result.h"
#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// Prints a module. Values are renumbered in order of appearance, so equal kernels print alike
/// however they were built; source locations are left out unless asked for.
///
///     tlx 1 portable
///     kernel "scale" {
///       %0 = dim [name = "N"] : i32
///       task [name = "main", warps = 4, replicas = 1] {
///         for %1, %0, %2 {
///           (%3: i32)
///           …
TLXJIT_API std::string print(const Module& module, bool with_locations = false);

/// Reads what `print` wrote. Any other text gives ErrorCode::invalid_text with the line of the fault;
/// the module is not verified.
TLXJIT_API Result<Module> parse(std::string_view text);
/// The same for the text of a file: a fault of the text is located there, and so is every op that the text gives no
/// location.
TLXJIT_API Result<Module> parse(std::string_view text, std::string_view file);

TLXJIT_NAMESPACE_END

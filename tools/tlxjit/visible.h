// tools/tlxjit/visible.h — text of others for a terminal: what would steer it is written out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

namespace tlxjit::cli {

/// The text with control characters but those of `kept`, marks that turn the direction of writing (Unicode Annex 9),
/// and bytes that are no UTF-8 as escapes: `\x1b`, `\u202e`. Names of files, kernels and manifests may have any of
/// them.
std::string visible(std::string_view text, std::string_view kept = "\n\t");

}  // namespace tlxjit::cli

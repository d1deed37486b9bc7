// tools/tlxjit/files.h — files read and written whole, with errors that say what is wrong with them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tlxjit/core/result.h"

namespace tlxjit::cli {

/// An error of the environment about a file; `number` is an errno.
Error file_error(std::string_view what, const std::string& path, int number);

/// The bytes of a file, or of standard input where `path` is `-`; more than `most` bytes are refused.
Result<std::string> read_file(const std::string& path, uint64_t most);

/// Writes a file so that it is there whole or not at all: under another name in the same folder, then renamed. What is
/// there and no plain file, say a pipe, is written to as it is.
Result<void> write_file(const std::string& path, std::span<const char> bytes);

}  // namespace tlxjit::cli

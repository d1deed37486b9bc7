// src/runtime/file_io_p.h — whole reads and writes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/runtime/descriptor_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// So many bytes from there on; fewer where the file ends before. `path` is for messages.
Result<std::vector<char>> read_at(const Descriptor& file, uint64_t offset, uint64_t bytes, const std::string& path);

/// Writes all; the errno of a failure, or 0.
int write_bytes(int descriptor, std::span<const char> bytes);

/// Writes the bytes to an empty file, and waits until they are on the disk: without that a crash of the machine could
/// leave the name that the file is given and lose its content.
Result<void> write_all(const Descriptor& file, std::span<const char> bytes, const std::string& path);

/// 32 digits that no thread, process or machine has twice, a forked child neither.
Result<std::string> random_text(const std::string& path);

}  // namespace runtime
TLXJIT_NAMESPACE_END

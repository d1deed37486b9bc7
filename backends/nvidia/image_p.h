// backends/nvidia/image_p.h — a compiled kernel as bytes, which load without a compiler.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

/// As bytes: "tlxcuda1", then the four in this order, each as its size (8 bytes, little-endian) and its bytes.
struct Image {
  std::string entry;        ///< name of the kernel's function in the cubin
  std::string log;          ///< what the compiler said; the report is read from it
  std::string source;       ///< that was compiled
  std::vector<char> cubin;  ///< not empty
};

std::vector<char> write_image(const Image& image);
/// Nothing where the bytes are none.
std::optional<Image> read_image(std::span<const char> bytes);

}  // namespace nvidia
TLXJIT_NAMESPACE_END

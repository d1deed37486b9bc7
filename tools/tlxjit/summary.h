// tools/tlxjit/summary.h — a tensor that a kernel wrote, in few figures, and as a file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <string>

#include "tools/tlxjit/call.h"
#include "tools/tlxjit/report.h"

namespace tlxjit::cli {

/// `{name, elem, dims, bytes, checksum, min, max, mean, non_finite}`; the figures are of the finite elements.
Json summary_of(const TensorInput& tensor, std::span<const char> elements);
/// The same as a line.
std::string summary_text(const Json& summary);

/// `[[1, 2], [3, 4]]`, the first 1024 elements.
std::string elements_text(const TensorInput& tensor, std::span<const char> elements);

/// A file of NumPy's format where `path` ends with .npy, else the bytes.
Result<void> write_tensor(const std::string& path, const TensorInput& tensor, std::span<const char> elements);

}  // namespace tlxjit::cli

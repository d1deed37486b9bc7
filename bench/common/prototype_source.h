// bench/common/prototype_source.h — sources of the hand-written kernels, assembled by their own gen.py.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tlxjit/core/result.h"

namespace tlxjit::bench {

using Macros = std::vector<std::pair<std::string, int>>;

struct PrototypeSource {
  std::string name;   ///< `prototype gemm CLM=1 …`
  std::string entry;  ///< the kernel's symbol
  std::string source;
  unsigned shared_bytes = 0;
};

/// The GEMM without clusters, the fastest one of those measured.
Macros gemm_macros();
/// Attention with the tile counter; `pingpong` with named barriers between the consumers. Causal: as many heads
/// together as keep their keys and values in 32 MB.
Macros attention_macros(bool causal, bool pingpong, int sequence);

/// `kind` is `gemm` or `fa`. Runs python3 in the folder.
Result<PrototypeSource> prototype_source(const std::string& folder, const std::string& kind, const Macros& macros);

}  // namespace tlxjit::bench

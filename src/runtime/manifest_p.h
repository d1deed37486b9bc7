// src/runtime/manifest_p.h — manifests as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "src/runtime/json_p.h"
#include "tlxjit/core/result.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

using Json = nlohmann::ordered_json;

/// The keys of a manifest, or one key alone. What is in them has not been looked at.
Result<std::vector<Json>> read_manifest(std::string_view text);

}  // namespace runtime
TLXJIT_NAMESPACE_END

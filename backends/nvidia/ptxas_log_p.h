// backends/nvidia/ptxas_log_p.h — what ptxas says about a kernel, from the log of a compile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

/// Figures of `ptxas -v`. Where the log has several functions: registers, stack and barriers are the
/// largest, spills are summed.
struct PtxasReport {
  int registers = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int stack_bytes = 0;
  int barriers = 0;
  bool setmaxnreg_ignored = false;
  bool wgmma_serialized = false;
  double ptxas_ms = 0;               ///< ptxas's own share of the compile
  std::vector<std::string> remarks;  ///< `C7519 warpgroup.arrive is injected …`, in order

  /// No spills, no stack, setmaxnreg kept, wgmma not serialised.
  bool clean() const {
    return spill_store_bytes == 0 && spill_load_bytes == 0 && stack_bytes == 0 && !setmaxnreg_ignored &&
           !wgmma_serialized;
  }
  bool has_remark(std::string_view code) const;
};

PtxasReport parse_ptxas_log(std::string_view log);

}  // namespace nvidia
TLXJIT_NAMESPACE_END

// backends/nvidia/emit/ptx_p.h — the rows of ptx.def that a kernel uses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

enum class Ptx : uint8_t {
#define TLX_PTX(id, ...) id,
#include "backends/nvidia/emit/ptx.def"
#undef TLX_PTX
  count,
};

/// Writes uses of rows, and afterwards the macros of the rows that were used.
class PtxUses {
 public:
  /// The statement `id(args…);`.
  std::string operator()(Ptx id, std::initializer_list<std::string_view> args = {});
  std::string macros() const;

 private:
  std::array<bool, static_cast<size_t>(Ptx::count)> used_{};
};

}  // namespace nvidia
TLXJIT_NAMESPACE_END

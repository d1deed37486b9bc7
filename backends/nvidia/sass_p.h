// backends/nvidia/sass_p.h — what ptxas made of a kernel, read from the cubin itself.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No disassembler is needed where tests run: an sm_90 instruction is 128 bits, its opcode the low 12
// of them. Health checks count opcodes; the words "in a main loop" are settled by the control flow.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tlxjit/core/result.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

/// One 128-bit instruction as two words.
struct SassInstruction {
  uint64_t lo = 0;
  uint64_t hi = 0;
  unsigned opcode() const { return unsigned(lo & 0xfff); }
};

struct SassReport {
  std::string kernel;
  int instructions = 0;                     ///< without the NOPs that pad the end
  int registers = 0;                        ///< at launch, as the cubin declares; 0 if it does not
  int mma_loops = 0;                        ///< innermost loops that hold an HGMMA
  bool indirect = false;                    ///< has BRX: edges are missing, so loops may be too
  std::map<std::string, int> counts;        ///< by mnemonic
  std::map<std::string, int> in_mma_loops;  ///< same, within those innermost loops only

  /// Sum of `mnemonic` and its variants (`MEMBAR` counts `MEMBAR.CTA`, `MEMBAR.GPU`, `MEMBAR.SYS`).
  int count(std::string_view mnemonic) const { return sum(counts, mnemonic); }
  int count_in_mma_loops(std::string_view mnemonic) const { return sum(in_mma_loops, mnemonic); }

 private:
  static int sum(const std::map<std::string, int>& table, std::string_view mnemonic);
};

/// Reports on every kernel of a 64-bit CUDA ELF for sm_90.
Result<std::vector<SassReport>> inspect_kernels(std::span<const char> cubin);

/// Reports on one kernel; an empty name means the only one.
Result<SassReport> inspect_cubin(std::span<const char> cubin, std::string_view kernel = {});

/// `HGMMA`, `WARPGROUP.DEPBAR`, …; `OP_0x123` for an opcode that the table lacks.
std::string sass_mnemonic(const SassInstruction& instruction);

/// Where a branch goes, as an instruction index; -1 if it has no direct target. `index` is its own place.
int sass_target(const SassInstruction& instruction, int index);

struct SassLoop {
  int header = 0;             ///< instruction index
  std::vector<bool> in_body;  ///< by instruction
};

/// The natural loops of a kernel's code, one for each header.
std::vector<SassLoop> sass_loops(std::span<const SassInstruction> code);

}  // namespace nvidia
TLXJIT_NAMESPACE_END

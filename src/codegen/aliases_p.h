// src/codegen/aliases_p.h — which reads of variables and sums may share the storage's registers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <unordered_map>
#include <vector>

#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

class Aliases {
 public:
  explicit Aliases(const Module& module);

  /// Whether the result of a `get` or `acc.read`, op `index` of the block, may share the storage's registers: nothing
  /// overwrites them before the last use. Uses stand behind the op in its block, or in regions there.
  bool safe(const Block& block, size_t index) const;

 private:
  struct Place {
    const Block* block = nullptr;
    size_t index = 0;
    const Op* around = nullptr;  ///< whose region the block is
  };

  void survey(const Block& block, const Op* around);
  size_t index_in(const Block& block, const Op* op) const;

  std::unordered_map<const Op*, Place> places_;
  std::vector<std::vector<const Op*>> users_;  // by value
  /// Block → storage → which of the block's ops write it, themselves or in their regions, in order.
  std::unordered_map<const Block*, std::unordered_map<Value, std::vector<size_t>>> writes_;
};

TLXJIT_NAMESPACE_END

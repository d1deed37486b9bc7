// src/ir/ring_barriers.cpp — which barriers of a lowered module are those of its rings.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/ring_barriers_p.h"

TLXJIT_NAMESPACE_BEGIN

std::optional<std::vector<RingBarriers>> ring_barriers(const Module& lowered) {
  std::vector<RingBarriers> rings;
  const Attr* const attr = lowered.attrs.find("rings");
  if (!attr) return rings;
  const auto* const numbers = std::get_if<std::vector<int64_t>>(attr);
  if (!numbers) return std::nullopt;
  std::vector<const Op*> barriers;
  for (const auto& op : lowered.body.ops)
    if (op->code == OpCode::barrier) barriers.push_back(op.get());
  for (const int64_t number : *numbers) {
    if (number < 0 || number + 1 >= static_cast<int64_t>(barriers.size())) return std::nullopt;
    const RingBarriers ring{barriers[static_cast<size_t>(number)], barriers[static_cast<size_t>(number) + 1]};
    if (lowered.type(ring.full->result()) != lowered.type(ring.empty->result())) return std::nullopt;
    rings.push_back(ring);
  }
  return rings;
}

TLXJIT_NAMESPACE_END

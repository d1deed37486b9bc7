// src/ir/schedule_use_p.h — which tasks iterate a kernel's schedule, and which of them takes tiles from its counter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

struct ScheduleUse {
  std::vector<const Op*> readers;  ///< tasks that iterate it, in order
  const Op* scheduler = nullptr;   ///< of them the first that fills a ring or, without one, the first
};

ScheduleUse use_of_schedule(const Module& portable);

TLXJIT_NAMESPACE_END

// src/passes/place_waits_p.h — pass place_waits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <set>

#include "src/passes/lower_p.h"

TLXJIT_NAMESPACE_BEGIN

/// Makes the dot queue explicit. An instance's dots complete in issue order, so a wait that leaves the n
/// youngest groups in flight completes all older ones. The pass follows, for every dot, the least number of
/// groups issued after it on any path, and puts
///   - dot.fence before a dot when registers of sums or operands were touched since the last fence,
///   - dot.commit after each dot,
///   - dot.wait before sums are read or written, before a value that is assigned to an in-flight operand is
///     made (its op is moved down to the assignment first), before a slot is released, and at the end of a task,
///   - release of each slot at the first point where all its reads are known to be complete; one that the author
///     wrote no later than the next op that may wait for another task.
/// Younger groups stay in flight wherever the count allows it.
/// Arrivals at the barriers `by_hand` come after the instance's earlier dots, but for the `pending` youngest, and what
/// all its threads did (sync); writes to the buffers `by_hand` after the dots that read them, and each access after
/// those before it (fence, sync: shared_order_p.h).
Result<void> place_waits(Module& module, const std::set<Value>& by_hand = {});

TLXJIT_NAMESPACE_END

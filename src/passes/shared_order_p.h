// src/passes/shared_order_p.h — what an instance's threads and copies have done to shared memory in program order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <map>
#include <set>
#include <vector>

#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// Who accesses a buffer, and how. What is asynchronous goes through another path to memory (CUDA: the async proxy).
enum class AccessKind : uint8_t {
  read,      ///< all threads, each some elements
  write,     ///< likewise
  put,       ///< one thread writes an element
  copy_in,   ///< one thread issues an asynchronous write
  copy_out,  ///< one thread issues an asynchronous read
  lanes_in,  ///< all threads issue copies of theirs
  dot,       ///< an asynchronous read by all threads
};

struct BufferAccess {
  Value buffer = no_value;   ///< as it is named
  Value storage = no_value;  ///< the buffer that owns its storage
  AccessKind kind = AccessKind::read;
};

/// The accesses of an op to buffers.
std::vector<BufferAccess> accesses_of(const Module& module, const Op& op);

/// Whether accesses of a kind write.
bool writes(AccessKind kind);

/// What stands before an op so that it comes after what the instance did before.
struct Order {
  bool fence = false;  ///< ordinary writes come before asynchronous accesses
  bool sync = false;   ///< the threads meet; after the fence
};

/// At one point of the program, over all paths that lead there: what later accesses of the instance have to be ordered
/// after. Buffers go by their storage, whichever slot: slots are run-time numbers. What a barrier orders (rings, the
/// end of copies to buffers) is none of this. The pairs are in docs/design/0004-by-hand.md.
class SharedOrder {
 public:
  /// `by_hand`: the buffers and barriers that the author made; those of the lowering are used in order as they are.
  Order before(const Module& module, const Op& op, const std::set<Value>& by_hand) const;
  void after(const Module& module, const Op& op, const std::set<Value>& by_hand);
  /// Whether an arrival of one thread, which says that the instance has done what came before, has to come after the
  /// others' accesses to shared memory or waits. One that is late by two phases of a barrier takes one for the other.
  bool ahead() const { return spread_ || !waited_.empty(); }
  void join(const SharedOrder& other);
  bool operator==(const SharedOrder&) const = default;

 private:
  void met();

  std::set<Value> read_;            // by all threads, since they last met
  std::map<Value, Value> written_;  // likewise → the buffer that tiles were stored to, no_value: by several ways
  std::set<Value> put_;             // by one thread, since then
  std::set<Value> unfenced_;        // written by threads, since the last fence
  std::set<Value> leaving_;         // read by copies that one thread issued
  std::set<Value> left_;            // by copies whose end that thread knows of, and others not
  std::set<Value> arriving_;        // written by copies of each thread
  std::set<Value> waited_;          // barriers that all waited for, since they last met or did a dot
  bool spread_ = false;             // all accessed shared memory, since they last met
};

TLXJIT_NAMESPACE_END

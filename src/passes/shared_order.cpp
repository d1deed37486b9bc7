// src/passes/shared_order.cpp — what an instance's threads and copies have done to shared memory in program order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/shared_order_p.h"

#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

void add(std::set<Value>& to, const std::set<Value>& from) { to.insert(from.begin(), from.end()); }

/// Adds a storage that tiles were stored to, `through` one buffer or no_value.
void add(std::map<Value, Value>& to, Value storage, Value through) {
  const auto [at, first] = to.emplace(storage, through);
  if (!first && at->second != through) at->second = no_value;
}

/// Whether all threads access shared memory.
bool is_by_all(AccessKind kind) {
  return kind == AccessKind::read || kind == AccessKind::write || kind == AccessKind::lanes_in;
}

}  // namespace

bool writes(AccessKind kind) {
  return kind != AccessKind::read && kind != AccessKind::copy_out && kind != AccessKind::dot;
}

std::vector<BufferAccess> accesses_of(const Module& module, const Op& op) {
  std::vector<BufferAccess> accesses;
  const auto add = [&](size_t operand, AccessKind kind) {
    const Value v = op.operands[operand], storage = source_of(module, v);
    if (storage != no_value && module.type(storage).kind == TypeKind::buffer) accesses.push_back({v, storage, kind});
  };
  switch (op.code) {
    case OpCode::buffer_get:
    case OpCode::view_load:
    case OpCode::view_gather: add(0, AccessKind::read); break;
    case OpCode::buffer_store:
    case OpCode::view_store:
    case OpCode::view_scatter: add(0, AccessKind::write); break;
    case OpCode::buffer_put: add(0, AccessKind::put); break;
    case OpCode::copy_load: add(1, AccessKind::copy_in); break;
    case OpCode::copy_store: add(1, AccessKind::copy_out); break;
    case OpCode::copy_lanes: add(1, AccessKind::lanes_in); break;
    case OpCode::dot:
      add(1, AccessKind::dot);
      add(2, AccessKind::dot);
      break;
    default: break;
  }
  return accesses;
}

Order SharedOrder::before(const Module& module, const Op& op, const std::set<Value>& by_hand) const {
  Order order;
  // What one thread does here may let the barrier go on.
  if (op.code == OpCode::expect) order.sync = waited_.count(op.operands[0]) != 0;
  for (const auto& [buffer, storage, kind] : accesses_of(module, op)) {
    if (!by_hand.count(storage)) continue;
    const bool read = read_.count(storage), put = put_.count(storage), left = left_.count(storage);
    const auto stored = written_.find(storage);
    const bool written = stored != written_.end();
    switch (kind) {
      case AccessKind::read: order.sync |= written || put; break;
      case AccessKind::write:
      case AccessKind::lanes_in:
        // Each thread stores the same elements of whatever tile.
        order.sync |=
            read || put || left || (written && !(op.code == OpCode::buffer_store && stored->second == buffer));
        break;
      case AccessKind::put: order.sync |= read || written; break;
      case AccessKind::copy_in: order.sync |= read || written; break;
      case AccessKind::copy_out: order.sync |= written; break;
      case AccessKind::dot: order.sync |= written || put; break;
    }
    if (kind == AccessKind::copy_in || kind == AccessKind::copy_out || kind == AccessKind::dot)
      order.fence |= unfenced_.count(storage) != 0;
  }
  return order;
}

void SharedOrder::after(const Module& module, const Op& op, const std::set<Value>& by_hand) {
  switch (op.code) {
    case OpCode::sync: return met();
    case OpCode::fence:
      if (!op.attrs.find("scope")) unfenced_.clear();
      return;
    case OpCode::copy_drain:
      add(left_, leaving_);
      if (op.attrs.integer("pending") == 0) leaving_.clear();
      return;
    case OpCode::copy_wait:
      // Each thread knows of its own.
      for (const Value storage : arriving_) {
        add(written_, storage, no_value);
        unfenced_.insert(storage);
        spread_ = true;
      }
      if (op.attrs.integer("pending") == 0) arriving_.clear();
      return;
    case OpCode::wait:
      if (by_hand.count(op.operands[0])) waited_.insert(op.operands[0]);
      return;
    case OpCode::dot: waited_.clear(); return;  // no thread passes its end before all are there
    case OpCode::buffer_store_remote: spread_ = true; return;
    case OpCode::view_load:
    case OpCode::view_gather:
      spread_ |= accesses_of(module, op).empty();  // of a ring
      break;
    default: break;
  }
  for (const auto& [buffer, storage, kind] : accesses_of(module, op)) {
    if (!by_hand.count(storage)) continue;
    spread_ |= is_by_all(kind);
    switch (kind) {
      case AccessKind::read: read_.insert(storage); break;
      case AccessKind::write:
        add(written_, storage, op.code == OpCode::buffer_store ? buffer : no_value);
        unfenced_.insert(storage);
        break;
      case AccessKind::put:
        put_.insert(storage);
        unfenced_.insert(storage);
        break;
      case AccessKind::copy_out: leaving_.insert(storage); break;
      case AccessKind::lanes_in: arriving_.insert(storage); break;
      case AccessKind::copy_in:
      case AccessKind::dot: break;
    }
  }
}

void SharedOrder::met() {
  read_.clear();
  written_.clear();
  put_.clear();
  left_.clear();
  waited_.clear();
  spread_ = false;
}

void SharedOrder::join(const SharedOrder& other) {
  for (const auto& [storage, through] : other.written_) add(written_, storage, through);
  add(read_, other.read_);
  add(put_, other.put_);
  add(unfenced_, other.unfenced_);
  add(leaving_, other.leaving_);
  add(left_, other.left_);
  add(arriving_, other.arriving_);
  add(waited_, other.waited_);
  spread_ |= other.spread_;
}

TLXJIT_NAMESPACE_END

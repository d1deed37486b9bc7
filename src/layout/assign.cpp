// src/layout/assign.cpp — spreads fragments from dots to every tile of a task.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/layout/assign_p.h"

#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

class Assigner {
 public:
  Assigner(const Module& module, TileLayouts& layouts) : module_(module), layouts_(layouts) {}

  Result<void> run(const Op& task) {
    std::vector<const Op*> ops;
    for (const Block& region : task.regions) walk(region, [&](const Op& op) { ops.push_back(&op); });
    // Facts only grow, and each turn settles at least one tile: a handful of turns for real kernels.
    do {
      changed_ = false;
      for (const Op* op : ops) visit(*op);
    } while (changed_ && !failed_);
    const int64_t warps = task.attrs.integer("warps", 1);
    for (const Op* op : ops) finish(*op, warps);
    if (failed_) return std::move(error_);
    return {};
  }

 private:
  bool is_tile(Value v) const { return module_.type(v).kind == TypeKind::tile; }

  void fail(const Op& op, std::string message) {
    if (failed_) return;
    failed_ = true;
    error_.kind = ErrorKind::user;
    error_.stage = Stage::emit;
    error_.code = ErrorCode::unsupported;
    error_.message = std::move(message);
    error_.location = module_.location(op);
  }

  void put(const Op& op, Value v, FragmentKind kind) {
    if (kind == FragmentKind::none) return;
    const FragmentKind old = layouts_.kind(v);
    if (old == kind) return;
    const Type& type = module_.type(v);
    if (old != FragmentKind::none)
      return fail(op, std::string(info(op.code).text) + ": a " + to_string(type) + " is needed both as " +
                          to_string(old) + " and as " + to_string(kind) +
                          " fragment; conversions between fragments do not exist yet");
    if (!Fragment{kind, type.shape}.valid())
      return fail(op, std::string(info(op.code).text) + ": no " + to_string(kind) + " fragment for " + to_string(type) +
                          " (rows in multiples of 64, columns of 8)");
    layouts_.set(v, kind);
    changed_ = true;
  }

  /// Both ways.
  void same(const Op& op, Value a, Value b) {
    put(op, a, layouts_.kind(b));
    put(op, b, layouts_.kind(a));
  }

  void visit(const Op& op) {
    switch (op.code) {
      case OpCode::accumulator: return put(op, op.result(), FragmentKind::accumulator);
      case OpCode::acc_read: return put(op, op.result(), FragmentKind::accumulator);
      case OpCode::acc_write: return put(op, op.operand(1), FragmentKind::accumulator);
      case OpCode::dot:
        if (is_tile(op.operand(1))) put(op, op.operand(1), FragmentKind::accumulator);
        return;
      case OpCode::var:
      case OpCode::get:
        if (is_tile(op.result())) same(op, op.result(), op.operand(0));
        return;
      case OpCode::set:
        if (is_tile(op.operand(0))) same(op, op.operand(0), op.operand(1));
        return;
      case OpCode::reduce: {
        const auto kept = op.attrs.integer("axis") == 1 ? FragmentKind::row : FragmentKind::column;
        if (module_.type(op.operand(0)).shape.rank != 2)
          return fail(op, "reduce: only tiles of rank 2 can be reduced on this target");
        put(op, op.operand(0), FragmentKind::accumulator);
        return put(op, op.result(), kept);
      }
      case OpCode::broadcast:
        if (module_.type(op.result()).shape.rank != 2) return;
        put(op, op.result(), FragmentKind::accumulator);
        return put(op, op.operand(0), op.attrs.integer("axis") == 1 ? FragmentKind::row : FragmentKind::column);
      case OpCode::buffer_store:
        if (module_.type(op.operand(2)).shape.rank == 2) put(op, op.operand(2), FragmentKind::accumulator);
        return;
      case OpCode::splat:
      case OpCode::iota: return;
      default: break;
    }
    if (info(op.code).scope != Scope::pure || op.results.empty() || !is_tile(op.result())) return;
    if (!is_elementwise(op.code) && op.code != OpCode::finish)
      return fail(op, std::string(info(op.code).text) + ": not supported on this target");
    for (Value v : op.operands)
      if (is_tile(v)) same(op, op.result(), v);
  }

  void finish(const Op& op, int64_t warps) {
    for (Value v : op.results) {
      if (layouts_.kind(v) != FragmentKind::none) {
        if (layouts_.kind(v) != FragmentKind::uniform && warps != fragment_warps)
          fail(op, std::string(info(op.code).text) + ": a " + to_string(module_.type(v)) + " is spread over " +
                       std::to_string(fragment_warps) + " warps on this target; the task has " + std::to_string(warps) +
                       " per instance");
        continue;
      }
      if (!is_tile(v)) continue;
      // A lone splat needs no anchor: every element is the same.
      if (op.code == OpCode::splat) {
        layouts_.set(v, FragmentKind::uniform);
        continue;
      }
      fail(op, std::string(info(op.code).text) + ": no dot, reduction or broadcast fixes how the " +
                   to_string(module_.type(v)) + " is spread over threads");
    }
  }

  const Module& module_;
  TileLayouts& layouts_;
  bool changed_ = false;
  bool failed_ = false;
  Error error_;
};

}  // namespace

Result<void> assign_fragments(const Module& module, const Op& task, TileLayouts& layouts) {
  return Assigner(module, layouts).run(task);
}

TLXJIT_NAMESPACE_END

// src/codegen/emit_control.cpp — blocks, loops, branches and variables.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include "src/codegen/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN

void Emitter::block(const Block& block) {
  for (size_t i = 0; i < block.ops.size() && !failed_; ++i) op(*block.ops[i], block, i);
}

void Emitter::op(const Op& op, const Block& block, size_t index) {
  switch (op.code) {
    case OpCode::var: return variable(op);
    case OpCode::set: return assign(op, op.operand(0), op.operand(1));
    case OpCode::acc_write: return assign(op, op.operand(0), op.operand(1));
    case OpCode::accumulator: return declare_registers(op.result(), nullptr);
    case OpCode::for_: return loop(op);
    case OpCode::while_: return while_loop(op);
    case OpCode::if_: return branch(op);
    case OpCode::yield: return;
    case OpCode::view:
    case OpCode::part:
    case OpCode::trans: return;  // the ops that read a view follow it back to its buffer
    case OpCode::get:
      if (is_tile(op.result())) return tile_op(op, block, index);
      out_->line(fmt::format("const {} {} = {};", c_type(module_.type(op.result()).elem), declare(op.result()),
                             names_[op.operand(0)]));
      return;
    case OpCode::acc_read: return tile_op(op, block, index);
    default: break;
  }
  if (info(op.code).level == Level::portable) return fail(op, "a portable op in lowered IR", ErrorCode::internal_error);
  if (info(op.code).scope == Scope::pure) {
    if (is_tile(op.result())) return tile_op(op, block, index);
    return scalar_op(op);
  }
  // Effects come where the lowering put them, between the values computed before and after.
  flush_all();
  target_.hardware(*this, op);
}

void Emitter::variable(const Op& op) {
  const Value v = op.result(), init = op.operand(0);
  if (is_tile(v)) {
    const std::vector<std::string> from = registers(init);
    return declare_registers(v, &from);
  }
  const std::string name = declare(v);
  out_->line(fmt::format("{} {} = {};", c_type(module_.type(v).elem), name, scalar(init)));
}

void Emitter::assign(const Op&, Value to, Value value) {
  flush_all();
  if (is_tile(value)) return copy_registers(to, registers_[value]);
  out_->line(fmt::format("{} = {};", names_[to], scalar(value)));
}

void Emitter::loop(const Op& op) {
  flush_all();
  const Block& body = op.regions[0];
  const Value i = body.args[0];
  const std::string name = declare(i);
  ranges_.set_loop(i, op.operand(0), op.operand(1));
  const std::string begin = scalar(op.operand(0)), end = scalar(op.operand(1)), step = scalar(op.operand(2));
  int64_t known = 0;
  const bool by_one = is_constant(op.operand(2), known) && known == 1;
  out_->line("#pragma unroll 1");
  out_->open(fmt::format("for (i32 {0} = {1}; {0} < {2}; {3}) {{", name, begin, end,
                         by_one ? "++" + name : name + " += " + step));
  block(body);
  flush_all();
  // The last value is below the end; a step from there may pass beyond what the type holds.
  if (!by_one && ranges_.of(op.operand(1)).high - 1 + ranges_.of(op.operand(2)).high > range_of(Elem::i32).high)
    out_->line(fmt::format("if ((u32){} - (u32){} <= (u32){}) break;", end, name, step));
  out_->close();
}

void Emitter::while_loop(const Op& op) {
  flush_all();
  out_->line("#pragma unroll 1");
  out_->open("for (;;) {");
  block(op.regions[0]);
  flush_all();
  const auto& head = op.regions[0].ops;
  if (head.empty() || head.back()->code != OpCode::yield || head.back()->operands.size() != 1)
    return fail(op, "region 0 does not yield a condition", ErrorCode::internal_error);
  out_->line("if (!" + scalar(head.back()->operand(0)) + ") break;");
  block(op.regions[1]);
  flush_all();
  out_->close();
}

void Emitter::branch(const Op& op) {
  flush_all();
  out_->open("if (" + scalar(op.operand(0)) + ") {");
  bool writes_tiles = false;
  for (const Block& region : op.regions)
    walk(region, [&](const Op& inner) {
      writes_tiles |= inner.code == OpCode::acc_write || (inner.code == OpCode::set && is_tile(inner.operand(0)));
    });
  // Else the compiler makes of it a select per register, executed always; branches here are uniform and rarely taken.
  if (writes_tiles) out_->line("asm volatile(\"\");");
  block(op.regions[0]);
  flush_all();
  if (op.regions.size() > 1 && !op.regions[1].ops.empty()) {
    out_->close("} else {");
    out_->indent();
    block(op.regions[1]);
    flush_all();
  }
  out_->close();
}

TLXJIT_NAMESPACE_END

// src/builder/accumulator.cpp — sums of dots.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/accumulator.h"

#include "src/builder/state_p.h"

TLXJIT_NAMESPACE_BEGIN

void Accumulator::clear(std::source_location at) const {
  if (state_) state_->emit(OpCode::acc_clear, {value_}, {}, {}, at);
}

void Accumulator::dot(Value a, Value b, DotPrecision precision, std::source_location at) const {
  static constexpr const char* texts[] = {"", "ieee", "tf32x3", "tf32", "full", "fast"};
  if (!state_->knows(precision, DotPrecision::fast, "DotPrecision", at)) return;
  Attrs attrs;
  attrs.set("overwrite", std::string("never"));
  if (precision != DotPrecision::automatic) attrs.set("precision", std::string(texts[static_cast<size_t>(precision)]));
  state_->emit(OpCode::dot, {value_, a, b}, {}, std::move(attrs), at);
}

void Accumulator::dot(const View& a, const View& b, DotPrecision precision, std::source_location at) const {
  if (kernel_of({&state_, &a.state_, &b.state_}, at)) dot(a.value_, b.value_, precision, at);
}

void Accumulator::dot(const Tile& a, const View& b, DotPrecision precision, std::source_location at) const {
  if (BuilderState* s = kernel_of({&state_, &b.state_}, at)) dot(s->read(a, at), b.value_, precision, at);
}

Tile Accumulator::read(std::source_location at) const {
  if (!state_) return of_no_kernel({}, no_handle, at);
  if (value_ == no_value) return state_->poison();
  const Type type = state_->module.type(value_);
  Attrs attrs;
  attrs.set("col", int64_t{0});
  return state_->handle(
      state_->emit(OpCode::acc_read, {value_}, {Type::tile(type.shape, type.elem)}, std::move(attrs), at), at);
}

void Accumulator::slabs(int64_t width, const std::function<void(Index, Tile)>& fn, std::source_location at) const {
  if (!state_ || value_ == no_value) return;
  if (!fn) return state_->fault("slabs: the function is empty", at);
  const Type type = state_->module.type(value_);
  if (width < 1 || type.shape[1] % width)
    return state_->fault(
        "slabs: " + std::to_string(type.shape[1]) + " columns do not divide into slabs of " + std::to_string(width),
        at);
  for (int64_t col = 0; col < type.shape[1]; col += width) {
    Attrs attrs;
    attrs.set("col", col);
    const Value slab =
        state_->emit(OpCode::acc_read, {value_}, {Type::tile({type.shape[0], width}, type.elem)}, std::move(attrs), at);
    fn(state_->handle(state_->literal(Operand(col, at), Elem::i32), at), state_->handle(slab, at));
  }
}

void Accumulator::update(const std::function<Tile(Tile)>& fn, std::source_location at) const {
  if (!state_ || value_ == no_value) return;
  if (!fn) return state_->fault("update: the function is empty", at);
  state_->emit(OpCode::acc_write, {value_, state_->read(fn(read(at)), at)}, {}, {}, at);
}

TLXJIT_NAMESPACE_END

// src/builder/launch.cpp — how the programs of a launch run: their number, residence, clusters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/builder/state_p.h"
#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

void Kernel::grid(Operand programs) {
  BuilderState& s = use(programs.at);
  s.emit(OpCode::grid, {s.index(programs)}, {}, {}, programs.at);
}

void Kernel::math(MathMode mode, std::source_location at) {
  BuilderState& s = use(at);
  if (!s.knows(mode, MathMode::precise, "MathMode", at)) return;
  Attrs attrs;
  attrs.set("mode", std::string(mode == MathMode::precise ? "precise" : "fast"));
  s.emit(OpCode::math, {}, {}, std::move(attrs), at);
}

Index Kernel::program_id(std::source_location at) {
  BuilderState& s = use(at);
  return s.handle(s.emit(OpCode::program_id, {}, {Type::scalar(Elem::i32)}, {}, at), at);
}

Index Kernel::num_programs(std::source_location at) {
  BuilderState& s = use(at);
  return s.handle(s.emit(OpCode::num_programs, {}, {Type::scalar(Elem::i32)}, {}, at), at);
}

void Kernel::resident(std::source_location at) { use(at).emit(OpCode::resident, {}, {}, {}, at); }

void Kernel::cluster(int programs, std::source_location at) {
  Attrs attrs;
  attrs.set("size", int64_t{programs});
  use(at).emit(OpCode::cluster, {}, {}, std::move(attrs), at);
}

Index Kernel::cluster_rank(std::source_location at) {
  BuilderState& s = use(at);
  return s.handle(s.emit(OpCode::cluster_rank, {}, {Type::scalar(Elem::i32)}, {}, at), at);
}

void Kernel::cluster_sync(std::source_location at) { use(at).emit(OpCode::cluster_sync, {}, {}, {}, at); }

TLXJIT_NAMESPACE_END

// backends/cpu/emit/dot.cpp — dots: one function per kind of operands, a register tile over packed f32 panels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

DotShape dot_shape(const Unit& unit, int64_t m, int64_t n) {
  // A tile of 8 × 2 vectors leaves room for two columns and a broadcast in 32 registers, 4 × 2 in 16.
  const bool many_registers = unit.vector_bits != 256;
  DotShape s{many_registers ? 8 : 4, 2, static_cast<unsigned>(unit.vector_bits / 32)};
  while (n % s.lanes != 0) s.lanes /= 2;
  s.columns = n % (2 * s.lanes) == 0 ? 2 * s.lanes : s.lanes;
  while (m % s.rows != 0) --s.rows;
  return s;
}

int64_t dot_scratch(int64_t m, int64_t n, int64_t k) {
  const int64_t line = 64;
  auto rounded = [&](int64_t bytes) { return (bytes + line - 1) / line * line; };
  return rounded(m * k * 4) + rounded(k * n * 4);
}

namespace {

std::string key(int64_t n, const View& a, const View& b) {
  std::string s = "dot";
  auto add = [&](int64_t v) { s += "_" + std::to_string(v); };
  add(n);
  for (const View* v : {&a, &b}) {
    s += std::string("_") + to_string(v->elem);
    for (size_t i : {0u, 1u}) add(v->shape[static_cast<int>(i)]), add(v->stride[i]);
  }
  return s;
}

/// acc[i…i+rows, j…j+columns) += a · panel, the sums in registers.
void register_tile(Elements& e, const DotShape& s, int64_t k, Node acc, int64_t acc_stride, Node a, int64_t a_stride,
                   Node panel, Node keep) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Type* vector = e.reg(Elem::f32, s.lanes);
  const int64_t across = s.columns / s.lanes;
  std::vector<Node> sums;
  auto place = [&](int64_t r, int64_t c) { return e.at(acc, (r * acc_stride + c * s.lanes) * 4); };
  for (int64_t r = 0; r < s.rows; ++r)
    for (int64_t c = 0; c < across; ++c) {
      Node old = e.load(place(r, c), Elem::f32, s.lanes);
      sums.push_back(b.CreateSelect(keep, old, llvm::Constant::getNullValue(vector)));
    }
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::Function* fn = before->getParent();
  auto* head = llvm::BasicBlock::Create(b.getContext(), "k", fn);
  auto* exit = llvm::BasicBlock::Create(b.getContext(), "k.end", fn);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(e.i64(0), before);
  std::vector<llvm::PHINode*> phis;
  for (Node start : sums) {
    phis.push_back(b.CreatePHI(vector, 2));
    phis.back()->addIncoming(start, before);
  }
  sums.assign(phis.begin(), phis.end());
  const int64_t unroll = k % 4 == 0 ? 4 : 1;
  for (int64_t u = 0; u < unroll; ++u) {
    Node at_k = b.CreateAdd(i, e.i64(u));
    Node line = e.at(panel, b.CreateMul(at_k, e.i64(s.columns * 4)));
    std::vector<Node> columns;
    for (int64_t c = 0; c < across; ++c) columns.push_back(e.load(e.at(line, c * s.lanes * 4), Elem::f32, s.lanes));
    Node a_k = e.at(a, b.CreateMul(at_k, e.i64(4)));
    for (int64_t r = 0; r < s.rows; ++r) {
      Node x = e.splat(e.load(e.at(a_k, r * a_stride * 4), Elem::f32, 1), s.lanes);
      for (int64_t c = 0; c < across; ++c) {
        Node& sum = sums[static_cast<size_t>(r * across + c)];
        sum = b.CreateFAdd(b.CreateFMul(x, columns[static_cast<size_t>(c)]), sum);
      }
    }
  }
  Node next = b.CreateAdd(i, e.i64(unroll));
  i->addIncoming(next, b.GetInsertBlock());
  for (size_t p = 0; p < phis.size(); ++p) phis[p]->addIncoming(sums[p], b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpULT(next, e.i64(k)), head, exit);
  b.SetInsertPoint(exit);
  for (int64_t r = 0; r < s.rows; ++r)
    for (int64_t c = 0; c < across; ++c) e.store(sums[static_cast<size_t>(r * across + c)], place(r, c), Elem::f32);
}

}  // namespace

llvm::Function* dot_function(Unit& unit, int64_t n, const View& a_kind, const View& b_kind) {
  llvm::Function*& fn = unit.dots[key(n, a_kind, b_kind)];
  if (fn) return fn;
  Elements e(unit.context());
  llvm::IRBuilder<>& b = e.b;
  llvm::Type* pointer = b.getPtrTy();
  llvm::Type* args[] = {pointer, pointer, pointer, pointer, b.getInt1Ty()};
  fn = unit.function("dot", b.getVoidTy(), args, true);
  fn->addFnAttr(llvm::Attribute::NoInline);
  // Sums, operands and scratch are apart: sums and scratch lie in the arena, operands are only read.
  for (unsigned i : {0u, 3u}) fn->addParamAttr(i, llvm::Attribute::NoAlias);
  b.SetInsertPoint(llvm::BasicBlock::Create(unit.context(), "entry", fn));

  const int64_t m = a_kind.shape[0], k = a_kind.shape[1];
  const DotShape s = dot_shape(unit, m, n);
  View a = a_kind, panels = b_kind;
  a.base = fn->getArg(1);
  panels.base = fn->getArg(2);
  Node to_a = fn->getArg(3);
  Node to_b = e.at(to_a, dot_scratch(m, 0, k));
  int64_t a_stride = k;
  if (a.elem == Elem::f32 && a.stride[1] == 1) {
    to_a = a.base;
    a_stride = a.stride[0];
  } else {
    pack_rows(e, a, to_a);
  }
  pack_panels(e, unit, panels, s.columns, to_b);
  e.loop(n, s.columns, [&](Node j) {
    Node panel = e.at(to_b, b.CreateMul(j, e.i64(k * 4)));
    e.loop(m, s.rows, [&](Node i) {
      Node acc = e.at(fn->getArg(0), b.CreateMul(b.CreateAdd(b.CreateMul(i, e.i64(n)), j), e.i64(4)));
      register_tile(e, s, k, acc, n, e.at(to_a, b.CreateMul(i, e.i64(a_stride * 4))), a_stride, panel, fn->getArg(4));
    });
  });
  b.CreateRetVoid();
  return fn;
}

int64_t Emitter::dot_scratch_bytes() const {
  int64_t bytes = 0;
  walk(task_.regions[0], [&](const Op& op) {
    if (op.code != OpCode::dot) return;
    const Shape& c = type(op.operand(0)).shape;
    bytes = std::max(bytes, dot_scratch(c[0], c[1], type(op.operand(1)).shape[1]));
  });
  return bytes;
}

void Emitter::dot(const Op& op) {
  const Type& c = type(op.operand(0));
  const Type& a_type = type(op.operand(1));
  auto operand = [&](Value v) {
    const Type& t = type(v);
    if (!t.is_tile()) return view(v);
    View tile{tile_address(v), t.elem, t.shape, {}};
    tile.stride = {t.shape[1], 1};
    return tile;
  };
  View a = operand(op.operand(1)), b_view = operand(op.operand(2));
  auto real_elem = [](Elem e) { return e == Elem::f32 || e == Elem::bf16 || e == Elem::f16; };
  if (c.kind != TypeKind::accumulator || c.shape.rank != 2 || a.shape.rank != 2 || b_view.shape.rank != 2 ||
      a.shape[0] != c.shape[0] || b_view.shape[1] != c.shape[1] || a.shape[1] != b_view.shape[0] ||
      a_type.shape.rank != 2 || !real_elem(a.elem) || !real_elem(b_view.elem))
    unsupported(op, "a dot of these operands");
  const std::string_view overwrite = op.attrs.text("overwrite");
  Node keep = nullptr;
  if (overwrite == "unless" && op.operands.size() == 4)
    keep = scalar(op.operand(3));
  else if (overwrite == "always" || overwrite == "never")
    keep = b.getInt1(overwrite == "never");
  else
    unsupported(op, "this value of `overwrite`");
  llvm::Function* fn = dot_function(unit_, c.shape[1], a, b_view);
  b.CreateCall(fn, {tile_address(op.operand(0)), a.base, b_view.base,
                    at(field(offsetof(Context, arena), b.getPtrTy()), int64_t{0}), keep});
}

}  // namespace cpu
TLXJIT_NAMESPACE_END

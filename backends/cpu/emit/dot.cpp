// backends/cpu/emit/dot.cpp — dots: one function per kind of operands, a register tile over packed f32 panels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "backends/cpu/emit/dot_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

DotShape::DotShape(int vector_bits)
    // 8 × 2 vectors of sums leave room for two columns and a broadcast in 32 registers, 4 × 2 in 16.
    : rows(vector_bits != 256 ? 8 : 4), width(vector_bits / 16), lanes(static_cast<unsigned>(vector_bits / 32)) {}

Node load_part(Elements& e, Node at, Elem elem, int64_t count, unsigned lanes) {
  if (count >= lanes) return e.load(at, elem, lanes);
  llvm::SmallVector<llvm::Constant*, 16> mask;
  for (unsigned i = 0; i < lanes; ++i) mask.push_back(e.b.getInt1(i < count));
  llvm::Type* type = e.reg(elem, lanes);
  return e.b.CreateMaskedLoad(type, at, llvm::Align(4), llvm::ConstantVector::get(mask),
                              llvm::Constant::getNullValue(type));
}

void store_part(Elements& e, Node value, Node at, Elem elem, int64_t count) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements();
  if (count >= lanes) return e.store(value, at, elem);
  llvm::SmallVector<llvm::Constant*, 16> mask;
  for (unsigned i = 0; i < lanes; ++i) mask.push_back(e.b.getInt1(i < count));
  e.b.CreateMaskedStore(value, at, llvm::Align(4), llvm::ConstantVector::get(mask));
}

namespace {

/// Bytes that packed operands take.
int64_t dot_scratch(const Unit& unit, int64_t m, int64_t n, int64_t k) {
  const int64_t line = 64;
  auto rounded = [&](int64_t bytes) { return (bytes + line - 1) / line * line; };
  return rounded(m * k * 4) + rounded(k * DotShape(unit.vector_bits).padded(n) * 4);
}

std::string key(Elem sums, int64_t n, const Factor& a, const Factor& b) {
  std::string s = std::string("dot_") + to_string(sums);
  auto add = [&](int64_t v) { s += "_" + std::to_string(v); };
  add(n);
  for (const Factor* v : {&a, &b}) {
    add(v->share);
    s += std::string("_") + to_string(v->elem);
    for (size_t i : {0u, 1u}) add(v->shape[static_cast<int>(i)]), add(v->stride[i]);
  }
  return s;
}

/// Products of integers that add up exactly in f32.
int64_t exact_terms(Elem elem) {
  const int64_t largest = elem == Elem::u8 ? 255 * 255 : 128 * 128;
  return (int64_t{1} << 24) / largest;
}

/// A register tile's operands: `a` row-major, `panel` with `columns` of its columns used.
struct Part {
  Node acc, a, panel, keep;
  int64_t acc_stride, a_stride, panel_stride;  // in elements
  int64_t rows, columns, k;
};

/// acc += a · panel, the sums in registers, in f32; integers are added to i32 sums at the end.
void register_tile(Elements& e, unsigned lanes, Elem sums_elem, const Part& t) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Type* vector = e.reg(Elem::f32, lanes);
  llvm::Constant* zero = llvm::Constant::getNullValue(vector);
  const int64_t across = (t.columns + lanes - 1) / lanes;
  const auto place = [&](int64_t r, int64_t c) { return e.at(t.acc, (r * t.acc_stride + c * lanes) * 4); };
  const auto count = [&](int64_t c) { return t.columns - c * lanes; };
  const auto each = [&](auto&& fn) {
    for (int64_t r = 0; r < t.rows; ++r)
      for (int64_t c = 0; c < across; ++c) fn(r, c, static_cast<size_t>(r * across + c));
  };
  const auto old = [&](int64_t r, int64_t c) {
    Node x = load_part(e, place(r, c), sums_elem, count(c), lanes);
    return b.CreateSelect(t.keep, x, llvm::Constant::getNullValue(x->getType()));
  };
  std::vector<Node> sums;
  each([&](int64_t r, int64_t c, size_t) { sums.push_back(sums_elem == Elem::f32 ? old(r, c) : zero); });
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::Function* fn = before->getParent();
  auto* head = llvm::BasicBlock::Create(b.getContext(), "k", fn);
  auto* exit = llvm::BasicBlock::Create(b.getContext(), "k.end", fn);
  Node end = e.at(t.a, t.k * 4);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  const auto phi = [&](Node start) {
    llvm::PHINode* p = b.CreatePHI(start->getType(), 2);
    p->addIncoming(start, before);
    return p;
  };
  llvm::PHINode* a = phi(t.a);
  llvm::PHINode* line = phi(t.panel);
  std::vector<llvm::PHINode*> phis;
  for (Node& sum : sums) sum = phis.emplace_back(phi(sum));
  std::vector<Node> columns;
  for (int64_t c = 0; c < across; ++c) columns.push_back(e.load(e.at(line, c * lanes * 4), Elem::f32, lanes));
  for (int64_t r = 0; r < t.rows; ++r) {
    Node x = e.splat(e.load(e.at(a, r * t.a_stride * 4), Elem::f32, 1), lanes);
    for (int64_t c = 0; c < across; ++c) {
      Node& sum = sums[static_cast<size_t>(r * across + c)];
      sum = b.CreateFAdd(b.CreateFMul(x, columns[static_cast<size_t>(c)]), sum);
    }
  }
  Node a_next = e.at(a, 4);
  a->addIncoming(a_next, head);
  line->addIncoming(e.at(line, t.panel_stride * 4), head);
  for (size_t p = 0; p < phis.size(); ++p) phis[p]->addIncoming(sums[p], head);
  b.CreateCondBr(b.CreateICmpNE(a_next, end), head, exit);
  b.SetInsertPoint(exit);
  each([&](int64_t r, int64_t c, size_t i) {
    Node out = sums[i];
    if (sums_elem != Elem::f32) out = b.CreateAdd(b.CreateFPToSI(out, e.reg(sums_elem, lanes)), old(r, c));
    store_part(e, out, place(r, c), sums_elem, count(c));
  });
}

/// The function `void dot(acc, a, b, scratch, keep)` for operands of these kinds; made on first use.
llvm::Function* dot_function(Unit& unit, Elem sums, int64_t n, const Factor& a_kind, const Factor& b_kind) {
  llvm::Function*& fn = unit.dots[key(sums, n, a_kind, b_kind)];
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
  const DotShape s(unit.vector_bits);
  Factor a = a_kind, panels = b_kind;
  a.base = fn->getArg(1);
  panels.base = fn->getArg(2);
  Node to_a = fn->getArg(3);
  Node to_b = e.at(to_a, dot_scratch(unit, m, 0, k));
  int64_t a_stride = k;
  if (a.elem == Elem::f32 && a.share == Factor::all && a.stride[1] == 1) {
    to_a = a.base;
    a_stride = a.stride[0];
  } else {
    pack_rows(e, a, to_a);
  }
  pack_panels(e, s, panels, to_b);

  const int64_t at_once = sums == Elem::f32 ? k : std::min(k, exact_terms(a.elem));
  const auto tile = [&](Node i, Node j, int64_t rows, int64_t columns) {
    Part t{};
    t.rows = rows, t.columns = columns;
    t.acc_stride = n, t.a_stride = a_stride, t.panel_stride = s.padded(columns);
    t.acc = e.at(fn->getArg(0), b.CreateMul(b.CreateAdd(b.CreateMul(i, e.i64(n)), j), e.i64(4)));
    Node first_a = e.at(to_a, b.CreateMul(i, e.i64(a_stride * 4)));
    Node first_panel = e.at(to_b, b.CreateMul(j, e.i64(k * 4)));
    for (int64_t done = 0; done < k; done += at_once) {
      t.a = e.at(first_a, done * 4), t.panel = e.at(first_panel, done * t.panel_stride * 4);
      t.k = std::min(at_once, k - done), t.keep = done == 0 ? static_cast<Node>(fn->getArg(4)) : b.getTrue();
      register_tile(e, s.lanes, sums, t);
    }
  };
  const auto panel = [&](Node j, int64_t columns) {
    const int64_t whole = m / s.rows * s.rows;
    if (whole > 0) e.loop(whole, s.rows, [&](Node i) { tile(i, j, s.rows, columns); });
    if (m > whole) tile(e.i64(whole), j, m - whole, columns);
  };
  const int64_t whole = n / s.width * s.width;
  if (whole > 0) e.loop(whole, s.width, [&](Node j) { panel(j, s.width); });
  if (n > whole) panel(e.i64(whole), n - whole);
  b.CreateRetVoid();
  return fn;
}

}  // namespace

int64_t Emitter::dot_scratch_bytes() const {
  int64_t bytes = 0;
  walk(task_.regions[0], [&](const Op& op) {
    if (op.code != OpCode::dot) return;
    const Shape& c = type(op.operand(0)).shape;
    bytes = std::max(bytes, dot_scratch(unit_, c[0], c[1], type(op.operand(1)).shape[1]));
  });
  return bytes;
}

void Emitter::dot(const Op& op) {
  const Type& c = type(op.operand(0));
  auto operand = [&](Value v) {
    const Type& t = type(v);
    if (!t.is_tile()) return Factor{view(v)};
    Factor tile{{tile_address(v), t.elem, t.shape, {}}};
    tile.stride = {t.shape[1], 1};
    return tile;
  };
  Factor a = operand(op.operand(1)), panels = operand(op.operand(2));
  const std::string_view overwrite = op.attrs.text("overwrite");
  Node keep = overwrite == "unless" ? scalar(op.operand(3)) : b.getInt1(overwrite == "never");
  const auto add = [&](Factor::Share of_a, Factor::Share of_b) {
    a.share = of_a, panels.share = of_b;
    llvm::Function* fn = dot_function(unit_, c.elem, c.shape[1], a, panels);
    b.CreateCall(fn, {tile_address(op.operand(0)), a.base, panels.base,
                      at(field(offsetof(Context, arena), b.getPtrTy()), int64_t{0}), keep});
    keep = b.getTrue();
  };
  // Of f8 every product is exact in f32, and all sums are f32: full and fast are one.
  const std::string_view precision = op.attrs.text("precision");
  if (precision != "tf32" && precision != "tf32x3") return add(Factor::all, Factor::all);
  if (precision == "tf32x3") {  // the small products first
    add(Factor::rest, Factor::tf32);
    add(Factor::tf32, Factor::rest);
  }
  add(Factor::tf32, Factor::tf32);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END

// backends/nvidia/emit/dot.cpp — dots as chains of wgmma.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include "backends/nvidia/emit/target_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

namespace {

constexpr int element_bytes = 2;
constexpr int k_step = 16;        // elements
constexpr int k_step_bytes = 32;  // in a K-major row

/// An operand in shared memory as wgmma reads it.
struct Descriptor {
  std::string value;           ///< u64 expression
  std::vector<int64_t> steps;  ///< bytes from the first k step to each
  int64_t block_bytes = 0;     ///< from 64 rows to the next
  bool mn_major = false;
};

int swizzle_code(int64_t swizzle) { return swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3; }

/// Whether rows lie one swizzle span apart, as descriptors have it; a copy puts shorter ones closer.
bool fills_span(const SharedView& view) {
  return view.stored[1] * element_bytes % view.buffer->attrs.integer("swizzle") == 0;
}

/// Rows of K, contiguous along K: [rows][swizzle span], one such block after another along K.
Descriptor k_major(const SharedView& view, int64_t swizzle, int64_t k) {
  Descriptor d;
  d.value = fmt::format("descriptor({}, 16, {}, {})", view.address, 8 * swizzle, swizzle_code(swizzle));
  for (int64_t t = 0; t < k / k_step; ++t) {
    const int64_t at = t * k_step_bytes;
    d.steps.push_back(at / swizzle * view.stored[0] * swizzle + at % swizzle);
  }
  d.block_bytes = 64 * swizzle;
  return d;
}

/// Rows along K of 64 contiguous columns (one 128-byte span), one such block after another along the columns.
Descriptor mn_major(const SharedView& view, int64_t k) {
  Descriptor d;
  d.mn_major = true;
  d.value = fmt::format("descriptor({}, {}, 1024, 1)", view.address, view.stored[0] * 128);
  for (int64_t t = 0; t < k / k_step; ++t) d.steps.push_back(t * k_step * 128);
  return d;
}

/// Text of one asm statement: all k steps of one 64-row block. The sums are operands 0 to n/2 − 1.
std::string chain(const std::string& shape, int sums, const Descriptor* a, int a_registers, const Descriptor& b,
                  std::string_view overwrite) {
  std::string list = "{";
  for (int r = 0; r < sums; ++r) list += fmt::format("{}%{}", r ? ", " : "", r);
  list += "}";
  const int steps = static_cast<int>(b.steps.size());
  const int first_a = sums, first_b = sums + a_registers, condition = first_b + 1;
  std::string text = "{ .reg .pred p, q; .reg .b64 a, b; setp.eq.u32 q, 0, 0; ";
  if (overwrite == "unless") text += fmt::format("setp.ne.u32 p, %{}, 0; ", condition);
  if (overwrite == "always") text += "setp.ne.u32 p, 0, 0; ";
  for (int t = 0; t < steps; ++t) {
    const auto step = [&](const Descriptor& d, int operand, const char* name) {
      const int64_t units = d.steps[static_cast<size_t>(t)] / 16;
      if (units == 0) return fmt::format("%{}", operand);
      text += fmt::format("add.s64 {}, %{}, {}; ", name, operand, units);
      return std::string(name);
    };
    std::string from;
    if (a)
      from = step(*a, first_a, "a");
    else
      from = fmt::format("{{%{}, %{}, %{}, %{}}}", first_a + 4 * t, first_a + 4 * t + 1, first_a + 4 * t + 2,
                         first_a + 4 * t + 3);
    const std::string to = step(b, first_b, "b");
    const char* predicate = t == 0 && overwrite != "never" ? "p" : "q";
    text += fmt::format("{} {}, {}, {}, {}, 1, 1{}, {}; ", shape, list, from, to, predicate, a ? ", 0" : "",
                        b.mn_major ? 1 : 0);
  }
  return text + "}";
}

}  // namespace

SharedView HopperTarget::follow(Emitter& e, const Op& user, Value value) {
  const Op* op = e.module().def(value);
  SharedView view;
  if (!op) {
    e.fail(user, "an operand is no view of a buffer");
    return view;
  }
  if (op->code == OpCode::trans) {
    view = follow(e, user, op->operand(0));
    view.transposed = !view.transposed;
    return view;
  }
  if (op->code == OpCode::part) {
    view = follow(e, user, op->operand(0));
    const int64_t rows = e.module().type(value).shape[0];
    if (view.transposed || rows % 8 != 0) e.fail(user, "a part starts on a multiple of 8 stored rows on this target");
    if (view.buffer) {
      const int64_t stride = rows * view.buffer->attrs.integer("swizzle");
      int64_t index = 0;
      view.address += e.is_constant(op->operand(1), index)
                          ? fmt::format(" + {}", index * stride)
                          : fmt::format(" + {} * {}", e.scalar(op->operand(1)), stride);
    }
    return view;
  }
  view.buffer = e.module().def(op->operand(0));
  const Type& type = e.module().type(op->operand(0));
  view.stored = type.shape;
  view.address = shared_address(e, view.buffer->attrs.integer("offset"), op->operand(1), slot_bytes(type));
  return view;
}

void HopperTarget::dot(Emitter& e, const Op& op) {
  const Value a = op.operand(1), b = op.operand(2);
  const Type &sums = e.module().type(op.operand(0)), &a_type = e.module().type(a), &b_type = e.module().type(b);
  const int64_t n = sums.shape[1], k = b_type.shape[0];
  const std::string_view overwrite = op.attrs.text("overwrite");
  const bool in_registers = a_type.kind == TypeKind::tile;
  if (sums.elem != Elem::f32 || a_type.elem != b_type.elem || (a_type.elem != Elem::bf16 && a_type.elem != Elem::f16))
    return e.fail(op, "operands are bf16 or f16, sums f32, on this target");
  if (n > 256 || n % 8 != 0 || k % k_step != 0 || sums.shape[0] % 64 != 0)
    return e.fail(op, "rows in multiples of 64, columns of 8 up to 256, K of 16, on this target");

  const SharedView to = follow(e, op, b);
  SharedView from;
  if (!in_registers) from = follow(e, op, a);
  if (e.failed()) return;
  const int64_t b_swizzle = to.buffer->attrs.integer("swizzle");
  if (b_swizzle == 0 || (!to.transposed && b_swizzle != 128) || (!to.transposed && n % 64 != 0))
    return e.fail(op, "operand b: a swizzled buffer; [K, N] as stored needs swizzle 128 and N in multiples of 64");
  if (!fills_span(to)) return e.fail(op, "the rows of operand b's buffer are no multiple of its swizzle span");
  const Descriptor db = to.transposed ? k_major(to, b_swizzle, k) : mn_major(to, k);
  Descriptor da;
  if (!in_registers) {
    const int64_t swizzle = from.buffer->attrs.integer("swizzle");
    if (from.transposed || swizzle == 0) return e.fail(op, "operand a: [M, K] as stored in a swizzled buffer");
    if (!fills_span(from)) return e.fail(op, "the rows of operand a's buffer are no multiple of its swizzle span");
    da = k_major(from, swizzle, k);
  }

  descriptors_ = true;
  const char* type = a_type.elem == Elem::bf16 ? "bf16" : "f16";
  const std::string shape = fmt::format("wgmma.mma_async.sync.aligned.m64n{}k16.f32.{}.{}", n, type, type);
  const std::vector<std::string> d = e.registers(op.operand(0));
  std::vector<std::string> p;
  if (in_registers) p = e.registers(a);
  const int block_sums = static_cast<int>(n / 2), block_a = static_cast<int>(k / 4);
  Writer& w = e.out();
  // The text's own fence stands before the variable is read; a copy comes after it.
  if (in_registers && e.is_copy(a)) w.line(ptx_(Ptx::wgmma_fence));
  w.open("{");
  if (!in_registers) w.line(fmt::format("const u64 da = {};", da.value));
  w.line(fmt::format("const u64 db = {};", db.value));
  for (int block = 0; block < sums.shape[0] / 64; ++block) {
    // One statement for all k steps: the sums pass through the device compiler once.
    w.line("asm volatile(\"" +
           chain(shape, block_sums, in_registers ? nullptr : &da, in_registers ? block_a : 1, db, overwrite) + "\"");
    std::string out, in;
    for (int r = 0; r < block_sums; ++r)
      out += fmt::format("{}\"{}f\"({})", r ? ", " : "", overwrite == "always" ? '=' : '+',
                         d[static_cast<size_t>(block * block_sums + r)]);
    if (in_registers)
      for (int r = 0; r < block_a; ++r) in += fmt::format("\"r\"({}), ", p[static_cast<size_t>(block * block_a + r)]);
    else
      in = block ? fmt::format("\"l\"(da + {}), ", block * da.block_bytes / 16) : "\"l\"(da), ";
    in += "\"l\"(db)";
    if (overwrite == "unless") in += ", \"r\"((u32)" + e.scalar(op.operand(3)) + ")";
    w.line("    : " + out);
    w.line("    : " + in + ");");
  }
  w.close();
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END

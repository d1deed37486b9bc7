// src/kernels/attention.cpp — attention forward with rings for queries, keys and values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/kernels/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "src/kernels/attention_band_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
constexpr float log2_e = 1.44269504088896340736f;
constexpr float ln_2 = 0.69314718055994530942f;

/// tanh x in ops that every target has code for: 1 − 2 / (e^2x + 1), and near 0, where that loses the digits that a
/// large cap brings back, the polynomial of Cephes.
Tile tanh(const Tile& x) {
  const Tile z = x * x;
  const Tile p = (((-5.70498872745e-3f * z + 2.06390887954e-2f) * z - 5.37397155531e-2f) * z + 1.33314422036e-1f) * z -
                 3.33332819422e-1f;
  return select(z < 0.390625f, p * z * x + x, 1.f - 2.f * rcp(exp2(x * (2 * log2_e)) + 1.f));
}

int value_size(const AttentionOptions& o) { return o.value_head ? o.value_head : o.head; }

/// What is wrong with the configuration, or "".
std::string fault_of(const AttentionConfig& c) {
  const AttentionOptions& o = c.options;
  if (c.bq < 1 || c.bkv < 1 || c.replicas < 1 || c.heads_together < 1 || c.bq % c.replicas)
    return "bq, bkv, replicas and heads_together are at least 1, and replicas divides bq";
  if (c.bq > 1 << 20 || c.bkv > 1 << 20 || c.heads_together > 1 << 20)
    return "bq, bkv and heads_together are at most 2^20";
  for (const int size : {o.head, value_size(o)})
    if (size < 16 || size > 256 || size % 8)
      return "a head has a multiple of 8 elements from 16 to 256, not " + std::to_string(size);
  if (o.elem != Elem::bf16 && o.elem != Elem::f16 && o.elem != Elem::f32)
    return std::string("elements are bf16, f16 or f32, not ") + to_string(o.elem);
  if (o.offsets != Elem::i32 && o.offsets != Elem::i64)
    return std::string("offsets are i32 or i64, not ") + to_string(o.offsets);
  if (o.corner != Corner::top_left && o.corner != Corner::bottom_right)
    return "the corner is top_left or bottom_right, not " + std::to_string(static_cast<int>(o.corner));
  if (o.group < 1) return "a key head has at least 1 query head, not " + std::to_string(o.group);
  for (const int limit : {o.left, o.right})
    if (limit < -1 || limit > 1 << 30)
      return "a window reaches 0 to 2^30 keys, or -1 for all, not " + std::to_string(limit);
  if (o.causal && o.right > 0)
    return "causal leaves no keys behind the query's own, and right is " + std::to_string(o.right);
  return {};
}

}  // namespace

AttentionConfig attention_config(std::string_view target, const AttentionOptions& options, int64_t sequence) {
  AttentionConfig c;
  c.options = options;
  const int64_t bytes_per_head = std::max<int64_t>(sequence, 1) * options.head * 2 * bytes(options.elem);
  const int64_t heads = std::max<int64_t>((int64_t{32} << 20) / std::max<int64_t>(bytes_per_head, 1), 1);
  c.heads_together = static_cast<int>(std::min<int64_t>(heads, 64));
  if (!target.starts_with("sm_90")) {
    // Many rows share the copies of keys and values; the scores of few keys stay in the first-level cache, the keys
    // of one head in the second.
    c.bq = 128, c.bkv = 64, c.replicas = 1, c.heads_together = 1;
    // A block that a mask's edge crosses is computed whole: squares waste least of it.
    if (options.causal || options.right >= 0) c.bq = c.bkv = 96;
    return c;
  }
  // Queries, results on their way out, and the slots of keys and values share 227 KB.
  const int both = options.head + value_size(options);
  while (c.bkv > 32 && (c.bq + c.stages * c.bkv) * both * 2 > 224 << 10) c.bkv /= 2;
  return c;
}

float attention_scale(const AttentionOptions& options) { return 1 / std::sqrt(static_cast<float>(options.head)); }

namespace {

/// What the tasks of the kernel share.
struct Parts {
  Kernel& k;
  const AttentionConfig& c;
  const kernels::AttentionTiles& tiles;
  const kernels::Band& band;
  Tensor q, key, value, out, lse;
  Scalar scale, cap;
  Ring queries, keys, values;

  int64_t rows() const { return c.bq / c.replicas; }  // of an instance
  /// The rows of one sequence and head, as a matrix.
  Tensor matrix(const Tensor& x, const Index& h, const Index& first, const Index& length) const {
    return c.options.jagged ? x.window(0, first, length).at(1, h) : x.at(0, first).at(1, h);
  }
};

void produce(const Parts& p) {
  p.tiles.each([&](const kernels::AttentionTile& at) {
    const kernels::BandTile seen(p.band, at);
    std::optional<Index> shared;
    if (p.c.options.group > 1) shared = at.head / p.c.options.group;
    const Index& key_head = shared ? *shared : at.head;
    const Tensor key_rows = p.matrix(p.key, key_head, at.key_first, seen.end());
    const Tensor value_rows = p.matrix(p.value, key_head, at.key_first, seen.end());
    const Index last = seen.blocks() - 1;
    // The keys of the next tile come before its queries: their slot is free earlier.
    p.keys.acquire().load("k", key_rows, {seen.key(last), 0});
    p.queries.acquire().load("q", p.matrix(p.q, at.head, at.first, at.length), {at.q0, 0});
    p.values.acquire().load("v", value_rows, {seen.key(last), 0});
    p.k.range(last).each([&](Index i) {
      const Index row = seen.key(last - 1 - i);
      p.keys.acquire().load("k", key_rows, {row, 0});
      p.values.acquire().load("v", value_rows, {row, 0});
    });
  });
}

/// The online softmax over blocks of scores.
struct Softmax {
  Tile m;           // row maxima so far
  Tile l;           // row sums so far, each lane its share
  Tile correction;  // by which the last block lowers the weight of former ones

  Softmax(Task& t, int64_t rows)
      : m(t.full<float>({rows}, minus_infinity)), l(t.full<float>({rows}, 0.f)), correction(m) {}
  /// The weights of a block's scores, some of which may be −∞ if `masked`.
  Tile step(const Tile& x, bool masked, const Scalar& to_base_2) {
    const Tile m_new = max(m, maximum(x, 1));
    Tile m_scaled = m_new * to_base_2;
    // A row that sees nothing yet has no maximum; 0 keeps −∞ − (−∞) out of the exponents.
    if (masked) m_scaled = select(m_new == minus_infinity, 0.f, m_scaled);
    correction = exp2(m * to_base_2 - m_scaled);
    m = m_new;
    const Tile weights = exp2(x * to_base_2 - m_scaled.expand(1));
    l = l * correction + sum(weights, 1, {.partial = true});
    return weights;
  }
};

/// An instance that consumes.
struct Consumption {
  const Parts& p;
  Task& t;
  Accumulator dots, sums;
  // exp(scale · x) = 2^(to_base_2 · x); capped, x is tanh(scale / cap · q·k) and the factor cap.
  const Scalar to_base_2, to_cap;

  void tile(const kernels::AttentionTile& at);
  void store(const kernels::AttentionTile& at, const Index& row0, Softmax& softmax);
};

void Consumption::tile(const kernels::AttentionTile& at) {
  const AttentionOptions& o = p.c.options;
  const Index row0 = at.q0 + t.offset(p.c.bq);
  const kernels::BandTile seen(p.band, at);
  const Index blocks = seen.blocks();
  Softmax softmax(t, p.rows());
  sums.clear();
  const Slot query = p.queries.wait();

  const auto scores = [&] {
    const Slot slot = p.keys.wait();
    dots.clear();
    dots.dot(query["q"].part(t), slot["k"].t());
  };
  const auto add_values = [&](const Tile& weights) { sums.dot(weights, p.values.wait()["v"]); };
  const auto weights_of = [&](const Index& j, bool masked) {
    Tile x = dots.read();
    if (o.soft_cap) x = tanh(x * to_cap);
    if (masked) x = select(seen.hidden(t, x.shape(), row0, j), minus_infinity, x);
    return softmax.step(x, masked, to_base_2);
  };

  scores();
  Tile w = weights_of(blocks - 1, true).to(o.elem);  // whose values are not added yet
  const auto step = [&](const Index& j, bool masked) {
    scores();  // of this block, in flight while the former block's values are added
    add_values(w);
    const Tile weights = weights_of(j, masked);
    sums.update([&](Tile former) { return former * softmax.correction.expand(1); });
    w = weights.to(o.elem);
  };

  // The first block is done; then those that the band's upper edge crosses, those that all rows see, and those
  // that its lower edge crosses.
  Index done = blocks * 0 + 1;
  if (p.band.crossed_above()) {
    const Index crossed = seen.crossed_above(blocks);
    p.k.range(1, crossed).each([&](Index i) { step(blocks - 1 - i, true); });
    done = max(crossed, 1);
  }
  std::optional<Index> crossed;
  if (p.band.crossed_below()) crossed = max(blocks - seen.crossed_below(), done);
  p.k.range(done, crossed ? *crossed : blocks).each([&](Index i) { step(blocks - 1 - i, false); });
  if (crossed) p.k.range(*crossed, blocks).each([&](Index i) { step(blocks - 1 - i, true); });
  add_values(w);
  store(at, row0, softmax);
}

void Consumption::store(const kernels::AttentionTile& at, const Index& row0, Softmax& softmax) {
  Tile& l = softmax.l;
  l = finish(l);
  const Tile log_sum = (softmax.m * to_base_2 + log2(l)) * ln_2;
  const Tile inverse = select(l == 0.f, 0.f, rcp(l));
  if (p.c.options.lse) {
    const Tensor lse_row =
        p.c.options.jagged ? p.lse.at(0, at.head).window(0, at.first, at.length) : p.lse.at(0, at.first).at(0, at.head);
    lse_row.store({row0}, log_sum);
  }
  const Tensor rows = p.matrix(p.out, at.head, at.first, at.length);
  rows.store({row0, 0}, (sums.read() * inverse.expand(1)).to(p.c.options.elem));
}

void consume(const Parts& p, Task& t) {
  const bool soft_cap = p.c.options.soft_cap;
  Accumulator dots = t.accumulator<float>({p.rows(), p.c.bkv});
  Accumulator sums = t.accumulator<float>({p.rows(), value_size(p.c.options)});
  Consumption instance{p,
                       t,
                       std::move(dots),
                       std::move(sums),
                       (soft_cap ? p.cap : p.scale) * log2_e,
                       soft_cap ? Scalar(p.scale / p.cap) : Scalar()};
  p.tiles.each([&](const kernels::AttentionTile& at) { instance.tile(at); });
}

}  // namespace

Kernel attention(const AttentionConfig& c, std::source_location at) {
  const AttentionOptions& o = c.options;
  Kernel k = Kernel::generated("attention", at);
  if (const std::string what = fault_of(c); !what.empty()) {
    k.fault("attention: " + what);
    return k;
  }
  const bool jagged = o.jagged;

  kernels::Sequences s;
  const kernels::Limits limits(c);
  if (jagged)
    s.bounds = k.dim("B+1", 1, limits.sequences + 1);
  else
    s.batch = k.dim("B");
  const std::string row_name = jagged ? "T" : "S";
  s.rows = k.dim(o.self ? row_name : row_name + "q", 0, limits.rows);
  s.key_rows = o.self ? s.rows : k.dim(row_name + "k", 0, limits.rows);
  const Index key_heads = k.dim(o.group == 1 ? "H" : "Hkv");
  s.heads = o.group == 1 ? key_heads : key_heads * o.group;
  const auto activations = [&](const char* name, const Index& rows, const Index& heads, int size) {
    return jagged ? k.tensor(o.elem, name, {rows, heads, size}) : k.tensor(o.elem, name, {*s.batch, rows, heads, size});
  };
  const Tensor q = activations("q", s.rows, s.heads, o.head);
  const Tensor key = activations("k", s.key_rows, key_heads, o.head);
  const Tensor value = activations("v", s.key_rows, key_heads, value_size(o));
  const Tensor out = activations("out", s.rows, s.heads, value_size(o));
  Tensor lse;
  if (o.lse)
    lse = jagged ? k.tensor<float>("lse", {s.heads, s.rows}) : k.tensor<float>("lse", {*s.batch, s.heads, s.rows});
  if (jagged) s.offsets = k.tensor(o.offsets, o.self ? "offsets" : "q_offsets", {*s.bounds});
  if (jagged && !o.self) s.key_offsets = k.tensor(o.offsets, "k_offsets", {*s.bounds});
  // The maximum of scaled scores is the scaled maximum only if the scale is positive.
  const Scalar scale = k.scalar<float>("scale", 0.0);
  const Scalar cap = o.soft_cap ? k.scalar<float>("cap", 0.0) : Scalar();

  const kernels::AttentionTiles tiles(k, c, s);
  const kernels::Band band(c);
  Ring queries = k.ring(1).slot("q", o.elem, {c.bq, o.head});
  Ring keys = k.ring(c.stages).slot("k", o.elem, {c.bkv, o.head});
  Ring values = k.ring(c.stages).slot("v", o.elem, {c.bkv, value_size(o)});
  const Parts parts{k, c, tiles, band, q, key, value, out, lse, scale, cap, queries, keys, values};
  k.task(Producer).warps(1).registers(c.load_registers).body([&] { produce(parts); });
  k.task(Consumer).warps(4).replicas(c.replicas).registers(c.mma_registers).body([&](Task& t) { consume(parts, t); });
  return k;
}

TLXJIT_NAMESPACE_END

// src/kernels/attention.cpp — attention forward with rings for queries, keys and values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/kernels/attention.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

TLXJIT_NAMESPACE_BEGIN

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
constexpr float log2_e = 1.44269504088896340736f;
constexpr float ln_2 = 0.69314718055994530942f;

/// Maps tile number t to (first query row, head, batch or first row, length). `rows_of` gives the number of
/// row blocks per head, `block_at` the block's place.
struct Order {
  Kernel& k;
  const AttentionConfig& c;

  /// Splits t into (row block, head): head by head, or in sections of heads with the last rows first. Late
  /// rows of a causal head see the most keys; taken first, they leave short tiles to fill the gaps at the end.
  std::pair<Index, Index> split(Index t, const Index& blocks, const Index& heads) const {
    if (!c.options.causal) return {t % blocks, t / blocks};
    const Index in_section = c.heads_together * blocks;
    const Index section = t / in_section, rest = t % in_section;
    const Index first = section * c.heads_together;
    const Index width = min(heads - first, c.heads_together);
    return {blocks - 1 - rest / width, first + rest % width};
  }
};

Tiles dense_tiles(Kernel& k, const AttentionConfig& c, const Index& batch, const Index& seq, const Index& heads) {
  const Index blocks = ceil_div(seq, c.bq), all = batch * heads;
  return k.dynamic(blocks * all, [&](Index t) -> TileAt {
    auto [block, head] = Order{k, c}.split(std::move(t), blocks, all);
    const Index q0 = block * c.bq;
    return {q0 < seq, {q0, head % heads, head / heads, seq}};
  });
}

/// Row blocks of all sequences are numbered without a prefix sum: sequence b owns the numbers from
/// ⌊offset[b] / bq⌋ + b on, which is strictly increasing and leaves room for ⌈length / bq⌉ blocks; a number
/// past a sequence's last block is skipped.
Tiles jagged_tiles(Kernel& k, const AttentionConfig& c, const Index& rows, const Index& bounds, const Index& heads,
                   const Tensor& offsets) {
  const Index sequences = bounds - 1;
  const Index blocks = (rows / c.bq + sequences) * min(sequences, 1);
  return k.dynamic(blocks * heads, [&](Index t) -> TileAt {
    auto [number, head] = Order{k, c}.split(std::move(t), blocks, heads);
    // Offsets are data: clamped, so that wrong ones give wrong numbers and no access outside.
    const auto offset = [&](Index b) { return min(max(offsets.load({b}), 0), rows); };
    Index low = number * 0, high = low + sequences;
    k.loop([&] { return high - low > 1; },
           [&] {
             Index middle = (low + high) / 2;
             const Tile before = offset(middle) / c.bq + middle <= number;
             low = select(before, middle, low);
             high = select(before, high, middle);
           });
    const Index first = offset(low), end = max(offset(low + 1), first);
    const Index q0 = max(number - (first / c.bq + low), 0) * c.bq;
    return {q0 < end - first, {q0, head, first, end - first}};
  });
}

}  // namespace

AttentionConfig attention_config(std::string_view target, const AttentionOptions& options, int64_t sequence) {
  AttentionConfig c;
  c.options = options;
  const int64_t bytes_per_head = std::max<int64_t>(sequence, 1) * options.head * 2 * bytes(options.elem);
  const int64_t heads = std::max<int64_t>((int64_t{32} << 20) / std::max<int64_t>(bytes_per_head, 1), 1);
  c.heads_together = static_cast<int>(std::min<int64_t>(heads, 64));
  if (!target.starts_with("sm_90")) c.bq = 64, c.bkv = 128, c.replicas = 1;
  return c;
}

Kernel attention(const AttentionConfig& c) {
  const auto& [elem, head_size, causal, jagged] = c.options;
  Kernel k{"attention"};
  if (c.bq < 1 || c.bkv < 1 || c.replicas < 1 || c.heads_together < 1 || head_size < 1 || c.bq % c.replicas) {
    k.fault("attention: bq, bkv, replicas, heads_together and head are at least 1, and replicas divides bq");
    return k;
  }

  std::optional<Index> batch, bounds;
  if (jagged)
    bounds = k.dim("B+1", 1);
  else
    batch = k.dim("B");
  const Index rows = k.dim(jagged ? "T" : "S");
  const Index heads = k.dim("H");
  const auto activations = [&](const char* name) {
    return jagged ? k.tensor(elem, name, {rows, heads, head_size})
                  : k.tensor(elem, name, {*batch, rows, heads, head_size});
  };
  const Tensor q = activations("q"), key = activations("k"), value = activations("v"), out = activations("out");
  const Tensor lse = jagged ? k.tensor<float>("lse", {heads, rows}) : k.tensor<float>("lse", {*batch, heads, rows});
  const Tensor offsets = jagged ? k.tensor<int32_t>("offsets", {*bounds}) : Tensor();
  // The maximum of scaled scores is the scaled maximum only if the scale is positive.
  const Scalar scale = k.scalar<float>("scale", 0.0);

  const Tiles tiles =
      jagged ? jagged_tiles(k, c, rows, *bounds, heads, offsets) : dense_tiles(k, c, *batch, rows, heads);
  Ring queries = k.ring(1).slot("q", elem, {c.bq, head_size});
  Ring keys = k.ring(c.stages).slot("k", elem, {c.bkv, head_size});
  Ring values = k.ring(c.stages).slot("v", elem, {c.bkv, head_size});

  // The rows of one sequence and head, as a matrix.
  const auto matrix = [&](const Tensor& x, const Index& h, const Index& first, const Index& length) {
    return jagged ? x.window(0, first, length).at(1, h) : x.at(0, first).at(1, h);
  };
  // Causal: later key blocks are masked for all rows of the tile.
  const auto key_blocks = [&](const Index& q0, const Index& length) {
    const Index all = ceil_div(length, c.bkv);
    return causal ? min(all, ceil_div(q0 + c.bq, c.bkv)) : all;
  };

  k.task(Producer).warps(1).registers(c.load_registers).body([&] {
    tiles.each([&](Index q0, Index h, Index first, Index length) {
      const Tensor key_rows = matrix(key, h, first, length), value_rows = matrix(value, h, first, length);
      const Index last = key_blocks(q0, length) - 1;
      // The keys of the next tile come before its queries: their slot is free earlier.
      keys.acquire().load("k", key_rows, {last * c.bkv, 0});
      queries.acquire().load("q", matrix(q, h, first, length), {q0, 0});
      values.acquire().load("v", value_rows, {last * c.bkv, 0});
      k.range(last).each([&](Index i) {
        const Index row = (last - 1 - i) * c.bkv;
        keys.acquire().load("k", key_rows, {row, 0});
        values.acquire().load("v", value_rows, {row, 0});
      });
    });
  });

  k.task(Consumer).warps(4).replicas(c.replicas).registers(c.mma_registers).body([&](Task& t) {
    const int64_t m_rows = c.bq / c.replicas;
    Accumulator s = t.accumulator<float>({m_rows, c.bkv});
    Accumulator o = t.accumulator<float>({m_rows, head_size});
    const Scalar to_base_2 = scale * log2_e;  // exp(scale · x) = 2^(to_base_2 · x)

    tiles.each([&](Index q0, Index h, Index first, Index length) {
      const Index row0 = q0 + t.offset(c.bq);
      const Index blocks = key_blocks(q0, length);
      Tile m = t.full<float>({m_rows}, minus_infinity);  // row maxima so far
      Tile l = t.full<float>({m_rows}, 0.f);             // row sums so far, each lane its share
      Tile correction = m;                               // by which this block lowers the weight of former ones
      o.clear();
      const Slot query = queries.wait();

      const auto scores = [&] {
        const Slot slot = keys.wait();
        s.clear();
        s.dot(query["q"].part(t), slot["k"].t());
      };
      const auto add_values = [&](const Tile& weights) { o.dot(weights, values.wait()["v"]); };
      /// One step of the online softmax over key block j; gives the weights and updates m, l, correction.
      const auto softmax = [&](const Index& j, bool masked) {
        Tile x = s.read();
        if (masked) {
          const Tile col = t.iota(x.shape(), 1) + j * c.bkv;
          Tile hidden = col >= length;
          if (causal) hidden = hidden | (col > t.iota(x.shape(), 0) + row0);
          x = select(hidden, minus_infinity, x);
        }
        const Tile m_new = max(m, maximum(x, 1));
        Tile m_scaled = m_new * to_base_2;
        // A row that sees nothing yet has no maximum; 0 keeps −∞ − (−∞) out of the exponents.
        if (masked) m_scaled = select(m_new == minus_infinity, 0.f, m_scaled);
        correction = exp2(m * to_base_2 - m_scaled);
        m = m_new;
        const Tile weights = exp2(x * to_base_2 - m_scaled.expand(1));
        l = l * correction + sum(weights, 1, Extent::Partial);
        return weights;
      };

      scores();
      Tile p = softmax(blocks - 1, true).to(elem);  // weights whose values are not added yet
      const auto step = [&](const Index& j, bool masked) {
        scores();  // of this block, in flight while the former block's values are added
        add_values(p);
        const Tile weights = softmax(j, masked);
        o.update([&](Tile sums) { return sums * correction.expand(1); });
        p = weights.to(elem);
      };

      // Causal blocks that the diagonal crosses; with equal tile sizes the first one is the only one.
      Index done = blocks * 0 + 1;
      if (causal && c.bkv < c.bq) {
        const Index crossed = blocks - q0 / c.bkv;
        k.range(1, crossed).each([&](Index i) { step(blocks - 1 - i, true); });
        done = max(crossed, 1);
      }
      k.range(done, blocks).each([&](Index i) { step(blocks - 1 - i, false); });
      add_values(p);

      l = finish_sum(l);
      const Tile log_sum = (m * to_base_2 + log2(l)) * ln_2;
      const Tile inverse = select(l == 0.f, 0.f, rcp(l));
      const Tensor lse_row = jagged ? lse.at(0, h).window(0, first, length) : lse.at(0, first).at(0, h);
      lse_row.store({row0}, log_sum);
      matrix(out, h, first, length).store({row0, 0}, (o.read() * inverse.expand(1)).to(elem));
    });
  });
  return k;
}

TLXJIT_NAMESPACE_END

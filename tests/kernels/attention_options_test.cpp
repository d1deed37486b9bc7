// tests/kernels/attention_options_test.cpp — attention with options, lengths and layouts drawn at random.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/attention_fixture.h"

namespace kernels_test {

class AttentionOptionsTest : public AttentionTest {
 protected:
  AttentionOptions draw(Random& r) const {
    AttentionOptions o;
    const bool hopper = GetParam().tensor_maps();
    o.elem = hopper ? r.among({Elem::bf16, Elem::f16}) : r.among({Elem::bf16, Elem::f16, Elem::f32});
    o.head = hopper ? r.among({64, 128}) : r.among({16, 24, 64, 72, 80, 96, 128, 192, 256});
    if (r.chance(0.2)) o.value_head = hopper ? r.among({64, 128}) : r.among({16, 40, 128});
    o.jagged = r.chance(0.7);
    o.self = r.chance(0.4);
    o.group = r.among({1, 1, 2, 3, 8});
    o.causal = r.chance(0.4);
    if (r.chance(0.4)) o.left = static_cast<int>(r.among<int64_t>({0, 1, r.integer(2, 40), r.integer(40, 300)}));
    if (!o.causal && r.chance(0.4))
      o.right = static_cast<int>(r.among<int64_t>({0, 1, r.integer(2, 40), r.integer(40, 300)}));
    o.corner = r.among({Corner::top_left, Corner::bottom_right});
    o.soft_cap = !GetParam().fast() && r.chance(0.3);
    o.lse = r.chance(0.7);
    o.offsets = r.among({Elem::i32, Elem::i64});
    return o;
  }
  static int64_t length(Random& r) {
    return r.among<int64_t>({0, 1, r.integer(1, 20), r.integer(1, 150), r.integer(64, 400), 64 * r.integer(1, 4)});
  }
  static Batch draw(const AttentionOptions& o, Random& r) {
    Batch batch;
    const auto count = static_cast<size_t>(r.integer(0, o.jagged ? 6 : 2));
    for (size_t b = 0; b < count; ++b) {
      const bool again = !o.jagged && b > 0;
      batch.queries.push_back(again ? batch.queries[0] : length(r));
      batch.keys.push_back(o.self ? batch.queries.back() : again ? batch.keys[0] : length(r));
    }
    batch.key_heads = r.integer(o.group > 3 ? 1 : 0, 2);
    batch.cap = r.among({0.5f, 2.f, 30.f, 1e6f});
    batch.before = r.integer(0, 3), batch.after = r.integer(0, 3);
    batch.fused = r.chance(0.3);
    for (bool& x : batch.heads_first) x = r.chance(0.3);
    return batch;
  }
  void one(Random& r) {
    const AttentionOptions o = draw(r);
    AttentionConfig c = config(o);
    // Other tiles on the CPU, so that diagonals cross them in every way.
    if (!GetParam().tensor_maps()) {
      c.bq = r.among({16, 48, 64, 80, 128});
      c.bkv = r.among({16, 32, 48, 64, 128});
      c.replicas = r.among({1, 1, 2});
      c.stages = r.among({1, 2, 3});
      c.heads_together = r.among({1, 3, 8});
    }
    SCOPED_TRACE("bq " + std::to_string(c.bq) + ", bkv " + std::to_string(c.bkv) + ", replicas " +
                 std::to_string(c.replicas) + ", stages " + std::to_string(c.stages));
    auto exe = compile(attention(c));
    ASSERT_TRUE(exe.ok()) << text(o) << "\n" << to_string(exe.error());
    for (int i = 0; i < 3 && !HasFatalFailure(); ++i) {
      const Batch batch = draw(o, r);
      switch (o.elem) {
        case Elem::f32: run<float>(*exe, o, batch, r); break;
        case Elem::f16: run<f16>(*exe, o, batch, r); break;
        default: run<bf16>(*exe, o, batch, r);
      }
    }
  }
};

TEST_P(AttentionOptionsTest, Draws) {
  cases(24, [&](Random& r) { one(r); });
}

/// More of the day's, each of another mixture of options.
TEST_P(AttentionOptionsTest, DrawsOfToday) {
  for (uint64_t i = 1; i <= 12 && !HasFailure(); ++i) {
    SCOPED_TRACE("draw " + std::to_string(i));
    Random r(seed_of_today() * 1000 + i);
    one(r);
  }
}

/// Blocks of keys that begin and end inside a tile of rows, and tiles of rows that do inside a block.
TEST_P(AttentionOptionsTest, DiagonalsThroughTilesOfEverySize) {
  if (GetParam().tensor_maps()) return;  // which have their own sizes
  Random r(seed_of_today());
  for (const auto& [bq, bkv] :
       {std::pair{48, 64}, {96, 128}, {80, 128}, {32, 48}, {64, 48}, {48, 48}, {16, 64}, {64, 16}}) {
    SCOPED_TRACE("bq " + std::to_string(bq) + ", bkv " + std::to_string(bkv));
    AttentionOptions o{.elem = Elem::bf16, .head = 64, .causal = true};
    o.jagged = r.chance(0.5);
    AttentionConfig c = config(o);
    c.bq = bq, c.bkv = bkv, c.replicas = 1;
    auto exe = compile(attention(c));
    TLXJIT_MUST(exe);
    Batch batch = draw(o, r);
    batch.queries = batch.keys = {200};
    batch.key_heads = 1;
    run<bf16>(*exe, o, batch, r);
  }
}

INSTANTIATE_TEST_SUITE_P(On, AttentionOptionsTest, places, place_name);

}  // namespace kernels_test

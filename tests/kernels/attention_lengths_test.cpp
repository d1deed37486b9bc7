// tests/kernels/attention_lengths_test.cpp — public reports of attention that failed on certain lengths.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <map>

#include "tests/kernels/attention_fixture.h"

namespace kernels_test {

/// A module-level expression of dims.
int64_t evaluate(const Module& module, Value value, const std::map<std::string, int64_t>& dims) {
  const Op& op = *module.def(value);
  const auto in = [&](size_t i) { return evaluate(module, op.operands[i], dims); };
  switch (op.code) {
    case OpCode::constant: return op.attrs.integer("value");
    case OpCode::dim: return dims.at(std::string(op.attrs.text("name")));
    case OpCode::add: return in(0) + in(1);
    case OpCode::sub: return in(0) - in(1);
    case OpCode::mul: return in(0) * in(1);
    case OpCode::div: return in(0) / in(1);
    case OpCode::min: return std::min(in(0), in(1));
    default: ADD_FAILURE() << "an op that this test does not know: " << info(op.code).text; return 0;
  }
}

class AttentionLengths : public AttentionTest {
 protected:
  /// The least head size that the target has.
  int small() const { return GetParam().tensor_maps() ? 64 : 16; }
  template <class T = bf16>
  void both(AttentionOptions o, const Batch& batch) {
    Random r(1);
    for (const bool causal : {false, true}) {
      o.causal = causal;
      ASSERT_NO_FATAL_FAILURE(run<T>(o, batch, r));
    }
  }
};

TEST_P(AttentionLengths, BL_001_NoQueriesOrNoKeys) {
  const Batch small = Batch::cross({0, 3, 2, 0}, {7, 2, 0, 11});
  both({.head = 64, .jagged = true, .self = false, .group = 4}, small);
  // The report's own offsets.
  const Batch large = Batch::cross({0, 1208, 840, 0}, {2538, 1742, 840, 3072});
  Random r(2);
  const int head = GetParam().tensor_maps() ? 64 : 256;
  run<bf16>({.head = head, .causal = true, .jagged = true, .self = false, .group = 4}, large, r);
}

TEST_P(AttentionLengths, BL_003_RepeatedOffsets) {
  for (const auto& lengths : {std::vector<int64_t>{5, 0, 7}, {0, 12}, {12, 0}})
    both({.head = 64, .jagged = true}, Batch::self(lengths, 2));
}

TEST_P(AttentionLengths, BL_015_OneSequenceOfOneToken) {
  both<f16>({.elem = Elem::f16, .head = small(), .jagged = true}, Batch::self({1}, 8));
}

TEST_P(AttentionLengths, BL_016_EmptyEntriesAmongFullOnes) {
  std::vector<int64_t> lengths;
  for (int b = 0; b < 64; ++b) lengths.push_back(32 * (b % 4 == 3 ? 0 : b % 4));  // 0 32 64 0
  both({.head = 64, .jagged = true}, Batch::self(lengths));
}

TEST_P(AttentionLengths, BL_021_TilesGrowWithTheBatchAndNotItsSquare) {
  AttentionConfig c = config({.head = small(), .jagged = true, .group = 2});
  const Result<Module> module = attention(c).module();
  TLXJIT_MUST(module);
  Value total = no_value;
  for (const auto& op : module->body.ops)
    if (op->code == OpCode::schedule) total = op->operands[0];
  ASSERT_NE(total, no_value);
  cases(50, [&](Random& r) {
    std::vector<int64_t> lengths(static_cast<size_t>(r.among<int64_t>({0, 1, r.integer(1, 20), 1024, 8192})));
    for (int64_t& n : lengths) n = r.among<int64_t>({34, r.integer(0, 300), c.bq});
    const int64_t heads = r.integer(1, 5);
    int64_t rows = 0, blocks = 0;
    for (int64_t n : lengths) rows += n, blocks += (n + c.bq - 1) / c.bq;
    const auto batch = static_cast<int64_t>(lengths.size());
    const int64_t tiles = evaluate(*module, total, {{"T", rows}, {"B+1", batch + 1}, {"Hkv", heads}});
    EXPECT_LE(tiles, (blocks + batch) * 2 * heads);
    EXPECT_GE(tiles, blocks * 2 * heads);
  });
  Random r(3);
  run<bf16>({.head = small(), .jagged = true}, Batch::self(std::vector<int64_t>(1024, 34)), r);
}

TEST_P(AttentionLengths, BL_023_NeighboursChangeNoBit) {
  const AttentionOptions o{.head = 64, .causal = true, .jagged = true, .left = 300};
  auto exe = compile(attention(config(o)));
  TLXJIT_MUST(exe);
  Random r(4);
  std::vector<int64_t> lengths;
  for (int b = 0; b < 512; ++b) lengths.push_back(b == 200 ? 1000 : r.integer(1, 7));
  AttentionCall<bf16> alone(o, Batch::self({1000}, 2), r), among(o, Batch::self(lengths, 2), r);
  alone.fill(r);
  among.fill(r);
  const auto each = [&](auto&& fn) {
    for (int64_t i = 0; i < 1000; ++i)
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t d = 0; d < o.head; ++d) fn(i, h, d);
  };
  each([&](int64_t i, int64_t h, int64_t d) {
    among.q(200, i, h, d) = alone.q(0, i, h, d);
    among.k(200, i, h, d) = alone.k(0, i, h, d);
    among.v(200, i, h, d) = alone.v(0, i, h, d);
  });
  TLXJIT_MUST(alone.launch(*exe, device()));
  TLXJIT_MUST(among.launch(*exe, device()));
  each([&](int64_t i, int64_t h, int64_t d) {
    ASSERT_EQ(among.out(200, i, h, d), alone.out(0, i, h, d)) << i << " " << h << " " << d;
    ASSERT_EQ(among.lse(200, i, h), alone.lse(0, i, h)) << i << " " << h;
  });
}

TEST_P(AttentionLengths, BL_024_TasksAgreeOnTheNumberOfBlocks) {
  both({.head = 64, .jagged = true, .self = false}, Batch::cross({512, 31}, {40, 700}));
  both({.head = 64, .jagged = true, .self = false, .left = 100}, Batch::cross({512, 31}, {31, 512}));
}

TEST_P(AttentionLengths, BL_030_KeysThatFillNoBlock) {
  // A row by itself has its own tolerance: the tail cannot hide in an average.
  for (const bool jagged : {false, true}) {
    both({.head = 64, .jagged = jagged}, Batch::self({137}));
    both({.head = 64, .jagged = jagged, .self = false}, Batch::cross({1}, {129}));
  }
}

TEST_P(AttentionLengths, BL_031_WindowLargerThanTheSequences) {
  both({.head = small(), .left = 255}, Batch::self({2, 2}));
  both({.head = small(), .jagged = true, .left = 255}, Batch::self({2, 1, 200}));
}

TEST_P(AttentionLengths, BL_032_OneKernelForLengthsAroundItsWindow) {
  const AttentionOptions o{.head = small(), .left = 4095, .right = 0};
  auto exe = compile(attention(config(o)));
  TLXJIT_MUST(exe);
  Random r(5);
  for (const int64_t length : {4001, 4096, 17}) ASSERT_NO_FATAL_FAILURE(run<bf16>(*exe, o, Batch::self({length}), r));
}

TEST_P(AttentionLengths, BL_055_HistoriesAndTargetsWithoutMask) {
  Random r(6);
  std::vector<int64_t> lengths;
  for (int b = 0; b < 4; ++b) lengths.push_back(r.integer(0, 100) + 20);
  run<bf16>({.head = small(), .jagged = true}, Batch::self(lengths), r);
}

TEST_P(AttentionLengths, BL_117_MoreTilesThan65535) {
  Random r(7);
  const AttentionOptions o{.head = small(), .jagged = true};
  auto exe = compile(attention(config(o)));
  TLXJIT_MUST(exe);
  for (const auto& [batch, heads] : {std::pair<size_t, int64_t>{10923, 6}, {21845, 3}, {16384, 4}}) {
    // A tile for each sequence and head, most of them empty.
    std::vector<int64_t> lengths(batch, 0);
    for (size_t b = 0; b < batch; b += 100) lengths[b] = 1;
    lengths.back() = 1;
    ASSERT_NO_FATAL_FAILURE(run<bf16>(*exe, o, Batch::self(lengths, heads), r));
  }
}

INSTANTIATE_TEST_SUITE_P(On, AttentionLengths, places, place_name);

}  // namespace kernels_test

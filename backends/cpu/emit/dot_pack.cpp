// backends/cpu/emit/dot_pack.cpp — converts the operands of a dot to f32 in the order in which it reads them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <bit>

#include "backends/cpu/emit/dot_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

constexpr unsigned tf32_drops = 13;  // bits of an f32's mantissa

/// Elements from `at` on, as they are multiplied.
Node load(Elements& e, const Factor& v, Node at, unsigned lanes) {
  Node x = e.cast(e.load(at, v.elem, lanes), v.elem, Elem::f32);
  if (v.share == Factor::all) return x;
  Node near = e.shortened(x, tf32_drops);
  return v.share == Factor::tf32 ? near : e.shortened(e.b.CreateFSub(x, near), tf32_drops);
}

Node element(Elements& e, const View& v, Node row, Node column) {
  llvm::IRBuilder<>& b = e.b;
  const int64_t bytes = Elements::size(v.elem);
  Node offset =
      b.CreateAdd(b.CreateMul(row, e.i64(v.stride[0] * bytes)), b.CreateMul(column, e.i64(v.stride[1] * bytes)));
  return e.at(v.base, offset);
}

/// Calls fn(first, lanes) for pieces that make up `count` elements, the wide ones in a loop.
void pieces(Elements& e, int64_t count, unsigned lanes, const std::function<void(Node, unsigned)>& fn) {
  const int64_t whole = count / lanes * lanes;
  if (whole > 0) e.loop(whole, lanes, [&](Node i) { fn(i, lanes); });
  for (int64_t at = whole; at < count;) {
    const auto n = static_cast<unsigned>(std::bit_floor(static_cast<uint64_t>(count - at)));
    fn(e.i64(at), n);
    at += n;
  }
}

/// A panel's columns [c, c + lanes), of which `count` are there, rows [k, k + 4), from `b` stored [n, k]: blocks of 4 ×
/// 4 are transposed side by side, so that each shuffle stays in its 128 bits.
void transpose_block(Elements& e, const Factor& v, Node k, Node column, int64_t count, unsigned lanes, Node to,
                     int64_t line) {
  llvm::IRBuilder<>& b = e.b;
  std::array<Node, 4> in{}, mid{};
  for (unsigned r = 0; r < 4; ++r) {
    std::vector<Node> blocks;
    for (unsigned g = r; g < lanes; g += 4) {
      Node place = element(e, v, k, b.CreateAdd(column, e.i64(g)));
      blocks.push_back(g < count ? load(e, v, place, 4) : llvm::Constant::getNullValue(e.reg(Elem::f32, 4)));
    }
    for (unsigned width = 4; blocks.size() > 1; width *= 2) {
      std::vector<int> both(2 * width);
      for (unsigned i = 0; i < 2 * width; ++i) both[i] = static_cast<int>(i);
      for (size_t i = 0; 2 * i < blocks.size(); ++i)
        blocks[i] = b.CreateShuffleVector(blocks[2 * i], blocks[2 * i + 1], both);
      blocks.resize(blocks.size() / 2);
    }
    in[r] = blocks[0];
  }
  /// Per block, elements `i`, `j` of x and y: x[i] y[i] x[j] y[j], or both of x before those of y.
  const auto shuffle = [&](Node x, Node y, int i, int j, bool in_turn) {
    std::vector<int> mask;
    for (int g = 0; g < static_cast<int>(lanes); g += 4) {
      const int of_y = g + static_cast<int>(lanes);
      if (in_turn)
        mask.insert(mask.end(), {g + i, of_y + i, g + j, of_y + j});
      else
        mask.insert(mask.end(), {g + i, g + j, of_y + i, of_y + j});
    }
    return b.CreateShuffleVector(x, y, mask);
  };
  for (unsigned half = 0; half < 2; ++half) {
    mid[half] = shuffle(in[0], in[1], 2 * half, 2 * half + 1, true);
    mid[half + 2] = shuffle(in[2], in[3], 2 * half, 2 * half + 1, true);
  }
  for (unsigned i = 0; i < 4; ++i) {
    const int first = i % 2 == 0 ? 0 : 2;
    Node out = shuffle(mid[i / 2], mid[i / 2 + 2], first, first + 1, false);
    e.store(out, e.at(to, static_cast<int64_t>(i) * line * 4), Elem::f32);
  }
}

/// The panel that begins at `column` and has `count` columns.
void pack_panel(Elements& e, const DotShape& s, const Factor& v, Node column, int64_t count, Node to) {
  llvm::IRBuilder<>& b = e.b;
  const int64_t k = v.shape[0], line = s.padded(count);
  const auto place = [&](Node row, Node c) {
    return e.at(to, b.CreateMul(b.CreateAdd(b.CreateMul(row, e.i64(line)), c), e.i64(4)));
  };
  int64_t done = 0;  // rows
  if (v.stride[1] != 1 && v.stride[0] == 1) {
    done = k / 4 * 4;
    const auto blocks = [&](Node c, int64_t there) {
      e.loop(done, 4,
             [&](Node i) { transpose_block(e, v, i, b.CreateAdd(column, c), there, s.lanes, place(i, c), line); });
    };
    if (done > 0) {
      if (const int64_t whole = count / s.lanes * s.lanes; whole > 0)
        e.loop(whole, s.lanes, [&](Node c) { blocks(c, s.lanes); });
      if (count % s.lanes != 0) blocks(e.i64(count / s.lanes * s.lanes), count % s.lanes);
    }
  }
  if (done == k) return;
  const unsigned lanes = v.stride[1] == 1 ? s.lanes : 1;
  e.loop(k - done, 1, [&](Node i) {
    Node row = b.CreateAdd(i, e.i64(done));
    if (line > count)
      e.store(llvm::Constant::getNullValue(e.reg(Elem::f32, s.lanes)), place(row, e.i64(line - s.lanes)), Elem::f32);
    pieces(e, count, lanes, [&](Node c, unsigned n) {
      e.store(load(e, v, element(e, v, row, b.CreateAdd(column, c)), n), place(row, c), Elem::f32);
    });
  });
}

}  // namespace

void pack_rows(Elements& e, const Factor& a, Node to) {
  llvm::IRBuilder<>& b = e.b;
  const int64_t m = a.shape[0], k = a.shape[1];
  e.loop(m, 1, [&](Node i) {
    Node row = e.at(to, b.CreateMul(i, e.i64(k * 4)));
    pieces(e, k, a.stride[1] == 1 ? 16 : 1, [&](Node j, unsigned n) {
      e.store(load(e, a, element(e, a, i, j), n), e.at(row, b.CreateMul(j, e.i64(4))), Elem::f32);
    });
  });
}

void pack_panels(Elements& e, const DotShape& s, const Factor& v, Node to) {
  const int64_t k = v.shape[0], n = v.shape[1], whole = n / s.width * s.width;
  if (whole > 0)
    e.loop(whole, s.width, [&](Node j) { pack_panel(e, s, v, j, s.width, e.at(to, e.b.CreateMul(j, e.i64(k * 4)))); });
  if (n > whole) pack_panel(e, s, v, e.i64(whole), n - whole, e.at(to, whole * k * 4));
}

}  // namespace cpu
TLXJIT_NAMESPACE_END

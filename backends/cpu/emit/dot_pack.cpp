// backends/cpu/emit/dot_pack.cpp — converts the operands of a dot to f32 in the order in which it reads them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

Node element(Elements& e, const View& v, Node row, Node column) {
  llvm::IRBuilder<>& b = e.b;
  const int64_t bytes = Elements::size(v.elem);
  Node offset =
      b.CreateAdd(b.CreateMul(row, e.i64(v.stride[0] * bytes)), b.CreateMul(column, e.i64(v.stride[1] * bytes)));
  return e.at(v.base, offset);
}

unsigned widest(int64_t extent, unsigned lanes) {
  while (extent % lanes != 0) lanes /= 2;
  return lanes;
}

/// Transposes lanes × lanes values in registers: at each step, blocks off the diagonal change places.
void transpose(llvm::IRBuilder<>& b, std::vector<Node>& rows) {
  const size_t n = rows.size();
  for (size_t s = 1; s < n; s *= 2) {
    std::vector<int> low(n), high(n);
    for (size_t j = 0; j < n; ++j) {
      const bool upper = (j & s) != 0;
      low[j] = static_cast<int>(upper ? n + j - s : j);
      high[j] = static_cast<int>(upper ? n + j : j + s);
    }
    for (size_t i = 0; i < n; ++i) {
      if (i & s) continue;
      Node x = rows[i], y = rows[i + s];
      rows[i] = b.CreateShuffleVector(x, y, low);
      rows[i + s] = b.CreateShuffleVector(x, y, high);
    }
  }
}

}  // namespace

void pack_rows(Elements& e, const View& a, Node to) {
  llvm::IRBuilder<>& b = e.b;
  const int64_t m = a.shape[0], k = a.shape[1];
  const unsigned lanes = a.stride[1] == 1 ? widest(k, 16) : 1;
  e.loop(m, 1, [&](Node i) {
    Node row = e.at(to, b.CreateMul(i, e.i64(k * 4)));
    e.loop(k, lanes, [&](Node j) {
      e.store(e.load(element(e, a, i, j), a.elem, lanes), e.at(row, b.CreateMul(j, e.i64(4))), Elem::f32);
    });
  });
}

void pack_panels(Elements& e, const Unit& unit, const View& v, int64_t columns, Node to) {
  llvm::IRBuilder<>& b = e.b;
  const int64_t k = v.shape[0], n = v.shape[1];
  auto place = [&](Node panel, Node row, Node column) {  // the panel begins at column `panel` of the view
    Node line = b.CreateAdd(b.CreateMul(panel, e.i64(k)), b.CreateMul(row, e.i64(columns)));
    return e.at(to, b.CreateMul(b.CreateAdd(line, column), e.i64(4)));
  };
  if (v.stride[1] != 1 && v.stride[0] == 1) {  // stored [n, k]
    // 8 lanes at most: 16 are no faster, and the back end's search for shuffles takes twice as long.
    unsigned lanes = std::min(8u, static_cast<unsigned>(unit.vector_bits / 32));
    lanes = widest(columns, widest(k, lanes));
    e.loop(n, columns, [&](Node j) {
      e.loop(columns, lanes, [&](Node c) {
        e.loop(k, lanes, [&](Node i) {
          std::vector<Node> rows;
          for (unsigned r = 0; r < lanes; ++r)
            rows.push_back(e.load(element(e, v, i, b.CreateAdd(b.CreateAdd(j, c), e.i64(r))), v.elem, lanes));
          transpose(b, rows);
          for (unsigned r = 0; r < lanes; ++r) e.store(rows[r], place(j, b.CreateAdd(i, e.i64(r)), c), Elem::f32);
        });
      });
    });
    return;
  }
  const unsigned lanes = v.stride[1] == 1 ? widest(columns, 16) : 1;
  e.loop(n, columns, [&](Node j) {
    e.loop(k, 1, [&](Node i) {
      e.loop(columns, lanes, [&](Node c) {
        e.store(e.load(element(e, v, i, b.CreateAdd(j, c)), v.elem, lanes), place(j, i, c), Elem::f32);
      });
    });
  });
}

}  // namespace cpu
TLXJIT_NAMESPACE_END

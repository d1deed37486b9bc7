// tests/tiles/empty_axis_test.cpp — reductions of tensors with an axis of no elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <limits>

#include "tests/tiles/fixture.h"

namespace tiles_test {
namespace {

constexpr int box = 4;  // extent of a tile along each axis

struct Kind {
  Reduction reduction;
  float nothing;  ///< of no elements
};
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr Kind kinds[] = {{Reduction::sum, 0}, {Reduction::prod, 1}, {Reduction::max, -inf}, {Reduction::min, inf}};

Tile joined(Reduction kind, const Tile& a, const Tile& b) {
  switch (kind) {
    case Reduction::prod: return a * b;
    case Reduction::max: return max(a, b);
    case Reduction::min: return min(a, b);
    default: return a + b;
  }
}

/// For each kind: the reduction of x (of rank 2 or 3) along `axis`, by a walk along the axis in boxes, and the one of
/// the first box alone. A program has a box of the results.
Kernel along(int rank, int axis) {
  Kernel k{"along"};
  std::vector<Index> all, kept;
  for (int i = 0; i < rank; ++i) {
    all.push_back(k.dim("D" + std::to_string(i)));
    if (i != axis) kept.push_back(all.back());
  }
  const Tensor x = rank == 2 ? k.tensor<float>("x", {all[0], all[1]}) : k.tensor<float>("x", {all[0], all[1], all[2]});
  std::vector<Tensor> results;
  for (size_t i = 0; i < 2 * std::size(kinds); ++i) {
    const std::string name = "y" + std::to_string(i);
    results.push_back(rank == 2 ? k.tensor<float>(name, {kept[0]}) : k.tensor<float>(name, {kept[0], kept[1]}));
  }
  const Index rows = ceil_div(kept[0], box);
  k.grid(rank == 2 ? rows : rows * ceil_div(kept[1], box));
  k.task("main").body([&](Task& t) {
    const Index p = k.program_id(), i = p % rows * box, j = p / rows * box;
    const auto part = [&](const Kind& kind, const Operand& at) {
      const LoadOptions options{.other = kind.nothing};
      const Tile from =
          rank == 2 ? axis == 0 ? x.load_tile({at, i}, {box, box}, options) : x.load_tile({i, at}, {box, box}, options)
          : axis == 0 ? x.load_tile({at, i, j}, {box, box, box}, options)
          : axis == 1 ? x.load_tile({i, at, j}, {box, box, box}, options)
                      : x.load_tile({i, j, at}, {box, box, box}, options);
      return reduce(from, axis, kind.reduction);
    };
    const auto store = [&](const Tensor& y, const Tile& tile) {
      if (rank == 2)
        y.store({i}, tile);
      else
        y.store({i, j}, tile);
    };
    auto y = results.begin();
    for (const Kind& kind : kinds) {
      Tile walked = rank == 2 ? t.full<float>({box}, kind.nothing) : t.full<float>({box, box}, kind.nothing);
      k.range(ceil_div(all[static_cast<size_t>(axis)], box)).each([&](Index s) {
        walked = joined(kind.reduction, walked, part(kind, s * box));
      });
      store(*y++, walked);
      store(*y++, part(kind, 0));
    }
  });
  return k;
}

TEST(EmptyAxis, BL_012_OfNoElementsTheResultIsWhatChangesNone) {
  for (const Extents& extents : {Extents{5, 0}, {0, 5}, {5, 2, 0}, {0, 2, 5}})
    for (int axis = 0; axis < static_cast<int>(extents.size()); ++axis) {
      SCOPED_TRACE(to_string(Type::tile(shape_of(extents), Elem::f32)) + " along axis " + std::to_string(axis));
      Extents left = extents;
      left.erase(left.begin() + axis);
      const auto elements = static_cast<size_t>(reference::elements(left));
      const auto exe = engine().compile(along(static_cast<int>(extents.size()), axis), cpu());
      TLXJIT_MUST(exe);
      for (int call = 0; call < 2; ++call) {
        TensorArg x = Argument(Data<Elem::f32>(extents)).tensor, y = Argument(Data<Elem::f32>(left)).tensor;
        x.data = nullptr;
        constexpr size_t guard = 16;
        std::vector<std::vector<float>> rooms(2 * std::size(kinds), std::vector<float>(elements + 2 * guard, 77));
        std::vector<Argument> arguments = {x};
        for (auto& room : rooms) {
          y.data = room.data() + guard;
          arguments.push_back(y);
        }
        TLXJIT_MUST(exe->launch(Stream(), std::span<const Argument>(arguments)));
        for (size_t i = 0; i < rooms.size(); ++i) {
          std::vector<float> wanted(elements + 2 * guard, 77);
          std::fill_n(wanted.begin() + guard, elements, kinds[i / 2].nothing);
          ASSERT_EQ(rooms[i], wanted) << "result " << i << ", call " << call;
        }
      }
    }
}

}  // namespace
}  // namespace tiles_test

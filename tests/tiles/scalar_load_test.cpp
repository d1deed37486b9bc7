// tests/tiles/scalar_load_test.cpp — scalar loads outside a tensor or window end the launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/tiles/fixture.h"

namespace tiles_test {
namespace {

constexpr int32_t far = 500000000;

/// Loads x[i, j] of a matrix of 3 × 4 of which element (r, c) is 10 r + c, in one of several ways; the launch's
/// result is in out.
struct Loads {
  Data<Elem::i32> x{{3, 4}}, out{{1}};
  std::string as;
  int line = 0;

  template <class Load>
  Result<void> run(Load load, int32_t i, int32_t j) {
    for (int r = 0; r < 12; ++r) x[r] = 10 * (r / 4) + r % 4;
    Kernel k{"loads"};
    const Tensor tx = k.tensor<int32_t>("x", {k.dim("R"), k.dim("C")}), to = k.tensor<int32_t>("out", {1});
    const Index ti = k.scalar<int32_t>("i"), tj = k.scalar<int32_t>("j");
    in_task(k, [&](Task& t) { to.store({0}, t.full<int32_t>({1}, load(tx, ti, tj))); });
    CompileOptions o;
    o.as = as;
    auto exe = engine().compile(k, cpu(), o);
    if (!exe) return exe.error();
    out[0] = -1;
    return exe->launch({x, out, i, j});
  }
  template <class Load>
  void gives(int32_t expected, Load load, int32_t i, int32_t j) {
    TLXJIT_MUST(run(load, i, j));
    EXPECT_EQ(out[0], expected);
  }
  template <class Load>
  void refuses(int64_t index, int64_t extent, Load load, int32_t i, int32_t j) {
    SCOPED_TRACE(std::to_string(i) + ", " + std::to_string(j));
    const auto failed = run(load, i, j);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().kind, ErrorKind::user);
    EXPECT_EQ(failed.error().message, "CPU: `loads`: load: index " + std::to_string(index) + " is outside the " +
                                          std::to_string(extent) + " that there are");
    EXPECT_EQ(failed.error().location.line, static_cast<uint32_t>(line));
    EXPECT_EQ(out[0], -1);
  }
};

class ScalarLoad : public ::testing::TestWithParam<const char*> {
 protected:
  ScalarLoad() { loads.as = GetParam(); }
  Loads loads;
};

TEST_P(ScalarLoad, OutsideATensorEndsTheLaunch) {
  const auto load = [&](const Tensor& x, const Index& i, const Index& j) {
    loads.line = __LINE__ + 1;
    return x.load({i, j});
  };
  loads.gives(23, load, 2, 3);
  loads.refuses(3, 3, load, 3, 0);
  loads.refuses(-1, 3, load, -1, 0);
  loads.refuses(far, 3, load, far, 0);
  loads.refuses(4, 4, load, 0, 4);
  loads.refuses(-far, 4, load, 0, -far);
  loads.refuses(INT32_MIN, 3, load, INT32_MIN, INT32_MIN);
}

TEST_P(ScalarLoad, OfARowThatThereIsNot) {
  const auto load = [&](const Tensor& x, const Index& i, const Index& j) {
    loads.line = __LINE__ + 1;
    return x.at(0, i).load({j});
  };
  loads.gives(12, load, 1, 2);
  loads.refuses(-1, 3, load, -1, 0);
  loads.refuses(far, 3, load, far, 0);
  loads.refuses(4, 4, load, 2, 4);
}

TEST_P(ScalarLoad, OutsideAWindowEndsTheLaunch) {
  const auto of_rows = [&](const Tensor& x, const Index& i, const Index& j) {
    loads.line = __LINE__ + 1;
    return x.window(0, 1, 2).load({i, j});
  };
  loads.gives(13, of_rows, 0, 3);
  loads.refuses(2, 2, of_rows, 2, 0);
  loads.refuses(-1, 2, of_rows, -1, 0);
  loads.refuses(4, 4, of_rows, 1, 4);
  const auto of_columns = [&](const Tensor& x, const Index& i, const Index& j) {
    loads.line = __LINE__ + 1;
    return x.at(0, i).window(0, 1, 2).load({j});
  };
  loads.gives(12, of_columns, 1, 1);
  loads.refuses(2, 2, of_columns, 1, 2);
  loads.refuses(-1, 2, of_columns, 1, -1);
  loads.refuses(far, 2, of_columns, 1, far);
  loads.refuses(7, 3, of_columns, 7, 0);
  // A window that reaches past the tensor, which it ends with, and one of less than nothing.
  const auto long_window = [&](const Tensor& x, const Index& i, const Index& j) {
    loads.line = __LINE__ + 1;
    return x.at(0, i).window(0, 2, 100).load({j});
  };
  loads.gives(3, long_window, 0, 1);
  loads.refuses(4, 4, long_window, 0, 2);
  const auto empty = [&](const Tensor& x, const Index& i, const Index& j) {
    loads.line = __LINE__ + 1;
    return x.at(0, i).window(0, 0, j).load({j});
  };
  loads.refuses(-2, 0, empty, 0, -2);
  loads.refuses(0, 0, empty, 0, 0);
}

INSTANTIATE_TEST_SUITE_P(LoweredFor, ScalarLoad, ::testing::Values("", "sm_90a"));

}  // namespace
}  // namespace tiles_test

// tests/kernels/control_flow_test.cpp — rings, accumulators and variables in loops and branches, against plain C++.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/fixture.h"

namespace kernels_test {

using Matrix = std::vector<double>;  // 64 × 64; small integers, so that all sums are exact

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(4096, 0.0);
  for (size_t i = 0; i < 64; ++i)
    for (size_t k = 0; k < 64; ++k)
      for (size_t j = 0; j < 64; ++j) c[i * 64 + j] += a[i * 64 + k] * b[k * 64 + j];
  return c;
}
Matrix operator+(Matrix a, const Matrix& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}
Matrix operator*(double s, Matrix a) {
  for (double& x : a) x *= s;
  return a;
}
const Matrix zero(4096, 0.0);

/// A producer sends matrices a_0 … a_{n−1} through a ring; the consumer under test writes matrices of f32 to `y`
/// and of bf16 to `z`, one after the other.
class ControlFlow : public KernelTest {
 protected:
  struct Flow {
    Kernel k{"flow"};
    Index n = k.dim("N");
    Index rows = k.dim("rows"), y_rows = k.dim("y_rows"), z_rows = k.dim("z_rows");
    Tensor a = k.tensor<bf16>("a", {rows, 64});
    Tensor y = k.tensor<float>("y", {y_rows, 64});
    Tensor z = k.tensor<bf16>("z", {z_rows, 64});
    Tensor count = k.tensor<float>("count", {n});
    Ring ring;
  };

  void check(
      int stages, int64_t n, const std::function<void(Flow&, Task&)>& consumer,
      const std::function<void(const std::vector<Matrix>&, std::vector<Matrix>&, std::vector<Matrix>&)>& reference) {
    Flow f;
    f.ring = f.k.ring(stages).slot<bf16>("a", {64, 64});
    f.k.grid(1);
    f.k.task(Producer).warps(1).body(
        [&] { f.k.range(f.n).each([&](Index i) { f.ring.acquire().load("a", f.a, {i * 64, 0}); }); });
    f.k.task(Consumer).body([&](Task& t) { consumer(f, t); });
    auto exe = compile(f.k);
    TLXJIT_MUST(exe);

    Random random(seed_of_today());
    std::vector<Matrix> in(static_cast<size_t>(n), Matrix(4096)), y_out, z_out;
    TestTensor<bf16> a({n * 64, 64}, random);
    for (int64_t m = 0; m < n; ++m)
      for (int64_t i = 0; i < 4096; ++i) {
        in[static_cast<size_t>(m)][static_cast<size_t>(i)] = static_cast<double>(random.integer(-2, 2));
        a(m * 64 + i / 64, i % 64) = bf16(static_cast<float>(in[static_cast<size_t>(m)][static_cast<size_t>(i)]));
      }
    reference(in, y_out, z_out);
    TestTensor<float> y({static_cast<int64_t>(y_out.size()) * 64, 64}, random), count({n}, random);
    TestTensor<bf16> z({static_cast<int64_t>(z_out.size()) * 64, 64}, random);
    TLXJIT_MUST(exe->launch({a.on(device()), y.on(device()), z.on(device()), count.on(device())}));
    TLXJIT_MUST(device().synchronize());
    y.download();
    z.download();
    for (size_t m = 0; m < y_out.size(); ++m)
      for (int64_t i = 0; i < 4096; ++i)
        ASSERT_EQ(y.result(static_cast<int64_t>(m) * 64 + i / 64, i % 64), y_out[m][static_cast<size_t>(i)])
            << "y " << m << ", element " << i;
    for (size_t m = 0; m < z_out.size(); ++m)
      for (int64_t i = 0; i < 4096; ++i)
        ASSERT_EQ(z.result(static_cast<int64_t>(m) * 64 + i / 64, i % 64),
                  static_cast<double>(float(bf16(static_cast<float>(z_out[m][static_cast<size_t>(i)])))))
            << "z " << m << ", element " << i;
    EXPECT_EQ(y.strays() + z.strays(), 0u);
  }
};

TEST_P(ControlFlow, AValueKeptBeforeItsVariableChanges) {
  check(
      2, 3,
      [](Flow& f, Task& t) {
        Accumulator acc = t.accumulator<float>({64, 64});
        Tile q = t.full<float>({64, 64}, 1.f);
        Tile p = q.to<bf16>();
        f.k.range(f.n).each([&] {
          acc.dot(p, f.ring.wait()["a"]);
          Tile former = q;
          q = q + q;
          p = former.to<bf16>();
        });
        f.y.store({0, 0}, acc.read());
      },
      [](const std::vector<Matrix>& a, std::vector<Matrix>& y, std::vector<Matrix>&) {
        const Matrix ones(4096, 1.0);
        y = {product(ones, a[0]) + product(ones, a[1]) + 2 * product(ones, a[2])};
      });
}

TEST_P(ControlFlow, DotsAndClearsInBranches) {
  check(
      3, 7,
      [](Flow& f, Task& t) {
        Accumulator acc = t.accumulator<float>({64, 64});
        f.k.range(f.n).each([&](Index i) {
          const Slot slot = f.ring.wait();
          f.k.when(i % 3 == 0, [&] { acc.dot(slot["a"], slot["a"]); });
          f.k.when(i == 4, [&] { acc.clear(); });
          f.y.store({i * 64, 0}, acc.read());
        });
      },
      [](const std::vector<Matrix>& a, std::vector<Matrix>& y, std::vector<Matrix>&) {
        Matrix sum = zero;
        for (size_t i = 0; i < a.size(); ++i) {
          if (i % 3 == 0) sum = sum + product(a[i], a[i]);
          if (i == 4) sum = zero;
          y.push_back(sum);
        }
      });
}

TEST_P(ControlFlow, SumsThatNothingWasAddedTo) {
  check(
      2, 2,
      [](Flow& f, Task& t) {
        Accumulator acc = t.accumulator<float>({64, 64});
        Accumulator other = t.accumulator<float>({64, 64});
        f.k.range(f.n).each([&](Index i) {
          const Slot slot = f.ring.wait();
          f.k.range(i).each([&] { acc.dot(slot["a"], slot["a"]); });  // zero trips first
          f.y.store({i * 64, 0}, acc.read() + other.read());
          acc.clear();
        });
      },
      [](const std::vector<Matrix>& a, std::vector<Matrix>& y, std::vector<Matrix>&) {
        y = {zero, product(a[1], a[1])};
      });
}

TEST_P(ControlFlow, AReleaseThatTheNextWaitNeeds) {
  check(
      1, 4,
      [](Flow& f, Task& t) {
        Accumulator acc = t.accumulator<float>({64, 64});
        f.k.range(f.n / 2).each([&] {
          const Slot first = f.ring.wait();
          acc.dot(first["a"], first["a"]);
          first.release();
          const Slot second = f.ring.wait();
          acc.dot(second["a"], second["a"]);
        });
        f.y.store({0, 0}, acc.read());
      },
      [](const std::vector<Matrix>& a, std::vector<Matrix>& y, std::vector<Matrix>&) {
        y = {product(a[0], a[0]) + product(a[1], a[1]) + product(a[2], a[2]) + product(a[3], a[3])};
      });
}

TEST_P(ControlFlow, TwoSlotsHeldAtOnce) {
  check(
      3, 6,
      [](Flow& f, Task& t) {
        Accumulator acc = t.accumulator<float>({64, 64});
        f.k.range(f.n / 2).each([&] {
          const Slot left = f.ring.wait(), right = f.ring.wait();
          acc.dot(left["a"], right["a"]);
        });
        f.y.store({0, 0}, acc.read());
      },
      [](const std::vector<Matrix>& a, std::vector<Matrix>& y, std::vector<Matrix>&) {
        y = {product(a[0], a[1]) + product(a[2], a[3]) + product(a[4], a[5])};
      });
}

TEST_P(ControlFlow, StagedStoresInALoopAndAfterIt) {
  check(
      2, 9,
      [](Flow& f, Task& t) {
        Accumulator acc = t.accumulator<float>({64, 64});
        f.k.range(f.n).each([&](Index i) {
          const Slot slot = f.ring.wait();
          acc.clear();
          acc.dot(slot["a"], slot["a"]);
          f.z.store({i * 64, 0}, acc.read().to<bf16>());
        });
        f.z.store({f.n * 64, 0}, acc.read().to<bf16>());
      },
      [](const std::vector<Matrix>& a, std::vector<Matrix>&, std::vector<Matrix>& z) {
        for (const Matrix& m : a) z.push_back(product(m, m));
        z.push_back(z.back());
      });
}

TEST_P(ControlFlow, StagedStoresInBranches) {
  check(
      2, 9,
      [](Flow& f, Task& t) {
        Accumulator acc = t.accumulator<float>({64, 64});
        f.k.range(f.n).each([&](Index i) {
          const Slot slot = f.ring.wait();
          acc.dot(slot["a"], slot["a"]);
          f.k.when(
              i % 2 == 0, [&] { f.z.store({i * 64, 0}, acc.read().to<bf16>()); },
              [&] { f.z.store({i * 64, 0}, (acc.read() * 2).to<bf16>()); });
        });
      },
      [](const std::vector<Matrix>& a, std::vector<Matrix>&, std::vector<Matrix>& z) {
        Matrix sum = zero;
        for (size_t i = 0; i < a.size(); ++i) {
          sum = sum + product(a[i], a[i]);
          z.push_back(i % 2 == 0 ? sum : 2 * sum);
        }
      });
}

TEST_P(ControlFlow, VariablesThroughNestedLoopsAndWhile) {
  check(
      2, 5,
      [](Flow& f, Task& t) {
        Accumulator acc = t.accumulator<float>({64, 64});
        Tile weight = t.full<float>({64, 64}, 0.f);
        Index step = f.n * 0 + 1;
        f.k.range(f.n).each([&](Index i) {
          const Slot slot = f.ring.wait();
          acc.clear();
          acc.dot(slot["a"], slot["a"]);
          Index left = i + 0;
          f.k.loop([&] { return left > 0; },
                   [&] {
                     weight = weight + acc.read() * step.to<float>();
                     left = left - step;
                   });
          step = select(i == 2, 2, step);
        });
        f.y.store({0, 0}, weight);
      },
      [](const std::vector<Matrix>& a, std::vector<Matrix>& y, std::vector<Matrix>&) {
        Matrix weight = zero;
        int step = 1;
        for (int i = 0; i < static_cast<int>(a.size()); ++i) {
          const Matrix p = product(a[static_cast<size_t>(i)], a[static_cast<size_t>(i)]);
          for (int left = i; left > 0; left -= step) weight = weight + double(step) * p;
          if (i == 2) step = 2;
        }
        y = {weight};
      });
}

INSTANTIATE_TEST_SUITE_P(On, ControlFlow, places, place_name);

}  // namespace kernels_test

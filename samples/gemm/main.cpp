// samples/gemm/main.cpp — D = A · Bᵀ with a kernel written here: ring, producer, consumers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tlxjit/tlxjit.h"

using namespace tlxjit;

namespace {

/// Tile sizes; those of a GPU and of a CPU differ, the kernel does not.
struct Config {
  int bm, bn, bk, stages, replicas, slab;
};

Kernel make_gemm(const Config& c) {
  Kernel k{"gemm"};
  auto [m, n, kk] = k.dims("M", "N", "K");
  auto a = k.tensor<bf16>("a", {m, kk});
  auto b = k.tensor<bf16>("b", {n, kk});
  auto d = k.tensor<bf16>("d", {m, n});

  auto ring = k.ring(c.stages).slot<bf16>("a", {c.bm, c.bk}).slot<bf16>("b", {c.bn, c.bk});
  auto tiles = k.persistent(ceil_div(m, c.bm), ceil_div(n, c.bn), {.group = 8});
  auto steps = ceil_div(kk, c.bk);

  // One task fetches slices of A and B …
  k.task(Producer).warps(1).registers(40).body([&] {
    tiles.each([&](Index i, Index j) {
      k.range(steps).each([&](Index s) {
        auto slot = ring.acquire();  // waits until it is free
        slot.load("a", a, {i * c.bm, s * c.bk});
        slot.load("b", b, {j * c.bn, s * c.bk});
      });
    });
  });
  // … and another multiplies them, each replica its share of the rows.
  k.task(Consumer).warps(4).replicas(c.replicas).registers(232).body([&](Task& t) {
    auto acc = t.accumulator<float>({c.bm / c.replicas, c.bn});
    tiles.each([&](Index i, Index j) {
      acc.clear();
      k.range(steps).each([&](Index) {
        auto slot = ring.wait();
        acc.dot(slot["a"].part(t), slot["b"].t());  // the slot is free again once this is done
      });
      acc.slabs(c.slab, [&](Index col, Tile x) { d.store({i * c.bm + t.offset(c.bm), j * c.bn + col}, x.to<bf16>()); });
    });
  });
  return k;
}

[[noreturn]] void fail(const Error& error) {
  std::fprintf(stderr, "%s\n", to_string(error).c_str());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result) fail(result.error());
  return std::move(*result);
}

void must(const Result<void>& result) {
  if (!result) fail(result.error());
}

std::vector<bf16> random_matrix(int64_t rows, int64_t columns, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<bf16> x(static_cast<size_t>(rows * columns));
  for (bf16& e : x) e = uniform(random);
  return x;
}

constexpr const char* usage =
    "usage: gemm [--device NAME] [M N K]\n"
    "Builds D[M,N] = A[M,K] * B[N,K]^T in bf16, runs it and checks some of the results.\n"
    "K and N are multiples of 8 on a GPU. NAME: cpu, cuda:0, ...; left out, the best device there is.\n";

}  // namespace

int main(int argc, char** argv) {
  std::string name;
  std::vector<int64_t> size;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    char* end = nullptr;
    if (word == "--help") return std::printf("%s", usage), 0;
    if (word == "--device" && i + 1 < argc)
      name = argv[++i];
    else if (const long long n = std::strtoll(argv[i], &end, 10); *end == 0 && n >= 0)
      size.push_back(n);
    else
      return std::fprintf(stderr, "gemm: what is %s?\n%s", argv[i], usage), 2;
  }
  if (size.empty()) size = {500, 384, 320};
  if (size.size() != 3) return std::fprintf(stderr, "%s", usage), 2;
  const int64_t m = size[0], n = size[1], k = size[2];

  Engine engine;
  const Device device = must(name.empty() ? engine.best_device() : engine.device(name));
  std::printf("device    %s: %s\n", device.name().c_str(), device.description().c_str());
  const bool cpu = device.target() == "cpu";
  const Kernel kernel = make_gemm(cpu ? Config{64, 128, 128, 2, 1, 128} : Config{128, 256, 64, 4, 2, 64});
  const Executable exe = must(engine.compile(kernel, device));
  std::printf("compiled  %s: %d ops, %.1f ms of ours, %.0f ms of the compiler, %d registers\n", exe.signature().c_str(),
              exe.resources().ops, exe.times().ours(), exe.times().compile, exe.report().registers);

  std::mt19937 random(1);
  const auto a = random_matrix(m, k, random), b = random_matrix(n, k, random);
  std::vector<bf16> d(static_cast<size_t>(m * n));
  const Buffer da = must(device.upload(a)), db = must(device.upload(b)), dd = must(device.upload(d));
  must(exe.launch({da.tensor<bf16>({m, k}), db.tensor<bf16>({n, k}), dd.tensor<bf16>({m, n})}));
  must(device.synchronize());
  must(dd.download(d));

  double worst = 0;
  const int64_t samples = m * n == 0 ? 0 : std::min<int64_t>(m * n, 2000);
  for (int64_t s = 0; s < samples; ++s) {
    const int64_t at = samples == m * n ? s : static_cast<int64_t>(random() % static_cast<uint64_t>(m * n));
    const int64_t i = at / n, j = at % n;
    double sum = 0, magnitude = 0;
    for (int64_t x = 0; x < k; ++x) {
      const double p = double(float(a[size_t(i * k + x)])) * double(float(b[size_t(j * k + x)]));
      sum += p, magnitude += std::abs(p);
    }
    const double error = std::abs(double(float(d[size_t(at)])) - sum);
    // One rounding to bf16, and the sum's own in f32.
    const double allowed = std::abs(sum) * 0x1p-8 + magnitude * double(k) * 0x1p-24 + 1e-30;
    worst = std::max(worst, std::isnan(error) ? INFINITY : error / allowed);
  }
  std::printf("checked   %lld elements, error at most %.2f of what rounding allows\n", static_cast<long long>(samples),
              worst);
  if (worst > 1) return std::fprintf(stderr, "gemm: the results are wrong\n"), 1;
  return 0;
}

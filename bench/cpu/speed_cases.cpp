// bench/cpu/speed_cases.cpp — f32 products and jagged attention against OpenBLAS.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>

#include "bench/cpu/cpu_cases.h"
#include "bench/cpu/openblas.h"

namespace tlxjit::bench {
namespace {

constexpr int64_t size = 1024;  // of the square product
constexpr int64_t heads = 2;

std::vector<float> random_floats(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(static_cast<size_t>(count));
  for (float& x : out) x = normal(random);
  return out;
}

/// d = a · bᵀ, the layout of kernels/gemm.h.
struct Product {
  std::vector<float> a = random_floats(size * size, 1), b = random_floats(size * size, 2);
  std::vector<float> ours = std::vector<float>(a.size()), peer = std::vector<float>(a.size());

  bool run_peer(const OpenBlas& blas, int threads) {
    blas.product(threads, static_cast<int>(size), a.data(), b.data(), peer.data());
    return true;
  }
  TensorArg arg(std::vector<float>& x) const { return tensor<float>(x.data(), {size, size}); }
  bool run_ours(const Executable& exe) {
    const auto done = exe.launch({arg(a), arg(b), arg(ours)});
    if (!done) fmt::print(stderr, "{}\n", to_string(done.error()));
    return done.ok();
  }
  /// Both sums err by √size roundings or so; a wrong element is off by more than one.
  bool agree() const {
    for (size_t i = 0; i < ours.size(); ++i)
      if (!(std::abs(ours[i] - peer[i]) < 1e-2f)) return false;
    return true;
  }
};

struct Jagged {
  int64_t rows = 0, head = 0;
  double pairs_of_rows = 0;  // Σ length²
  std::vector<int32_t> offsets = {0};
  std::vector<float> q, k, v, out, lse;

  Jagged(const std::vector<int64_t>& lengths, int64_t d) : head(d) {
    for (int64_t n : lengths) {
      rows += n;
      pairs_of_rows += static_cast<double>(n) * static_cast<double>(n);
      offsets.push_back(static_cast<int32_t>(rows));
    }
    const int64_t count = rows * heads * head;
    q = random_floats(count, 3), k = random_floats(count, 4), v = random_floats(count, 5);
    out.resize(static_cast<size_t>(count)), lse.resize(static_cast<size_t>(rows * heads));
  }
  double flops() const { return 4 * pairs_of_rows * static_cast<double>(heads * head); }
  TensorArg arg(std::vector<float>& x) const { return tensor<float>(x.data(), {rows, heads, head}); }
  bool run(const Executable& exe) {
    const auto bounds = tensor<int32_t>(offsets.data(), {static_cast<int64_t>(offsets.size())});
    const auto done = exe.launch({arg(q), arg(k), arg(v), arg(out), tensor<float>(lse.data(), {heads, rows}), bounds,
                                  1.f / std::sqrt(static_cast<float>(head))});
    if (!done) fmt::print(stderr, "{}\n", to_string(done.error()));
    return done.ok();
  }
  /// The last row of each sequence, head 0, in float64.
  bool right() const {
    for (size_t s = 0; s + 1 < offsets.size(); ++s) {
      const int64_t first = offsets[s], end = offsets[s + 1];
      if (first == end) continue;
      const auto at = [&](const std::vector<float>& x, int64_t row, int64_t d) {
        return static_cast<double>(x[static_cast<size_t>(row * heads * head + d)]);
      };
      std::vector<double> sum(static_cast<size_t>(head));
      double total = 0;
      for (int64_t j = first; j < end; ++j) {
        double score = 0;
        for (int64_t d = 0; d < head; ++d) score += at(q, end - 1, d) * at(k, j, d);
        const double weight = std::exp(score / std::sqrt(static_cast<double>(head)));
        total += weight;
        for (int64_t d = 0; d < head; ++d) sum[static_cast<size_t>(d)] += weight * at(v, j, d);
      }
      for (int64_t d = 0; d < head; ++d)
        if (!(std::abs(at(out, end - 1, d) - sum[static_cast<size_t>(d)] / total) < 1e-3)) return false;
    }
    return true;
  }
};

bool fault(const std::string& name, const char* what) {
  fmt::print(stderr, "ERROR {}: {}\n", name, what);
  return false;
}

}  // namespace

bool add_speed(std::vector<Pair>& pairs, const CpuOptions& options, const Options& common) {
  const auto peers = std::make_shared<std::vector<OpenBlas>>(OpenBlas::open());
  if (peers->empty()) return false;
  const auto product = std::make_shared<Product>();
  const double product_flops = 2.0 * size * size * size;
  for (int threads : {1, 2}) {
    const auto engine = std::make_shared<Engine>(cpu_engine(options, threads));
    const auto device = engine->device("cpu");
    if (!device) return fault("cpu", to_string(device.error()).c_str());
    const std::string suffix = fmt::format(", {} thread{}", threads, threads == 1 ? "" : "s");
    /// A row against each peer; rates are compared, each of its own work.
    const auto add = [&](const std::string& name, const Executable& exe, double bar, double flops,
                         const std::function<bool()>& run) {
      for (const OpenBlas& blas : *peers) {
        Pair& pair = pairs.emplace_back();
        pair.row.name = name, pair.row.unit = "GFLOPS";
        pair.row.peer_name = fmt::format("{}, sgemm {}^3", blas.name(), size);
        pair.row.code = code_hash(exe.lowered_text(), exe.resources());
        pair.bar = bar, pair.work = flops, pair.scale = 1e9, pair.peer_work = product_flops;
        pair.ours.run = run;
        pair.peer.run = [product, peers, &blas, threads] { return product->run_peer(blas, threads); };
      }
    };

    if (const std::string name = fmt::format("f32 TN {0}x{0}x{0}{1}", size, suffix); common.wants(name)) {
      const auto exe = engine->compile(gemm(gemm_config("cpu", Elem::f32)), *device);
      if (!exe) return fault(name, to_string(exe.error()).c_str());
      for (const OpenBlas& blas : *peers)
        if (!product->run_ours(*exe) || !product->run_peer(blas, threads) || !product->agree())
          return fault(name, "a wrong result");
      add(name, *exe, 0.6, product_flops, [product, exe = *exe, engine] { return product->run_ours(exe); });
    }
    for (int head : {64, 128})
      for (bool causal : {false, true}) {
        const std::string name = fmt::format("jagged fwd f32 D{} {}{}", head, causal ? "causal" : "full", suffix);
        if (!common.wants(name)) continue;
        const auto exe = engine->compile(
            attention(attention_config("cpu", {.elem = Elem::f32, .head = head, .causal = causal, .jagged = true})),
            *device);
        if (!exe) return fault(name, to_string(exe.error()).c_str());
        const auto batch = std::make_shared<Jagged>(options.lengths, head);
        // The last row sees all keys, causal or not.
        if (!batch->run(*exe) || !batch->right()) return fault(name, "a wrong result");
        add(name, *exe, 0.5, causal ? batch->flops() / 2 : batch->flops(),
            [batch, exe = *exe, engine] { return batch->run(exe); });
      }
  }
  return true;
}

}  // namespace tlxjit::bench

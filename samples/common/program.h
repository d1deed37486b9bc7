// samples/common/program.h — what the samples' main functions share: the device, errors, data, the comparison.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tlxjit/tlxjit.h"

namespace samples {

using namespace tlxjit;

inline void must(const Result<void>& result) {
  if (result) return;
  std::fprintf(stderr, "%s\n", to_string(result.error()).c_str());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result) must(Result<void>(result.error()));
  return std::move(*result);
}

/// The options of every sample: `--device NAME` and numbers in place of `sizes`; --help prints and ends.
class Program {
 public:
  /// `cpu_only`: no GPU back end takes the kernel so far, so that the CPU is what runs it unless another is named.
  Program(int argc, char** argv, const char* about, std::vector<int64_t> sizes, bool cpu_only = false) {
    std::string device = cpu_only ? "cpu" : "";
    size_t given = 0;
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      char* end = nullptr;
      const long long n = std::strtoll(argv[i], &end, 10);
      if (word == "--help") {
        std::printf("usage: [--device NAME]%s\n%s\nNAME: cpu, cuda:0, ...; left out, %s.\n",
                    sizes.empty() ? "" : " [SIZE ...]", about, cpu_only ? "cpu" : "the best device there is");
        std::exit(0);
      }
      if (word == "--device" && i + 1 < argc)
        device = argv[++i];
      else if (end != argv[i] && *end == 0 && n >= 0 && n < 1 << 20 && given < sizes.size())
        sizes[given++] = n;
      else
        std::fprintf(stderr, "what is %s? --help says what there is\n", argv[i]), std::exit(2);
    }
    sizes_ = std::move(sizes);
    device_.emplace(must(device.empty() ? engine_.best_device() : engine_.device(device)));
    std::printf("device    %s: %s\n", device_->name().c_str(), device_->description().c_str());
  }

  int64_t size(size_t i) const { return sizes_[i]; }
  const Device& device() const { return *device_; }

  Executable compile(const Kernel& kernel) {
    Executable exe = must(engine_.compile(kernel, *device_));
    std::printf("compiled  %s\n", exe.signature().c_str());
    return exe;
  }

 private:
  std::vector<int64_t> sizes_;
  Engine engine_;
  std::optional<Device> device_;
};

template <class T>
std::vector<T> random_numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<T> x(static_cast<size_t>(count));
  for (T& e : x) e = T(uniform(random));
  return x;
}

/// Not a number, as nothing a kernel leaves unwritten can be right.
template <class T>
std::vector<T> poisoned(int64_t count) {
  std::vector<T> x(static_cast<size_t>(count));
  if (count > 0) std::memset(static_cast<void*>(x.data()), 0xff, x.size() * sizeof(T));
  return x;
}

/// Collects how far results are from what they should be, as a share of what rounding allows.
class Check {
 public:
  void element(double is, double should_be, double allowed) {
    const double error = std::abs(is - should_be);
    worst_ = std::max(worst_, std::isnan(error) ? INFINITY : error / allowed);
    ++count_;
  }
  /// The exit status.
  int report() const {
    std::printf("checked   %lld elements, error at most %.2f of what rounding allows: %s\n",
                static_cast<long long>(count_), worst_, worst_ <= 1 ? "right" : "wrong");
    return worst_ <= 1 ? 0 : 1;
  }

 private:
  double worst_ = 0;
  long long count_ = 0;
};

/// Half a unit in the last place of bf16 and f32, relative to the number.
inline constexpr double half_ulp_bf16 = 0x1p-8, half_ulp_f32 = 0x1p-24;

/// Runs D[M,N] = f(A[M,K] · B[N,K]ᵀ) and compares; `slope` is the most by which f enlarges an error.
template <class F>
int run_matmul(Program& program, const Kernel& kernel, F&& f, double slope) {
  const int64_t m = program.size(0), n = program.size(1), k = program.size(2);
  const Executable exe = program.compile(kernel);
  const auto a = random_numbers<bf16>(m * k, 1), b = random_numbers<bf16>(n * k, 2);
  auto d = poisoned<bf16>(m * n);
  const Device& device = program.device();
  const Buffer da = must(device.upload(a)), db = must(device.upload(b)), dd = must(device.upload(d));
  must(exe.launch({da.tensor<bf16>({m, k}), db.tensor<bf16>({n, k}), dd.tensor<bf16>({m, n})}));
  must(device.synchronize());
  must(dd.download(d));
  Check check;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t x = 0; x < k; ++x) {
        const double p = double(float(a[size_t(i * k + x)])) * double(float(b[size_t(j * k + x)]));
        sum += p, magnitude += std::abs(p);
      }
      // One rounding to bf16, and the sum's own in f32.
      const double allowed =
          std::abs(f(sum)) * half_ulp_bf16 + slope * magnitude * double(4 * k + 8) * half_ulp_f32 + 1e-30;
      check.element(float(d[size_t(i * n + j)]), f(sum), allowed);
    }
  return check.report();
}

}  // namespace samples

// bench/gpu/gemm_bench.cpp — bf16 GEMM: ours, the hand-written prototype and cuBLAS in one run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <optional>

#include "bench/common/code.h"
#include "bench/gpu/cublas.h"
#include "bench/gpu/data.h"
#include "bench/gpu/harness.h"
#include "bench/gpu/prototype.h"
#include "tlxjit/kernels/gemm.h"

namespace tlxjit::bench {
namespace {

struct Shape {
  int m, n, k;
  std::string name() const { return fmt::format("bf16 TN {}x{}x{}", m, n, k); }
  size_t a() const { return size_t(m) * size_t(k); }
  size_t b() const { return size_t(n) * size_t(k); }
  size_t d() const { return size_t(m) * size_t(n); }
  double tflops(double ms) const { return 2.0 * m * n * k / ms * 1e-9; }
};

constexpr Shape shapes[] = {
    {8192, 8192, 8192}, {4096, 4096, 4096}, {2048, 2048, 2048}, {16384, 4096, 4096}, {4096, 14336, 4096}};
constexpr size_t pool_elements = size_t{1} << 27;  // of a, of b and of d: two sets of the largest shape
constexpr uint64_t seed_a = 1, seed_b = 2;

struct Addresses {
  void *a, *b, *d;
};

Result<void> launch(const Executable& ours, const Stream& stream, const Shape& s, const Addresses& at) {
  return ours.launch(stream,
                     {tensor<bf16>(at.a, {s.m, s.k}), tensor<bf16>(at.b, {s.n, s.k}), tensor<bf16>(at.d, {s.m, s.n})});
}

/// Differences of two results of one product.
struct Difference {
  size_t differing = 0;  ///< not bitwise equal
  size_t wrong = 0;      ///< NaN, or apart by more than a rounding to bf16
  int ulps = 0;          ///< largest, among the values that are not tiny
  double largest = 0;
  std::string text(const std::string& of) const {
    return fmt::format("vs {}: {} differ, {} wrong, <= {} ulp, <= {:.3g}", of, differing, wrong, ulps, largest);
  }
};

Difference compare(std::span<const bf16> got, std::span<const bf16> wanted, int k) {
  // Sums near 0 differ by the rounding of f32 terms, which is many of their own units.
  const double slack = 1e-4 * std::sqrt(double(k));
  Difference d;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].bits == wanted[i].bits && !is_nan(got[i])) continue;
    ++d.differing;
    const double apart = std::abs(double(float(got[i])) - double(float(wanted[i])));
    const int ulps = std::abs(ordered(got[i]) - ordered(wanted[i]));
    if (std::isnan(apart) || (ulps > 1 && apart > slack)) ++d.wrong;
    if (apart > slack) d.ulps = std::max(d.ulps, ulps);
    d.largest = std::max(d.largest, apart);
  }
  return d;
}

/// Largest error of sampled elements against float64, in units of the rounding that bf16 allows.
double sampled_error(const NormalData& data, const Shape& s, std::span<const bf16> got) {
  std::mt19937 random(7);
  std::vector<bf16> a(static_cast<size_t>(s.k)), b(a.size());
  double worst = 0;
  for (int sample = 0; sample < 200; ++sample) {
    const size_t i = sample == 0 ? 0 : sample == 1 ? size_t(s.m) - 1 : random() % size_t(s.m);
    const size_t j = sample == 0 ? 0 : sample == 1 ? size_t(s.n) - 1 : random() % size_t(s.n);
    data.fill(a, seed_a, i * size_t(s.k));
    data.fill(b, seed_b, j * size_t(s.k));
    double sum = 0;
    for (size_t x = 0; x < a.size(); ++x) sum += double(float(a[x])) * double(float(b[x]));
    const double error = std::abs(double(float(got[i * size_t(s.n) + j])) - sum);
    const double allowed = std::abs(sum) / 256 + 1e-4 * std::sqrt(double(s.k));
    worst = std::isnan(error) ? INFINITY : std::max(worst, error / allowed);
  }
  return worst;
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) { report_.bench = "gemm"; }
  int run();

 private:
  Result<void> make();
  Result<void> dry_run() const;
  Result<void> open();
  Result<bool> run_case(const Shape& shape);
  Result<std::vector<bf16>> result_of(const Variant& variant, const Shape& shape);

  Options options_;
  Report report_;
  NormalData data_;
  Engine engine_{without_disk_cache()};
  std::optional<Executable> ours_;
  std::optional<PrototypeSource> source_;
  Code peer_code_;
  std::unique_ptr<Harness> harness_;
  std::optional<Prototype> prototype_;
  std::optional<Cublas> cublas_;
  Buffer a_, b_, d_;
};

/// Both kernels, side by side.
Result<void> Bench::make() {
  const auto nvrtc = open_nvrtc();
  if (!nvrtc) return nvrtc.error();
  report_.compiler = (*nvrtc)->identity();
  const auto device = open_device(engine_, options_);
  if (!device) return device.error();
  std::future<Result<Code>> peer;
  if (!options_.prototypes.empty()) {
    auto source = prototype_source(options_.prototypes, "gemm", gemm_macros());
    if (!source) return source.error();
    source_ = std::move(*source);
    peer = std::async(std::launch::async, [&] { return compile_source(**nvrtc, source_->source, source_->entry); });
  }
  auto ours = engine_.compile(gemm(gemm_config(device->target())), *device);
  if (!ours) return ours.error();
  ours_ = std::move(*ours);
  const auto code = code_of(*ours_);
  if (!code) return code.error();
  dump(options_.dump, "gemm", *code);
  std::vector<CodeColumn> columns = {{"ours", &*code}};
  if (peer.valid()) {
    auto made = peer.get();
    if (!made) return made.error();
    peer_code_ = std::move(*made);
    dump(options_.dump, "gemm-prototype", peer_code_);
    columns.push_back({"prototype", &peer_code_});
  }
  print_code(columns);
  return {};
}

/// Has the runtime check every case's arguments.
Result<void> Bench::dry_run() const {
  for (const Shape& s : shapes) {
    if (!options_.wants(s.name())) continue;
    const Addresses at = {fake_address(1), fake_address(2), fake_address(3)};
    TLXJIT_TRY(dry_launch(launch(*ours_, Stream(), s, at)));
    fmt::print("dry run: {}: the arguments fit\n", s.name());
  }
  return {};
}

Result<void> Bench::open() {
  const Device& device = ours_->device();
  auto harness = Harness::open(options_, device);
  if (!harness) return harness.error();
  harness_ = std::move(*harness);
  harness_->describe(report_);
  if (source_) {
    auto prototype = Prototype::load(harness_->context(), *source_, peer_code_.cubin);
    if (!prototype) return prototype.error();
    prototype_.emplace(std::move(*prototype));
  } else {
    fmt::print("no prototype (--prototypes FOLDER)\n");
  }
  if (auto cublas = Cublas::open(options_.cublas, harness_->stream())) {
    cublas_ = std::move(*cublas);
    fmt::print("{}\n", cublas_->name());
  } else {
    fmt::print("no cuBLAS: {}\n", to_string(cublas.error()));
  }
  for (Buffer* buffer : {&a_, &b_, &d_}) {
    auto made = device.allocate(pool_elements * sizeof(bf16));
    if (!made) return made.error();
    *buffer = std::move(*made);
  }
  TLXJIT_TRY(data_.upload(a_, seed_a));
  return data_.upload(b_, seed_b);
}

/// The product that a variant computes into a buffer full of NaN.
Result<std::vector<bf16>> Bench::result_of(const Variant& variant, const Shape& shape) {
  TLXJIT_TRY(d_.fill(0xff));
  TLXJIT_TRY(harness_->once(variant));
  std::vector<bf16> host(shape.d());
  TLXJIT_TRY(d_.download(host));
  return host;
}

/// False: a result is wrong.
Result<bool> Bench::run_case(const Shape& s) {
  const size_t largest = std::max({s.a(), s.b(), s.d()});
  const int sets =
      std::min(harness_->sets_for((s.a() + s.b() + s.d()) * 2, 16), static_cast<int>(pool_elements / largest));
  std::vector<Addresses> at;
  std::vector<nvidia::ParamBuffer> theirs;
  for (size_t i = 0; i < static_cast<size_t>(sets); ++i) {
    at.push_back({address_in(a_, i * s.a() * 2), address_in(b_, i * s.b() * 2), address_in(d_, i * s.d() * 2)});
    if (!prototype_) continue;
    auto params = prototype_->bind_gemm(at[i].a, at[i].b, at[i].d, s.m, s.n, s.k);
    if (!params) return params.error();
    theirs.push_back(*params);
  }
  std::vector<Variant> variants = {
      {"ours", [&](int i) { return launch(*ours_, harness_->stream(), s, at[static_cast<size_t>(i)]); }}};
  if (prototype_)
    variants.push_back({prototype_->name(), [&](int i) {
                          return prototype_->launch(theirs[static_cast<size_t>(i)], harness_->native_stream());
                        }});
  if (cublas_)
    variants.push_back({cublas_->name(), [&](int i) {
                          const Addresses& x = at[static_cast<size_t>(i)];
                          return cublas_->gemm(x.a, x.b, x.d, s.m, s.n, s.k);
                        }});

  std::vector<std::vector<bf16>> results;
  for (const Variant& v : variants) {
    auto result = result_of(v, s);
    if (!result) return result.error();
    results.push_back(std::move(*result));
  }
  const double error = sampled_error(data_, s, results[0]);
  bool good = error <= 1;
  std::string check = fmt::format("vs float64: {:.2f} of a rounding", error);
  for (size_t i = 1; i < results.size(); ++i) {
    const Difference d = compare(results[0], results[i], s.k);
    good = good && d.wrong == 0;
    check += "; " + d.text(i == 1 && prototype_ ? "prototype" : variants[i].name);
  }
  results.clear();

  auto times = harness_->measure(variants, sets);
  if (!times) return times.error();
  const double tflops = s.tflops((*times)[0].ms);
  const std::string hash = code_hash(ours_->source(), ours_->resources());
  fmt::print("{:<28} ours {:7.1f} TFLOPS", s.name(), tflops);
  for (size_t i = 1; i < variants.size(); ++i) {
    const double peer = s.tflops((*times)[i].ms);
    fmt::print(" | {} {:.1f}, ratio {:.3f}", variants[i].name, peer, tflops / peer);
    if (good) report_.rows.push_back({s.name(), "TFLOPS", tflops, peer, variants[i].name, hash});
  }
  double spread = 0;
  for (const Timing& t : *times) spread = std::max(spread, t.spread);
  fmt::print(" | spread {:.1f} %, {} sets\n  {}: {}\n", spread * 100, sets, good ? "right" : "WRONG", check);
  std::fflush(stdout);
  return good;
}

int Bench::run() {
  const auto step = [](const char* doing, const Result<void>& result) {
    if (!result) print_error(doing, result.error());
    return result.ok();
  };
  if (!step("while the kernels are made", make())) return 1;
  if (options_.dry_run) return step("in the dry run", dry_run()) ? 0 : 1;
  if (!step("while the device is prepared", open())) return 1;
  bool good = true;
  for (const Shape& s : shapes) {
    if (!options_.wants(s.name())) continue;
    const auto done = run_case(s);
    if (!done) {
      // The context may be lost; what follows would fail as well.
      print_error(s.name(), done.error());
      return 1;
    }
    good = *done && good;
    report_.write(options_);
  }
  fmt::print("results: {}\n", report_.path(options_));
  return good ? 0 : 1;
}

}  // namespace
}  // namespace tlxjit::bench

int main(int argc, char** argv) {
  using namespace tlxjit::bench;
  return Bench(parse_options(argc, argv, "bf16 GEMM against the prototype and cuBLAS")).run();
}

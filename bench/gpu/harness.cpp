// bench/gpu/harness.cpp — measures kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/gpu/harness.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

namespace tlxjit::bench {
namespace {

constexpr double burst_ms = 9;
constexpr auto rest = std::chrono::milliseconds(20);

}  // namespace

Result<Device> open_device(const Engine& engine, const Options& options) {
  return engine.device(options.dry_run ? "sm_90a" : "cuda:0");
}

Result<void> dry_launch(const Result<void>& launched) {
  if (!launched && launched.error().code == ErrorCode::unsupported) return {};
  return launched;
}

Result<std::unique_ptr<Harness>> Harness::open(const Options& options, const Device& device) {
  auto driver = nvidia::Driver::load();
  if (!driver) return driver.error();
  auto context = nvidia::Context::open(*driver);  // the primary one, as the runtime's
  if (!context) return context.error();
  std::unique_ptr<Harness> h(new Harness);
  h->context_ = *context;
  h->rounds_ = options.rounds;
  // Current for as long as the harness lives, so that no launch changes contexts.
  h->current_ = std::make_unique<nvidia::CurrentContext>(*h->context_);
  TLXJIT_TRY(h->current_->status());
  auto stream = device.stream();
  if (!stream) return stream.error();
  h->stream_ = std::move(*stream);
  for (nvidia::Event* event : {&h->begin_, &h->end_}) {
    auto made = nvidia::create_event(h->context_);
    if (!made) return made.error();
    *event = std::move(*made);
  }
  const nvidia::DeviceInfo& info = h->context_->info();
  fmt::print("{}, {} SMs, {} MB L2, driver API {}.{}\n", info.name, info.sm_count, info.l2_bytes >> 20,
             info.driver_version / 1000, info.driver_version % 1000 / 10);
  return h;
}

void Harness::describe(Report& report) const {
  const nvidia::DeviceInfo& info = context_->info();
  report.device = info.name;
  report.driver = driver_name(info.driver_version);
}

int Harness::sets_for(size_t bytes, int limit) const {
  const size_t wanted = 3 * static_cast<size_t>(context_->info().l2_bytes);
  return std::clamp(static_cast<int>((wanted + bytes - 1) / bytes), 2, std::max(limit, 2));
}

Result<void> Harness::wait(const std::string& what, double limit_ms) {
  const auto done = nvidia::synchronize_for(*context_, native_stream(), limit_ms);
  if (!done) return done.error();
  if (*done) return {};
  fmt::print(stderr, "HANG: {} did not end within {:.0f} s; the process ends here\n", what, limit_ms / 1000);
  std::fflush(nullptr);
  _exit(3);
}

Result<void> Harness::once(const Variant& variant) {
  TLXJIT_TRY(variant.launch(0));
  return wait(variant.name);
}

/// Milliseconds of one of `count` launches, after two others.
Result<double> Harness::burst(const Variant& variant, int count, int sets) {
  const auto launch = [&] { return variant.launch(next_set_++ % sets); };
  for (int i = 0; i < 2; ++i) TLXJIT_TRY(launch());
  TLXJIT_TRY(nvidia::record(begin_, native_stream()));
  for (int i = 0; i < count; ++i) TLXJIT_TRY(launch());
  TLXJIT_TRY(nvidia::record(end_, native_stream()));
  TLXJIT_TRY(wait(variant.name));
  const auto ms = nvidia::elapsed_ms(begin_, end_);
  if (!ms) return ms.error();
  return static_cast<double>(*ms) / count;
}

Result<std::vector<Timing>> Harness::measure(const std::vector<Variant>& variants, int sets) {
  std::vector<int> counts;
  for (const Variant& v : variants) {
    const auto ms = burst(v, 4, sets);
    if (!ms) return ms.error();
    counts.push_back(std::clamp(static_cast<int>(std::ceil(burst_ms / *ms)), 2, 2000));
  }
  std::vector<std::vector<double>> times(variants.size());
  std::vector<size_t> order(variants.size());
  std::iota(order.begin(), order.end(), 0);
  for (int round = 0; round < rounds_; ++round) {
    std::shuffle(order.begin(), order.end(), random_);
    for (const size_t i : order) {
      std::this_thread::sleep_for(rest);
      const auto ms = burst(variants[i], counts[i], sets);
      if (!ms) return ms.error();
      times[i].push_back(*ms);
    }
  }
  std::vector<Timing> result;
  for (auto& t : times) {
    std::sort(t.begin(), t.end());
    const double median = t[t.size() / 2];
    result.push_back({median, (t.back() - t.front()) / median});
  }
  return result;
}

}  // namespace tlxjit::bench

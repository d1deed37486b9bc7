// samples/jagged_attention/main.cpp — self-attention over documents of different lengths, at once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "batch.h"
#include "check.h"
#include "options.h"
#include "tlxjit/tlxjit.h"

using namespace tlxjit;

namespace {

[[noreturn]] void fail(const Error& error) {
  std::fprintf(stderr, "jagged_attention: %s\n", to_string(error).c_str());
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

double now_ms() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

size_t count_ops(const Module& module) { return numbered_ops(module).size(); }

void describe(const Kernel& kernel, double build_ms, const Executable& exe) {
  const auto module = must(kernel.module());
  const StageTimes& t = exe.times();
  const CompileReport& report = exe.report();
  std::printf("built     %s\n          %zu ops in %.2f ms\n", exe.signature().c_str(), count_ops(module), build_ms);
  std::printf("lowered   for %s: %d ops in %.2f ms, after %.2f ms of verifying; %lld bytes of shared memory\n",
              exe.target().c_str(), exe.resources().ops, t.lower, t.verify,
              static_cast<long long>(exe.resources().shared_bytes));
  if (exe.source().empty()) {
    std::printf("compiled  by LLVM in %.0f ms\n", t.compile);
  } else {
    std::printf("emitted   %zu bytes of source in %.2f ms\n", exe.source().size(), t.emit);
    std::printf("compiled  by NVRTC in %.0f ms to %zu bytes, %d registers, %d bytes spilled; loaded in %.1f ms\n",
                t.compile, exe.binary().size(), report.registers, report.spill_store_bytes, t.load);
  }
  for (const std::string& text : report.diagnostics) std::printf("note      %s\n", text.c_str());
}

/// Runs the kernel once and then as often as asked for; gives the first and the fastest time in ms.
template <class Launch>
std::pair<double, double> run(const Device& device, int repeat, Launch&& launch) {
  const auto once = [&] {
    const double begin = now_ms();
    must(launch());
    must(device.synchronize());
    return now_ms() - begin;
  };
  const double first = once();
  double best = first;
  for (int i = 0; i < repeat; ++i) best = std::min(best, once());
  return {first, best};
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  const Batch batch = read_batch(options);
  const auto tokens = static_cast<int64_t>(batch.tokens.size());
  std::printf("read      %s\n          %lld documents, %lld tokens, the longest has %lld\n", batch.origin.c_str(),
              static_cast<long long>(batch.documents()), static_cast<long long>(tokens),
              static_cast<long long>(batch.longest()));

  EngineOptions engine_options;
  engine_options.log = [](std::string_view text) {
    if (std::getenv("TLXJIT_LOG")) std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  };
  const Engine engine(engine_options);
  const Device device = must(options.device.empty() ? engine.best_device() : engine.device(options.device));
  std::printf("device    %s: %s\n", device.name().c_str(), device.description().c_str());

  AttentionOptions wanted;
  wanted.head = options.head_size;
  wanted.causal = options.causal;
  wanted.jagged = true;
  const double begin = now_ms();
  const Kernel kernel = attention(attention_config(device.target(), wanted, batch.longest()));
  const double build_ms = now_ms() - begin;
  const Executable exe = must(engine.compile(kernel, device));
  describe(kernel, build_ms, exe);

  const int64_t heads = options.heads, size = options.head_size;
  Tensors t;
  t.heads = heads;
  t.head_size = size;
  t.causal = options.causal;
  t.scale = 1 / std::sqrt(static_cast<float>(size));
  t.q = embed(batch, heads, size, 1);
  t.k = embed(batch, heads, size, 2);
  t.v = embed(batch, heads, size, 3);
  t.out.resize(t.q.size(), bf16(NAN));
  t.lse.resize(static_cast<size_t>(tokens * heads), NAN);
  const Buffer q = must(device.upload(t.q)), k = must(device.upload(t.k)), v = must(device.upload(t.v));
  const Buffer out = must(device.upload(t.out)), lse = must(device.upload(t.lse));
  const Buffer offsets = must(device.upload(batch.offsets));

  const auto [first, best] = run(device, options.repeat, [&] {
    return exe.launch({q.tensor<bf16>({tokens, heads, size}), k.tensor<bf16>({tokens, heads, size}),
                       v.tensor<bf16>({tokens, heads, size}), out.tensor<bf16>({tokens, heads, size}),
                       lse.tensor<float>({heads, tokens}), offsets.tensor<int32_t>({batch.documents() + 1}), t.scale});
  });
  double products = 0;
  for (int64_t b = 0; b < batch.documents(); ++b) {
    const auto n = static_cast<double>(batch.length(b));
    products += (options.causal ? n * (n + 1) / 2 : n * n) * 2 * static_cast<double>(heads * size);
  }
  std::printf("ran       %lld heads of %lld%s: first %.3f ms, best of %d %.3f ms, %.3g Tflop/s\n",
              static_cast<long long>(heads), static_cast<long long>(size), options.causal ? ", causal" : "", first,
              options.repeat, best, best > 0 ? 2 * products / best * 1e-9 : 0.0);

  must(out.download(t.out));
  must(lse.download(t.lse));
  const Verdict verdict = check(batch, t);
  const bool right = verdict.largest_ratio <= 1;
  std::printf(
      "checked   %lld of %lld rows against float64: largest error %.3g (%.2f of what rounding may cost), of lse %.3g: "
      "%s\n",
      static_cast<long long>(verdict.rows), static_cast<long long>(verdict.all_rows), verdict.largest_error,
      verdict.largest_ratio, verdict.largest_lse_error, right ? "right" : "WRONG");
  return right ? 0 : 1;
}

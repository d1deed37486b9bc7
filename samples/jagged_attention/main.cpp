// samples/jagged_attention/main.cpp — attention over documents of different lengths, at once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "batch.h"
#include "check.h"
#include "numbers.h"
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

/// Products of the two matrix products of one head.
double products(const AttentionOptions& o, const Batch& queries, const Batch& keys, int64_t value_size) {
  double sum = 0;
  for (int64_t b = 0; b < keys.documents(); ++b)
    for (int64_t i = 0; i < queries.length(b); ++i) {
      const int64_t n = keys.length(b), beside = o.corner == Corner::top_left ? i : n - (queries.length(b) - i);
      const int64_t right = o.causal ? 0 : o.right;
      const int64_t end = right < 0 ? n : std::min(n, beside + right + 1);
      const int64_t begin = o.left < 0 ? 0 : std::max<int64_t>(0, beside - o.left);
      sum += static_cast<double>(std::max<int64_t>(end - begin, 0)) * static_cast<double>(o.head + value_size);
    }
  return sum;
}

/// Builds the same kernel once more: the engine has it already.
void compile_again(const Engine& engine, const Device& device, const AttentionConfig& config) {
  const EngineCounters before = engine.counters();
  const double begin = now_ms();
  must(engine.compile(attention(config), device));
  const double ms = now_ms() - begin;
  const EngineCounters after = engine.counters();
  std::printf("again     the same options: %s in %.2f ms\n",
              after.memory_hits > before.memory_hits && after.compiles == before.compiles ? "served from memory"
                                                                                          : "COMPILED AGAIN",
              ms);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  const AttentionOptions& o = options.attention;
  const Batch keys = read_batch(options);
  const Batch queries = o.self ? keys : keys.last(options.last);
  const auto key_tokens = static_cast<int64_t>(keys.tokens.size());
  const auto tokens = static_cast<int64_t>(queries.tokens.size());
  std::printf("read      %s\n          %lld documents, %lld tokens, the longest has %lld\n", keys.origin.c_str(),
              static_cast<long long>(keys.documents()), static_cast<long long>(key_tokens),
              static_cast<long long>(keys.longest()));

  EngineOptions engine_options;
  engine_options.log = [](std::string_view text) {
    if (std::getenv("TLXJIT_LOG")) std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  };
  const Engine engine(engine_options);
  const Device device = must(options.device.empty() ? engine.best_device() : engine.device(options.device));
  std::printf("device    %s: %s\n", device.name().c_str(), device.description().c_str());

  const double begin = now_ms();
  const AttentionConfig config = attention_config(device.target(), o, keys.longest());
  const Kernel kernel = attention(config);
  const double build_ms = now_ms() - begin;
  const Executable exe = must(engine.compile(kernel, device));
  describe(kernel, build_ms, exe);
  compile_again(engine, device, config);

  Tensors t;
  t.heads = options.heads;
  t.key_heads = options.heads / o.group;
  t.size = o.head;
  t.value_size = o.value_head ? o.value_head : o.head;
  t.scale = options.scale;
  t.cap = options.cap;
  t.q = embed(queries, t.heads, t.size, 1);
  t.k = embed(keys, t.key_heads, t.size, 2);
  t.v = embed(keys, t.key_heads, t.value_size, 3);
  t.out.assign(static_cast<size_t>(tokens * t.heads * t.value_size), NAN);
  t.lse.assign(static_cast<size_t>(o.lse ? tokens * t.heads : 0), NAN);
  const Buffer q = must(device.upload(encode(t.q, o.elem))), k = must(device.upload(encode(t.k, o.elem)));
  const Buffer v = must(device.upload(encode(t.v, o.elem))), lse = must(device.upload(t.lse));
  std::vector<char> result = encode(t.out, o.elem);
  const Buffer out = must(device.upload(result));

  std::vector<Buffer> offsets;
  for (const Batch* batch : {&queries, &keys}) {
    if (batch == &keys && o.self) break;
    const std::vector<int64_t> wide(batch->offsets.begin(), batch->offsets.end());
    offsets.push_back(must(o.offsets == Elem::i64 ? device.upload(wide) : device.upload(batch->offsets)));
  }
  std::vector<Argument> arguments = {tensor(o.elem, q.data(), {tokens, t.heads, t.size}),
                                     tensor(o.elem, k.data(), {key_tokens, t.key_heads, t.size}),
                                     tensor(o.elem, v.data(), {key_tokens, t.key_heads, t.value_size}),
                                     tensor(o.elem, out.data(), {tokens, t.heads, t.value_size})};
  if (o.lse) arguments.emplace_back(lse.tensor<float>({t.heads, tokens}));
  for (const Buffer& list : offsets) arguments.emplace_back(tensor(o.offsets, list.data(), {keys.documents() + 1}));
  arguments.emplace_back(t.scale);
  if (o.soft_cap) arguments.emplace_back(t.cap);
  const auto [first, best] = run(device, options.repeat, [&] { return exe.launch(arguments); });
  const double work = products(o, queries, keys, t.value_size) * static_cast<double>(t.heads);
  std::printf("ran       %lld heads of %lld%s: first %.3f ms, best of %d %.3f ms, %.3g Tflop/s\n",
              static_cast<long long>(t.heads), static_cast<long long>(t.size), o.causal ? ", causal" : "", first,
              options.repeat, best, best > 0 ? 2 * work / best * 1e-9 : 0.0);

  must(out.download(result));
  t.out = decode(result, o.elem);
  must(lse.download(t.lse));
  const Verdict verdict = check(queries, keys, t, o);
  const bool right = verdict.largest_ratio <= 1;
  std::printf(
      "checked   %lld of %lld rows against float64: largest error %.3g (%.2f of what rounding may cost), of lse %.3g: "
      "%s\n",
      static_cast<long long>(verdict.rows), static_cast<long long>(verdict.all_rows), verdict.largest_error,
      verdict.largest_ratio, verdict.largest_lse_error, right ? "right" : "WRONG");
  return right ? 0 : 1;
}

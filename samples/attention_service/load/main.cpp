// samples/attention_service/load/main.cpp — draws calls, sends them, reports, and checks some of the answers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>
#include <cstdio>
#include <exception>

#include "report.h"
#include "samples/jagged_attention/check.h"
#include "samples/jagged_attention/numbers.h"

namespace {

/// Compares the answer to a call with attention in float64: error over what rounding may cost.
double error_of(const load::Options& options, const load::Sample& sample, unsigned seed) {
  const attention_service::Call call = load::make_call(options, sample.arrival, seed);
  if (sample.out.size() != call.query_bytes()) return INFINITY;
  const auto numbers = [&](std::string_view bytes) { return decode({bytes.begin(), bytes.end()}, call.shape.elem); };
  Tensors t;
  t.q = numbers(call.q()), t.k = numbers(call.k()), t.v = numbers(call.v()), t.out = numbers(sample.out);
  t.heads = call.shape.heads, t.key_heads = call.shape.key_heads;
  t.size = t.value_size = call.shape.head_size;
  t.scale = call.shape.scale;
  Batch batch;
  batch.tokens.resize(static_cast<size_t>(call.tokens));
  batch.offsets.push_back(static_cast<int32_t>(call.tokens));
  tlxjit::AttentionOptions attention;
  attention.elem = call.shape.elem;
  attention.head = call.shape.head_size;
  attention.causal = call.shape.causal;
  attention.lse = false;
  return check(batch, batch, t, attention).largest_ratio;
}

}  // namespace

int main(int argc, char** argv) {
  const load::Options options = load::parse_options(argc, argv);
  try {
    const std::vector<load::Arrival> arrivals = load::draw_arrivals(options);
    load::look_for_service(options);
    std::printf("sending   %zu calls in %g s, of %s of %s\n", arrivals.size(), options.seconds,
                options.trace.empty() ? "log-normal lengths" : ("the lengths of " + options.trace).c_str(),
                tlxjit::to_string(options.elem));
    std::fflush(stdout);
    const std::vector<load::Sample> samples = load::send_all(options, arrivals);
    load::print_report(options, samples);
    if (!options.json.empty()) load::write_report(options, samples);
    double worst = 0;
    int checked = 0;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (samples[i].out.empty()) continue;
      worst = std::max(worst, error_of(options, samples[i], load::seed_of(options, i)));
      ++checked;
    }
    std::printf("\nchecked   %d answers against float64, error at most %.2f of what rounding may cost: %s\n", checked,
                worst,
                checked == 0 ? "nothing to check"
                : worst <= 1 ? "right"
                             : "WRONG");
    return worst <= 1 && (checked > 0 || options.checked == 0) ? 0 : 1;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "attention_load: %s\n", fault.what());
    return 1;
  }
}

// bench/gpu/attention_bench.cpp — attention forward, D 128: ours and the hand-written prototype in one run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <optional>
#include <utility>

#include "bench/common/code.h"
#include "bench/gpu/data.h"
#include "bench/gpu/harness.h"
#include "bench/gpu/prototype.h"
#include "tlxjit/kernels/attention.h"

namespace tlxjit::bench {
namespace {

constexpr int tokens = 16384, heads = 16, head_size = 128, sets = 2;  // one set is larger than the L2 cache
constexpr size_t elements = size_t{tokens} * heads * head_size;
constexpr float scale = 0.08838834764831845f;  // 1/√128
constexpr uint64_t seed_q = 11, seed_k = 12, seed_v = 13;

struct Case {
  bool causal;
  int sequence;
  int batch() const { return tokens / sequence; }
  std::string name() const { return fmt::format("dense fwd D128 {} {}k", causal ? "causal" : "full", sequence / 1024); }
  double tflops(double ms) const {
    return 4.0 * batch() * heads * double(sequence) * sequence * head_size * (causal ? 0.5 : 1) / ms * 1e-9;
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool causal : {false, true})
    for (const int sequence : {2048, 4096, 8192, 16384}) all.push_back({causal, sequence});
  return all;
}

/// Where element (b, s, h, 0) stands.
struct Layout {
  const char* name;
  int64_t b, s, h;
};

/// [B, H, S, D], which both kernels take.
Layout head_major(const Case& c) {
  return {"head-major", int64_t{heads} * c.sequence * head_size, head_size, int64_t{c.sequence} * head_size};
}

/// [B, S, H, D], as a model's projections leave it.
Layout token_major(const Case& c) {
  return {"token-major", int64_t{c.sequence} * heads * head_size, int64_t{heads} * head_size, head_size};
}

struct Addresses {
  void *q, *k, *v, *out, *lse;
};

Result<void> launch(const Executable& ours, const Stream& stream, const Case& c, const Layout& l, const Addresses& at) {
  const auto rows = [&](void* data) {
    return tensor<bf16>(data, {c.batch(), c.sequence, heads, head_size}).with_strides({l.b, l.s, l.h, 1});
  };
  return ours.launch(stream, {rows(at.q), rows(at.k), rows(at.v), rows(at.out),
                              tensor<float>(at.lse, {c.batch(), heads, c.sequence}), scale});
}

/// A prototype before it is loaded.
struct Peer {
  std::string label;
  PrototypeSource source;
  std::future<Result<Code>> pending;
  Code code;
};

struct Output {
  std::vector<bf16> out;
  std::vector<float> lse;
};

/// Against float64, on rows at the edges of tiles and on random ones: ‖out − ref‖ / ‖ref‖ and |lse − ref|.
struct SampledError {
  double out = 0, lse = 0;
};

SampledError sampled_error(const NormalData& data, const Case& c, const Layout& l, const Output& got) {
  std::mt19937 random(5);
  double difference = 0, norm = 0, lse_error = 0;
  std::vector<bf16> q(head_size), row(head_size);
  for (int sample = 0; sample < 10; ++sample) {
    const int64_t edges[] = {0, 127, 128, c.sequence - 1};
    const int64_t s = sample < 4 ? edges[sample] : int64_t(random() % unsigned(c.sequence));
    const int64_t b = sample == 3 ? c.batch() - 1 : int64_t(random() % unsigned(c.batch()));
    const int64_t h = sample == 3 ? heads - 1 : int64_t(random() % unsigned(heads));
    const int64_t base = b * l.b + h * l.h, keys = c.causal ? s + 1 : c.sequence;
    data.fill(q, seed_q, uint64_t(base + s * l.s));
    std::vector<double> weights;
    double most = -INFINITY;
    for (int64_t j = 0; j < keys; ++j) {
      data.fill(row, seed_k, uint64_t(base + j * l.s));
      double dot = 0;
      for (size_t d = 0; d < head_size; ++d) dot += double(float(q[d])) * double(float(row[d]));
      weights.push_back(dot * double(scale));
      most = std::max(most, weights.back());
    }
    double sum = 0;
    std::vector<double> out(head_size);
    for (int64_t j = 0; j < keys; ++j) {
      const double w = std::exp(weights[size_t(j)] - most);
      sum += w;
      data.fill(row, seed_v, uint64_t(base + j * l.s));
      for (size_t d = 0; d < head_size; ++d) out[d] += w * double(float(row[d]));
    }
    for (size_t d = 0; d < head_size; ++d) {
      const double ref = out[d] / sum, value = double(float(got.out[size_t(base + s * l.s) + d]));
      difference += (value - ref) * (value - ref);
      norm += ref * ref;
    }
    const double lse = double(got.lse[size_t((b * heads + h) * c.sequence + s)]);
    lse_error = std::isnan(lse) ? INFINITY : std::max(lse_error, std::abs(lse - (most + std::log(sum))));
  }
  return {std::sqrt(difference / norm), lse_error};
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) { report_.bench = "attention"; }
  int run();

 private:
  struct Key {
    bool causal;
    int sequence;
    bool operator==(const Key&) const = default;
  };
  struct Slot {
    Key key;
    std::future<Result<Executable>> pending;
    std::optional<Executable> ours;
    std::vector<Peer> peers;  ///< the prototype without and with ping-pong barriers
  };

  Result<void> make();
  Result<void> finish(Slot& slot, bool show);
  Result<void> dry_run() const;
  Result<void> open();
  Result<bool> run_case(const Case& c);
  Result<Output> output_of(const Variant& variant);
  /// The full kernels do not depend on the length.
  static Key key_of(const Case& c) { return {c.causal, c.causal ? c.sequence : 0}; }
  const Slot* slot_of(const Case& c) const {
    const auto at = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.key == key_of(c); });
    return at == slots_.end() ? nullptr : &*at;
  }

  Options options_;
  Report report_;
  NormalData data_;
  Engine engine_{without_disk_cache()};
  std::vector<Slot> slots_;
  std::unique_ptr<Harness> harness_;
  Buffer q_, k_, v_, out_, lse_;
};

/// The kernels of every case, side by side.
Result<void> Bench::make() {
  const auto nvrtc = open_nvrtc();
  if (!nvrtc) return nvrtc.error();
  report_.compiler = (*nvrtc)->identity();
  const auto device = open_device(engine_, options_);
  if (!device) return device.error();
  for (const Case& c : cases()) {
    if (!options_.wants(c.name()) || slot_of(c)) continue;
    Slot slot;
    slot.key = key_of(c);
    slot.pending = std::async(std::launch::async, [this, c, device = *device] {
      return engine_.compile(attention(attention_config(device.target(), {.causal = c.causal}, c.sequence)), device);
    });
    for (const bool pingpong : {false, true}) {
      if (options_.prototypes.empty()) break;
      auto source = prototype_source(options_.prototypes, "fa", attention_macros(c.causal, pingpong, c.sequence));
      if (!source) return source.error();
      Peer peer{pingpong ? "prototype-pp" : "prototype", std::move(*source), {}, {}};
      peer.pending =
          std::async(std::launch::async, [nvrtc = *nvrtc, text = peer.source.source, name = peer.source.entry] {
            return compile_source(*nvrtc, text, name);
          });
      slot.peers.push_back(std::move(peer));
    }
    slots_.push_back(std::move(slot));
  }
  // The causal kernels differ in one constant: one of each kind says it all.
  bool shown[2] = {};
  for (Slot& slot : slots_) TLXJIT_TRY(finish(slot, !std::exchange(shown[slot.key.causal], true)));
  return {};
}

Result<void> Bench::finish(Slot& slot, bool show) {
  auto ours = slot.pending.get();
  if (!ours) return ours.error();
  slot.ours = std::move(*ours);
  const auto code = code_of(*slot.ours);
  if (!code) return code.error();
  const std::string kind = slot.key.causal ? "causal" : "full";
  const std::string name = fmt::format("attention-{}-{}k", kind, slot.key.sequence / 1024);
  dump(options_.dump, name, *code);
  std::vector<CodeColumn> columns = {{"ours", &*code}};
  for (Peer& peer : slot.peers) {
    auto made = peer.pending.get();
    if (!made) return made.error();
    peer.code = std::move(*made);
    columns.push_back({peer.label, &peer.code});
    dump(options_.dump, name + "-" + peer.label, peer.code);
  }
  if (!show) return {};
  fmt::print("{}\n", kind);
  print_code(columns);
  return {};
}

/// Has the runtime check every case's arguments.
Result<void> Bench::dry_run() const {
  for (const Case& c : cases()) {
    if (!options_.wants(c.name())) continue;
    const Executable& ours = *slot_of(c)->ours;
    const Addresses at = {fake_address(1), fake_address(2), fake_address(3), fake_address(4), fake_address(5)};
    for (const Layout& l : {head_major(c), token_major(c)}) {
      TLXJIT_TRY(dry_launch(launch(ours, Stream(), c, l, at)));
      fmt::print("dry run: {} {}: the arguments fit\n", c.name(), l.name);
    }
  }
  return {};
}

Result<void> Bench::open() {
  if (slots_.empty()) return {};
  const Device& device = slots_[0].ours->device();
  auto harness = Harness::open(options_, device);
  if (!harness) return harness.error();
  harness_ = std::move(*harness);
  harness_->describe(report_);
  if (options_.prototypes.empty()) fmt::print("no prototypes (--prototypes FOLDER): no peer and no rows\n");
  const auto allocate = [&](Buffer& buffer, size_t bytes) -> Result<void> {
    auto made = device.allocate(bytes);
    if (!made) return made.error();
    buffer = std::move(*made);
    return {};
  };
  for (Buffer* buffer : {&q_, &k_, &v_, &out_}) TLXJIT_TRY(allocate(*buffer, sets * elements * 2));
  TLXJIT_TRY(allocate(lse_, size_t{sets} * tokens * heads * 4));
  TLXJIT_TRY(data_.upload(q_, seed_q));
  TLXJIT_TRY(data_.upload(k_, seed_k));
  return data_.upload(v_, seed_v);
}

/// What a variant computes into buffers full of NaN.
Result<Output> Bench::output_of(const Variant& variant) {
  TLXJIT_TRY(out_.fill(0xff));
  TLXJIT_TRY(lse_.fill(0xff));
  TLXJIT_TRY(harness_->once(variant));
  Output o{std::vector<bf16>(elements), std::vector<float>(size_t{tokens} * heads)};
  TLXJIT_TRY(out_.download(o.out));
  TLXJIT_TRY(lse_.download(o.lse));
  return o;
}

size_t missing(const Output& o) {
  return static_cast<size_t>(std::count_if(o.out.begin(), o.out.end(), is_nan) +
                             std::count_if(o.lse.begin(), o.lse.end(), [](float x) { return std::isnan(x); }));
}

/// Ours against the prototype, all elements.
std::string compare(const Output& ours, const Output& peer, bool& good) {
  double difference = 0, norm = 0, largest = 0, lse = 0;
  size_t differing = 0;
  for (size_t i = 0; i < ours.out.size(); ++i) {
    const double a = double(float(ours.out[i])), b = double(float(peer.out[i]));
    differing += ours.out[i].bits != peer.out[i].bits;
    difference += (a - b) * (a - b);
    norm += b * b;
    largest = std::max(largest, std::abs(a - b));
  }
  for (size_t i = 0; i < ours.lse.size(); ++i) lse = std::max(lse, std::abs(double(ours.lse[i]) - double(peer.lse[i])));
  const double relative = std::sqrt(difference / norm);
  if (!(relative <= 5e-3 && lse <= 1e-3)) good = false;
  return fmt::format("; vs prototype: {} differ, <= {:.3g}, rel {:.2e}, lse {:.1e}", differing, largest, relative, lse);
}

/// False: a result is wrong.
Result<bool> Bench::run_case(const Case& c) {
  const Slot& slot = *slot_of(c);
  const Executable& ours = *slot.ours;
  std::vector<Addresses> at;
  for (size_t i = 0; i < sets; ++i) {
    const size_t offset = i * elements * 2;
    at.push_back({address_in(q_, offset), address_in(k_, offset), address_in(v_, offset), address_in(out_, offset),
                  address_in(lse_, i * tokens * heads * 4)});
  }
  const Layout layouts[] = {head_major(c), token_major(c)};
  std::vector<Variant> variants;
  for (const Layout& l : layouts)
    variants.push_back({fmt::format("ours {}", l.name),
                        [&](int i) { return launch(ours, harness_->stream(), c, l, at[static_cast<size_t>(i)]); }});
  for (const Peer& peer : slot.peers) {
    auto loaded = Prototype::load(harness_->context(), peer.source, peer.code.cubin);
    if (!loaded) return loaded.error();
    const auto prototype = std::make_shared<Prototype>(std::move(*loaded));
    std::vector<nvidia::ParamBuffer> params;
    for (const Addresses& a : at) {
      auto bound = prototype->bind_attention(a.q, a.k, a.v, a.out, a.lse, c.sequence, c.batch() * heads, scale);
      if (!bound) return bound.error();
      params.push_back(*bound);
    }
    variants.push_back({prototype->name(), [this, prototype, params = std::move(params)](int i) {
                          return prototype->launch(params[static_cast<size_t>(i)], harness_->native_stream());
                        }});
  }

  bool good = true;
  std::string check;
  Output first;
  for (size_t v = 0; v < variants.size() && v < 3; ++v) {
    auto output = output_of(variants[v]);
    if (!output) return output.error();
    if (v == 2) {
      check += compare(first, *output, good);
      continue;
    }
    const size_t nan = missing(*output);
    const SampledError e = sampled_error(data_, c, layouts[v], *output);
    if (!(nan == 0 && e.out <= 1e-2 && e.lse <= 1e-3)) good = false;
    check += fmt::format("{}{}: {} NaN, rel {:.2e}, lse {:.1e}", v ? "; " : "", layouts[v].name, nan, e.out, e.lse);
    if (v == 0) first = std::move(*output);
  }

  auto times = harness_->measure(variants, sets);
  if (!times) return times.error();
  fmt::print("{:<26}", c.name());
  std::vector<double> tflops;
  double spread = 0;
  for (size_t v = 0; v < variants.size(); ++v) {
    tflops.push_back(c.tflops((*times)[v].ms));
    spread = std::max(spread, (*times)[v].spread);
    fmt::print("{}{} {:.1f}", v ? " | " : "", variants[v].name, tflops[v]);
  }
  const std::string hash = code_hash(ours.source(), ours.resources());
  const auto row = [&](const std::string& name, size_t mine, size_t peer) {
    if (peer >= variants.size() || !good) return;
    report_.rows.push_back({name, "TFLOPS", tflops[mine], tflops[peer], variants[peer].name, hash});
  };
  row(c.name(), 0, 2);
  row(c.name(), 0, 3);
  row(c.name() + " token-major", 1, 2);
  if (variants.size() > 2)
    fmt::print(" | ratio {:.3f}, PP=1 {:.3f}, token-major {:.3f}", tflops[0] / tflops[2], tflops[0] / tflops[3],
               tflops[1] / tflops[2]);
  fmt::print(" | spread {:.1f} %\n  {}: {}\n", spread * 100, good ? "right" : "WRONG", check);
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
  for (const Case& c : cases()) {
    if (!options_.wants(c.name())) continue;
    const auto done = run_case(c);
    if (!done) {
      // The context may be lost; what follows would fail as well.
      print_error(c.name(), done.error());
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
  return Bench(parse_options(argc, argv, "attention forward, D 128, against the prototype")).run();
}

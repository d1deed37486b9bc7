// samples/attention_service/kernels.cpp — functions over versions of attention.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.h"

namespace attention_service {

using tlxjit::Argument, tlxjit::Elem, tlxjit::JitFunction, tlxjit::Kernel, tlxjit::Policy, tlxjit::Result;

namespace {

JitFunction function(const tlxjit::Engine& engine, const tlxjit::Device& device, tlxjit::Tier tier,
                     const tlxjit::AttentionOptions& options) {
  tlxjit::JitOptions jit;
  jit.numbers = {{options.group == 1 ? "H" : "Hkv", Policy::exact()}, {"T", Policy::any()}, {"B+1", Policy::any()}};
  jit.tier = tier;
  const auto generator = [options](const tlxjit::Signature& signature, const tlxjit::Config&) {
    return tlxjit::attention(tlxjit::attention_config(signature.target, options));
  };
  return {engine, device, "attention", generator, jit};
}

}  // namespace

Kernels::Kernels(const tlxjit::Engine& engine, const tlxjit::Device& device, const Served& served, tlxjit::Tier tier) {
  tlxjit::AttentionOptions options;
  options.jagged = true;
  options.lse = false;
  for (const Elem elem : served.elems)
    for (const int head_size : served.head_sizes)
      for (const int group : served.groups)
        for (const bool causal : {false, true}) {
          options.elem = elem, options.head = head_size, options.group = group, options.causal = causal;
          functions_.emplace(Key(elem, head_size, group, causal), function(engine, device, tier, options));
        }
}

std::set<Elem> Kernels::elems(const tlxjit::Device& device) {
  if (device.name() == tlxjit::Device::cpu) return {Elem::f32, Elem::bf16, Elem::f16};
  return {Elem::bf16, Elem::f16};
}

Result<void> Kernels::prepare(const std::function<void(size_t done, size_t total)>& progress) const {
  size_t done = 0;
  for (const auto& [key, function] : functions_) {
    const auto [elem, head_size, group, causal] = key;
    const auto rows = [&](int64_t heads) { return tlxjit::tensor(elem, nullptr, {0, heads, head_size}); };
    TLXJIT_TRY(
        function.prepare({rows(group), rows(1), rows(1), rows(group), tlxjit::tensor<int32_t>(nullptr, {1}), 1.F}));
    progress(++done, functions_.size());
  }
  return {};
}

Result<void> Kernels::launch(const Shape& shape, std::span<const Argument> arguments) const {
  const Key key(shape.elem, shape.head_size, shape.heads / shape.key_heads, shape.causal);
  return functions_.at(key).launch(tlxjit::Stream(), arguments);  // calls that are not served do not come here
}

tlxjit::JitCounters Kernels::counters() const {
  tlxjit::JitCounters sum;
  for (const auto& [key, function] : functions_) {
    const tlxjit::JitCounters one = function.counters();
    sum.versions += one.versions;
    sum.misses += one.misses;
    sum.compiles += one.compiles;
    sum.failures += one.failures;
    sum.waits += one.waits;
    sum.stand_ins += one.stand_ins;
    sum.evictions += one.evictions;
    sum.held_back += one.held_back;
  }
  return sum;
}

}  // namespace attention_service

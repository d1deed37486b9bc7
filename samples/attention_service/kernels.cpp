// samples/attention_service/kernels.cpp — functions over versions of attention.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace attention_service {

using tlxjit::Argument, tlxjit::Elem, tlxjit::JitFunction, tlxjit::Kernel, tlxjit::Policy, tlxjit::Result;

namespace {

/// A manifest's keys are found by it: `attention_bf16_64_1_causal`.
std::string name_of(const tlxjit::AttentionOptions& options) {
  return std::string("attention_") + tlxjit::to_string(options.elem) + "_" + std::to_string(options.head) + "_" +
         std::to_string(options.group) + (options.causal ? "_causal" : "");
}

JitFunction function(const tlxjit::Engine& engine, const tlxjit::Device& device, tlxjit::Tier tier,
                     const std::stop_token& stop, const tlxjit::AttentionOptions& options) {
  tlxjit::JitOptions jit;
  jit.compile.stop = stop;
  jit.numbers = {{options.group == 1 ? "H" : "Hkv", Policy::exact()}, {"T", Policy::any()}, {"B+1", Policy::any()}};
  jit.tier = tier;
  const auto generator = [options](const tlxjit::Signature& signature, const tlxjit::Config&) {
    return tlxjit::attention(tlxjit::attention_config(signature.target, options));
  };
  return {engine, device, name_of(options), generator, jit};
}

}  // namespace

Kernels::Kernels(const tlxjit::Engine& engine, const tlxjit::Device& device, const Served& served, tlxjit::Tier tier,
                 const std::stop_token& stop)
    : target_(device.target()) {
  tlxjit::AttentionOptions options;
  options.jagged = true;
  options.lse = false;
  for (const Elem elem : served.elems)
    for (const int head_size : served.head_sizes)
      for (const int group : served.groups)
        for (const bool causal : {false, true}) {
          options.elem = elem, options.head = head_size, options.group = group, options.causal = causal;
          functions_.emplace(Key(elem, head_size, group, causal),
                             Function{options, function(engine, device, tier, stop, options)});
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
        function.jit.prepare({rows(group), rows(1), rows(1), rows(group), tlxjit::tensor<int32_t>(nullptr, {1}), 1.F}));
    progress(++done, functions_.size());
  }
  return {};
}

Result<size_t> Kernels::warm(std::string_view manifest) const {
  const auto bad = [](const std::string& message) {
    tlxjit::Error error;
    error.message = "the manifest " + message;
    return error;
  };
  const auto json = nlohmann::json::parse(manifest, nullptr, false);
  const auto member = [](const nlohmann::json& object, const char* name) {
    return object.is_object() && object.contains(name) ? object[name] : nlohmann::json();
  };
  const nlohmann::json keys = member(json, "keys");
  if (member(json, "tlxjit_manifest") != 1 || !keys.is_array()) return bad("is none of format 1");
  for (const auto& key : keys) {
    const nlohmann::json name_of_key = member(key, "function");
    const std::string name = name_of_key.is_string() ? name_of_key.get<std::string>() : "";
    const auto found =
        std::ranges::find_if(functions_, [&](const auto& entry) { return entry.second.jit.name() == name; });
    if (found == functions_.end()) return bad("has a key of `" + name + "`, which is not served");
    auto report = found->second.jit.warm(key.dump());
    if (!report) return report.error();
    if (!report->errors.empty()) return report->errors.front();
  }
  return keys.size();
}

std::string Kernels::manifest() const {
  nlohmann::ordered_json all{{"tlxjit_manifest", 1}, {"keys", nlohmann::ordered_json::array()}};
  for (const auto& [key, function] : functions_)
    for (const std::string& one : function.jit.keys()) all["keys"].push_back(nlohmann::ordered_json::parse(one));
  return all.dump(1) + "\n";
}

void Kernels::write(const std::string& folder) const {
  for (const auto& [key, function] : functions_) {
    const std::string file = folder + "/" + function.jit.name() + ".tlx";
    const auto module = tlxjit::attention(tlxjit::attention_config(target_, function.options)).module();
    if (!module) throw std::runtime_error(to_string(module.error()));
    std::ofstream out(file);
    out << tlxjit::print(*module);
    if (!out.flush()) throw std::runtime_error("cannot write " + file);
  }
}

Result<void> Kernels::launch(const Shape& shape, std::span<const Argument> arguments) const {
  const Key key(shape.elem, shape.head_size, shape.heads / shape.key_heads, shape.causal);
  return functions_.at(key).jit.launch(tlxjit::Stream(), arguments);  // calls that are not served do not come here
}

tlxjit::JitCounters Kernels::counters() const {
  tlxjit::JitCounters sum;
  for (const auto& [key, function] : functions_) {
    const tlxjit::JitCounters one = function.jit.counters();
    sum.versions += one.versions;
    sum.misses += one.misses;
    sum.compiles += one.compiles;
    sum.failures += one.failures;
    sum.waits += one.waits;
    sum.stand_ins += one.stand_ins;
    sum.evictions += one.evictions;
    sum.held_back += one.held_back;
    sum.queue_full += one.queue_full;
    sum.refused += one.refused;
  }
  return sum;
}

}  // namespace attention_service

// tools/tlxjit/policies.cpp — the inverse of what a manifest says of policies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/policies.h"

#include <charconv>
#include <optional>

#include "src/runtime/guard_p.h"

namespace tlxjit::cli {

namespace {

/// `16)`, `16, 64)`.
std::optional<std::vector<int64_t>> numbers_of(std::string_view text) {
  std::vector<int64_t> numbers;
  while (true) {
    int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc()) return std::nullopt;
    numbers.push_back(n);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text == ")") return numbers;
    if (!text.starts_with(", ")) return std::nullopt;
    text.remove_prefix(2);
  }
}

/// The inverse of Policy::text.
std::optional<Policy> policy_of(std::string_view text) {
  constexpr std::string_view divisible = "divisible(", buckets = "buckets(";
  if (text == "exact") return Policy::exact();
  if (text == "powers_of_two") return Policy::powers_of_two();
  std::optional<Policy> policy;
  if (text.starts_with(divisible)) {
    const auto numbers = numbers_of(text.substr(divisible.size()));
    if (numbers && numbers->size() == 1) policy = Policy::divisible((*numbers)[0]);
  } else if (text.starts_with(buckets)) {
    if (auto numbers = numbers_of(text.substr(buckets.size()))) policy = Policy::buckets(std::move(*numbers));
  }
  if (policy && !policy->fault().empty()) policy.reset();
  return policy;
}

/// `aligned narrow strides`, at least one of them.
std::optional<TensorPolicy> tensor_policy_of(std::string_view text) {
  TensorPolicy policy{false, false, false};
  for (const auto& [word, on] :
       {std::pair{"aligned", &policy.aligned}, {"narrow", &policy.narrow}, {"strides", &policy.strides}}) {
    const std::string_view name = word;
    if (!text.starts_with(name)) continue;
    *on = true;
    text.remove_prefix(name.size());
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  if (!text.empty() || !(policy.aligned || policy.narrow || policy.strides)) return std::nullopt;
  return policy;
}

}  // namespace

Result<JitOptions> options_of(const Module& kernel, std::string_view policies) {
  JitOptions options;
  options.other_dims = options.other_integers = Policy::any();
  options.other_tensors = {false, false, false};
  while (!policies.empty()) {
    const size_t end = policies.find("; ");
    const std::string_view one = policies.substr(0, end);
    bool known = false, named = false;
    for (const auto& op : kernel.body.ops) {
      const std::string_view name = op->attrs.text("name");
      if (name.empty() || !one.starts_with(name) || one.size() <= name.size() || one[name.size()] != ' ') continue;
      named = true;
      const std::string_view rest = one.substr(name.size() + 1);
      if (op->code == OpCode::tensor) {
        if (const auto policy = tensor_policy_of(rest)) known = options.tensors.emplace(name, *policy).second;
      } else if (op->code == OpCode::dim || op->code == OpCode::scalar) {
        if (const auto policy = policy_of(rest)) known = options.numbers.emplace(name, *policy).second;
      }
      if (known) break;
    }
    if (!known || end == std::string_view::npos)
      return runtime::error_of(
          ErrorKind::user, Stage::parse, ErrorCode::invalid_text,
          "the manifest: the policy `" + std::string(one) +
              (named ? "` cannot be read, or is a second one" : "` is none of this kernel's parameters"));
    policies.remove_prefix(end + 2);
  }
  return options;
}

}  // namespace tlxjit::cli

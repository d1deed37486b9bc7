// tests/unit/bench/results_fresh_test.cpp — the committed GPU results are of the code that is generated today.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <sstream>

#include "backends/nvidia/emit/emit_p.h"
#include "bench/common/report.h"
#include "src/passes/lower_p.h"
#include "tlxjit/kernels/attention.h"
#include "tlxjit/kernels/gemm.h"

namespace tlxjit::bench {
namespace {

std::string read(const std::string& name) {
  std::ifstream file(std::string(TLXJIT_RESULTS_FOLDER) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The kernel that a case name stands for.
std::optional<Kernel> kernel_of(const std::string& name) {
  if (name.starts_with("bf16 TN ")) return gemm(gemm_config("sm_90a"));
  std::smatch m;
  if (!std::regex_match(name, m, std::regex("dense fwd D128 (full|causal) ([0-9]+)k( token-major)?"))) return {};
  return attention(attention_config("sm_90a", {.causal = m[1] == "causal"}, std::stoll(m[2]) * 1024));
}

std::string code_now(const Kernel& kernel) {
  auto module = kernel.module();
  if (!module) return to_string(module.error());
  auto lowered = lower(*module, *find_target("sm_90a"));
  if (!lowered) return to_string(lowered.error());
  auto emitted = nvidia::emit_cuda(*lowered);
  if (!emitted) return to_string(emitted.error());
  Resources resources;
  resources.threads = emitted->abi.threads;
  resources.shared_bytes = emitted->abi.shared_bytes;
  resources.workspace_words = emitted->abi.workspace_words;
  return code_hash(emitted->source, resources);
}

// A row whose code has changed since it was measured is stale: measure again, or name the case with a reason in
// bench/results/STALE (`case: reason`, one a line).
TEST(Results, AreOfTheCodeGeneratedToday) {
  const std::string stale = read("STALE");
  std::map<std::string, std::string> measured;
  const std::regex row("\"case\": \"([^\"]*)\".*\"code\": \"([^\"]*)\"");
  for (const char* file : {"gemm-h200.json", "attention-h200.json"}) {
    const std::string text = read(file);
    for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at) measured[(*at)[1]] = (*at)[2];
  }
  EXPECT_EQ(measured.size(), 5u + 16u) << "a case is missing";
  for (const auto& [name, code] : measured) {
    const auto kernel = kernel_of(name);
    ASSERT_TRUE(kernel.has_value()) << "no kernel is known for the case " << name;
    if (stale.find(name + ": ") != std::string::npos) {
      std::cout << "STALE " << name << "\n";
      continue;
    }
    EXPECT_EQ(code_now(*kernel), code) << "STALE: " << name << " was measured with other code";
  }
}

}  // namespace
}  // namespace tlxjit::bench

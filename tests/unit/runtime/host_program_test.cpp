// tests/unit/runtime/host_program_test.cpp — flattened host expressions give what `evaluate` gives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/host_program_p.h"

#include <gtest/gtest.h>

#include <random>

#include "src/passes/lower_p.h"
#include "tlxjit/ir/text.h"
#include "tlxjit/tlxjit.h"

namespace tlxjit::runtime_test {
namespace {

using runtime::HostProgram;

void compare(const Module& module, Value value, std::span<const int32_t> dims, std::span<const uint64_t> scalars,
             int64_t sms) {
  auto abi = make_abi(module);
  ASSERT_TRUE(abi.ok()) << to_string(abi.error());
  HostInputs inputs;
  inputs.dims.assign(dims.begin(), dims.end());
  for (uint64_t s : scalars) inputs.scalars.push_back(static_cast<int64_t>(s));
  inputs.sms = sms;
  const auto wanted = evaluate(module, value, inputs);
  HostProgram program;
  auto place = program.add(module, *abi, value);
  ASSERT_TRUE(place.ok()) << to_string(place.error());
  std::vector<HostProgram::Number> values(program.size());
  program.run(dims, scalars, sms, values);
  ASSERT_EQ(values[*place].ok, wanted.ok()) << (wanted ? "" : to_string(wanted.error()));
  if (wanted.ok()) {
    EXPECT_EQ(values[*place].value, *wanted);
  }
}

TEST(HostProgram, GridsOfTheKernels) {
  std::mt19937 random(7);
  const auto size = [&] { return static_cast<int32_t>(random() % 3 ? random() % 5000 : random() % 0x7fffffff); };
  std::vector<Kernel> kernels;
  kernels.push_back(gemm(gemm_config("sm_90a")));
  kernels.push_back(attention(attention_config("sm_90a", {.jagged = true})));
  kernels.push_back(attention(attention_config("sm_90a", {.causal = true})));
  for (const Kernel& kernel : kernels) {
    const auto module = kernel.module();
    ASSERT_TRUE(module.ok());
    const auto lowered = lower(*module, *find_target("sm_90a"));
    ASSERT_TRUE(lowered.ok()) << to_string(lowered.error());
    for (int i = 0; i < 200; ++i) {
      const int32_t dims[] = {size(), size(), size()};
      const uint64_t scalars[] = {0};
      compare(*lowered, make_abi(*lowered)->grid, dims, scalars, 132);
    }
  }
}

TEST(HostProgram, EveryOp) {
  const char* const ops[] = {"add", "sub", "mul", "div", "mod", "ceil_div", "min",
                             "max", "and", "or",  "xor", "shl", "shr"};
  const int32_t numbers[] = {0, 1, 2, 7, 31, -1, -8, INT32_MAX, INT32_MIN};
  for (const char* op : ops)
    for (int32_t a : numbers)
      for (int32_t b : numbers) {
        const std::string text = std::string(R"(tlx 1 lowered sm_90a
kernel "k" [threads = 128, shared_bytes = 0] {
  %0 = scalar [name = "a"] : i32
  %1 = scalar [name = "b"] : i32
  %2 = const [value = 0] : i32
  %3 = )") + op + R"( %0, %1 : i32
  %4 = cmp %1, %2 [pred = "eq"] : b1
  %5 = select %4, %0, %3 : i32
  grid %5
})";
        auto module = parse(text);
        ASSERT_TRUE(module.ok()) << to_string(module.error());
        const uint64_t scalars[] = {static_cast<uint64_t>(int64_t{a}), static_cast<uint64_t>(int64_t{b})};
        SCOPED_TRACE(std::string(op) + " " + std::to_string(a) + " " + std::to_string(b));
        compare(*module, make_abi(*module)->grid, {}, scalars, 1);
      }
}

}  // namespace
}  // namespace tlxjit::runtime_test

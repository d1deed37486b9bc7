// tests/unit/runtime/host_program_test.cpp — host expressions are exact, or have no value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/host_program_p.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "src/passes/lower_p.h"
#include "tests/support/text_module.h"
#include "tlxjit/tlxjit.h"

namespace tlxjit::runtime_test {
namespace {

using runtime::HostProgram;
using Wide = __int128;

/// The grid of a module: its value, or nothing where it has none.
std::optional<int64_t> grid(const Module& module, std::span<const int32_t> dims, std::span<const uint64_t> scalars = {},
                            int64_t sms = 132) {
  auto abi = make_abi(module);
  EXPECT_TRUE(abi.ok()) << to_string(abi.error());
  HostProgram program;
  auto place = program.add(module, *abi, abi->grid);
  EXPECT_TRUE(place.ok()) << to_string(place.error());
  if (!place) return {};
  std::vector<HostProgram::Number> values(program.size());
  program.run(dims, scalars, sms, values);
  return values[*place].ok() ? std::optional(values[*place].value) : std::nullopt;
}

std::optional<int64_t> as_i32(Wide x) {
  return x < INT32_MIN || x > INT32_MAX ? std::nullopt : std::optional(static_cast<int64_t>(x));
}

/// A module with dims M and N and this body.
Module with_dims(const std::string& body) {
  return lowered("%0 = dim [name = \"M\"] : i32\n%1 = dim [name = \"N\"] : i32\n" + body);
}

TEST(HostProgram, GridsOfTheKernels) {
  std::mt19937 random(7);
  const auto size = [&] { return static_cast<int32_t>(random() % 3 ? random() % 5000 : random() % 0x7fffffff); };
  const auto up = [](Wide a, Wide b) { return (a + b - 1) / b; };
  const auto lowered_grid = [](const Kernel& kernel, std::initializer_list<int32_t> dims) {
    const auto module = kernel.module();
    EXPECT_TRUE(module.ok());
    const auto low = lower(*module, *find_target("sm_90a"));
    EXPECT_TRUE(low.ok()) << to_string(low.error());
    const uint64_t scalars[] = {0};
    return grid(*low, std::vector(dims), scalars);
  };
  const GemmConfig g = gemm_config("sm_90a");
  const AttentionConfig a = attention_config("sm_90a", {.causal = true});
  const Kernel gemm_kernel = gemm(g), attention_kernel = attention(a);
  for (int i = 0; i < 100; ++i) {
    const int32_t x = size(), y = size(), z = size();
    SCOPED_TRACE(std::to_string(x) + " " + std::to_string(y) + " " + std::to_string(z));
    const auto programs = [](std::optional<int64_t> tiles) {
      return tiles ? std::optional(std::min<int64_t>(*tiles, 132)) : tiles;
    };
    EXPECT_EQ(lowered_grid(gemm_kernel, {x, y, z}), programs(as_i32(up(x, g.bm) * up(y, g.bn))));
    // Batches and heads are multiplied first.
    const auto heads = as_i32(Wide{x} * z);
    EXPECT_EQ(lowered_grid(attention_kernel, {x, y, z}), programs(heads ? as_i32(up(y, a.bq) * *heads) : heads));
  }
}

TEST(HostProgram, EveryOp) {
  using Exact = std::optional<Wide> (*)(Wide, Wide);
  const std::pair<const char*, Exact> ops[] = {
      {"add", [](Wide a, Wide b) { return std::optional(a + b); }},
      {"sub", [](Wide a, Wide b) { return std::optional(a - b); }},
      {"mul", [](Wide a, Wide b) { return std::optional(a * b); }},
      {"div", [](Wide a, Wide b) { return b ? std::optional(a / b) : std::nullopt; }},
      {"mod", [](Wide a, Wide b) { return b ? std::optional(a % b) : std::nullopt; }},
      {"floor_div",
       [](Wide a, Wide b) { return b ? std::optional(a / b - (a % b != 0 && (a < 0) != (b < 0))) : std::nullopt; }},
      {"floor_mod", [](Wide a, Wide b) { return b ? std::optional((a % b + b) % b) : std::nullopt; }},
      {"ceil_div", [](Wide a, Wide b) { return b ? std::optional(a / b + (a % b > 0)) : std::nullopt; }},
      {"min", [](Wide a, Wide b) { return std::optional(std::min(a, b)); }},
      {"max", [](Wide a, Wide b) { return std::optional(std::max(a, b)); }},
      {"and", [](Wide a, Wide b) { return std::optional(a & b); }},
      {"or", [](Wide a, Wide b) { return std::optional(a | b); }},
      {"xor", [](Wide a, Wide b) { return std::optional(a ^ b); }},
      {"shl", [](Wide a, Wide b) { return std::optional(a * (Wide{1} << (b & 31))); }},
      {"shr", [](Wide a, Wide b) { return std::optional(a >> (b & 31)); }},
  };
  const int32_t numbers[] = {0, 1, 2, 7, 31, -1, -8, INT32_MAX, INT32_MIN};
  for (const auto& [op, exact] : ops) {
    // Where %1 is 0 the other side of the select is not used: it may have no value.
    const Module module = lowered(std::string(R"(
  %0 = scalar [name = "a"] : i32
  %1 = scalar [name = "b"] : i32
  %2 = const [value = 0] : i32
  %3 = )") + op + R"( %0, %1 : i32
  %4 = cmp %1, %2 [pred = "eq"] : b1
  %5 = select %4, %0, %3 : i32
  grid %5
)");
    for (int32_t a : numbers)
      for (int32_t b : numbers) {
        SCOPED_TRACE(std::string(op) + " " + std::to_string(a) + " " + std::to_string(b));
        const uint64_t scalars[] = {static_cast<uint64_t>(int64_t{a}), static_cast<uint64_t>(int64_t{b})};
        const auto wide = b == 0 ? std::optional<Wide>(a) : exact(a, b);
        EXPECT_EQ(grid(module, {}, scalars), wide ? as_i32(*wide) : std::nullopt);
      }
  }
}

TEST(HostProgram, OpsOfBitsAndRealsAreRefusedByTheirLine) {
  for (const char* op : {"mulhi %0, %1 : i32", "popcount %0 : i32", "clz %0 : i32", "bitcast %0 : u32",
                         "cast %0 [saturate = 1] : i32"}) {
    SCOPED_TRACE(op);
    const Module module = with_dims("%2 = " + std::string(op) + " @\"user.cpp\" 7\ngrid %2\n");
    const auto abi = make_abi(module);
    ASSERT_TRUE(abi.ok());
    HostProgram program;
    const auto place = program.add(module, *abi, abi->grid);
    ASSERT_FALSE(place.ok());
    EXPECT_EQ(to_string(place.error().location), "user.cpp:7");
    EXPECT_THAT(
        place.error().message,
        ::testing::AnyOf(::testing::HasSubstr("has no value on the host, which needs it for an extent or the grid"),
                         ::testing::HasSubstr("cannot be part of an extent or the grid")));
  }
}

TEST(HostProgram, Arithmetic) {
  const auto value = [](const std::string& op, int32_t m, int32_t n) {
    return grid(with_dims("%2 = " + op + "\ngrid %2\n"), std::vector{m, n});
  };
  EXPECT_EQ(value("ceil_div %0, %1 : i32", 257, 128), 3);
  EXPECT_EQ(value("ceil_div %0, %1 : i32", 256, 128), 2);
  EXPECT_EQ(value("ceil_div %0, %1 : i32", 2147483647, 128), 16777216);
  EXPECT_EQ(value("neg %0 : i32", 5, 0), -5);
  EXPECT_EQ(value("neg %0 : i32", INT32_MIN, 0), std::nullopt);
  EXPECT_EQ(value("abs %0 : i32", -5, 0), 5);
  EXPECT_EQ(value("not %0 : i32", 5, 0), -6);
  EXPECT_EQ(value("cast %0 : u8", 255, 0), 255);
  EXPECT_EQ(value("cast %0 : u8", 256, 0), std::nullopt);
  EXPECT_EQ(value("cast %0 : b1", 256, 0), 1) << "not the low byte";
  EXPECT_EQ(value("sms : i32", 0, 0), 132);
  const std::pair<const char*, std::array<int, 3>> predicates[] = {
      {"eq", {0, 1, 0}}, {"ne", {1, 0, 1}}, {"lt", {1, 0, 0}}, {"le", {1, 1, 0}}, {"gt", {0, 0, 1}}, {"ge", {0, 1, 1}}};
  for (const auto& [pred, wanted] : predicates)
    for (int n : {0, 1, 2})
      EXPECT_EQ(value(std::string("cmp %0, %1 [pred = \"") + pred + "\"] : b1", 4 + n, 5), wanted[size_t(n)]) << pred;
}

TEST(HostProgram, IntermediateValuesFitTheirTypes) {
  EXPECT_EQ(grid(with_dims("%2 = mul %0, %1 : i32\n%3 = div %2, %1 : i32\ngrid %3\n"), std::vector{65536, 65536}),
            std::nullopt);
  EXPECT_EQ(grid(with_dims("%2 = cast %0 : i64\n%3 = mul %2, %2 : i64\n%4 = div %3, %2 : i64\n%5 = cast %4 : i32\n"
                           "grid %5\n"),
                 std::vector{65536, 0}),
            65536);
}

TEST(HostProgram, LongChainsAreRefused) {
  const auto chain = [](int ops) {
    std::string body;
    for (int i = 0; i < ops; ++i)
      body += "%" + std::to_string(i + 2) + " = add %" + std::to_string(i ? i + 1 : 0) + ", %1 : i32\n";
    return with_dims(body + "grid %" + std::to_string(ops + 1) + "\n");
  };
  EXPECT_EQ(grid(chain(254), std::vector{1, 2}), 509) << "with the two dims, all the steps that there are";
  for (int ops : {255, 200000}) {
    const Module module = chain(ops);
    HostProgram program;
    const auto abi = make_abi(module);
    const auto place = program.add(module, *abi, abi->grid);
    ASSERT_FALSE(place);
    EXPECT_THAT(place.error().message, ::testing::HasSubstr("more than 256 ops"));
  }
}

TEST(HostProgram, RefusesWhatOnlyDevicesKnowAtItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"const [value = 1.5] : f32", "const: is no integer, and cannot be part of an extent or the grid"},
      {"scalar [name = \"s\"] : f32", "scalar: is no integer, and cannot be part of an extent or the grid"},
  };
  for (const auto& [op, message] : cases) {
    const Module module = lowered("%0 = " + std::string(op) + " @\"u.cpp\" 9\n%1 = cast %0 : i32\ngrid %1\n");
    HostProgram program;
    const auto place = program.add(module, *make_abi(module), module.body.ops[1]->result());
    ASSERT_FALSE(place);
    EXPECT_EQ(place.error().message, message);
    EXPECT_EQ(to_string(place.error().location), "u.cpp:9");
  }
}

}  // namespace
}  // namespace tlxjit::runtime_test

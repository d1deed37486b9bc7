// tests/unit/runtime/without_nvrtc_test.cpp — a service without NVRTC, with a bundle that was made elsewhere.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "tests/unit/nvidia/nvrtc_fixture.h"
#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/shipped.h"
#include "tests/unit/runtime/temporary_directory.h"
#include "tlxjit/tlxjit.h"

namespace {
bool hidden = false;
}  // namespace

/// The loader, which finds no NVRTC while it is hidden: a machine may have one outside of the folders that are named.
extern "C" void* dlopen(const char* file, int mode) noexcept {
  static const auto loader = reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"));
  return loader(hidden && file && std::strstr(file, "libnvrtc") ? "/nonexistent/libnvrtc.so" : file, mode);
}

namespace tlxjit::runtime_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Kernels of equal results; each number's is another.
Kernel product(int number) {
  GemmConfig config = gemm_config("sm_90a");
  config.group = number;
  return gemm(config);
}

EngineOptions bare() {
  EngineOptions o;
  o.read_environment = false;
  return o;
}

struct WithoutNvrtc : ::testing::Test {
  TemporaryDirectory place;

  void SetUp() override {
    // Children find NVRTC and load it; this process never does.
    if (nvidia::promised_nvrtc().empty()) GTEST_SKIP() << "NOT RUN: no TLXJIT_NVRTC_DIR";
    ASSERT_TRUE(in_child([&] {
      EngineOptions o = bare();
      o.nvrtc_directories = {nvidia::promised_nvrtc()};
      o.cache_directory = place / "cache";
      const Engine engine(o);
      auto exe = engine.compile(product(3), *engine.device("sm_90a"));
      if (!exe) std::fprintf(stderr, "%s\n", to_string(exe.error()).c_str());
      return exe.ok();
    }));
    hidden = true;
    keys = ship(place / "cache", place / "bundle");
    ASSERT_EQ(keys.size(), 1u);
  }
  void TearDown() override { hidden = false; }
  EngineOptions nowhere() const {
    EngineOptions o = bare();
    o.nvrtc_directories = {place.path()};
    o.cache_directory = place / "another cache";
    return o;
  }
  std::vector<std::string> keys;
};

TEST_F(WithoutNvrtc, ABundlesKernelsAreLoadedAndAMissNamesTheKey) {
  EngineOptions o = nowhere();
  {
    const Engine engine(o);
    auto device = engine.device(TLXJIT_TEST_DEVICE);
    if (!device) GTEST_SKIP() << "NOT RUN: " << to_string(device.error());
    auto exe = engine.compile(product(3), *device);
    ASSERT_FALSE(exe.ok());
    EXPECT_EQ(exe.error().code, ErrorCode::library_missing);
    EXPECT_EQ(exe.error().key, keys[0]) << "the one that the bundle has";
    EXPECT_THAT(exe.error().message, HasSubstr("there is no compiler, and no bundle has the key " + keys[0]));
    EXPECT_THAT(exe.error().message, HasSubstr("TLXJIT_NVRTC_DIR"));
  }
  o.cache_bundles = {place / "bundle"};
  const Engine engine(o);
  const Device device = *engine.device(TLXJIT_TEST_DEVICE);
  auto exe = engine.compile(product(3), device);
  ASSERT_TRUE(exe.ok()) << to_string(exe.error());
  EXPECT_EQ(engine.counters().compiles, 0u);
  EXPECT_EQ(engine.counters().disk.bundle_hits, 1u);
  EXPECT_GT(exe->binary().size(), 500u);
  auto missing = engine.compile(product(4), device);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::library_missing);
  EXPECT_NE(missing.error().key, keys[0]);
  EXPECT_EQ(missing.error().key.size(), 32u);
  if (!device.can_launch()) return;
  constexpr int64_t n = 128;
  const std::vector<bf16> ones(n * n, bf16(1.f));
  std::vector<bf16> sums(n * n);
  auto a = device.upload(ones), b = device.upload(ones), d = device.upload(sums);
  ASSERT_TRUE(a.ok() && b.ok() && d.ok());
  auto done = exe->launch({a->tensor<bf16>({n, n}), b->tensor<bf16>({n, n}), d->tensor<bf16>({n, n})});
  ASSERT_TRUE(done.ok()) << to_string(done.error());
  done = d->download(sums);
  ASSERT_TRUE(done.ok()) << to_string(done.error());
  for (const bf16 sum : sums) ASSERT_EQ(sum.bits, 0x4300) << "128";
}

#ifdef TLXJIT_QUIET_LIBCUDA
TEST_F(WithoutNvrtc, AVersionThatIsMissingIsToldOnceWhileTheGenericOneServes) {
  EngineOptions o = nowhere();
  o.cache_bundles = {place / "bundle"};
  o.libcuda = TLXJIT_QUIET_LIBCUDA;
  const auto told = std::make_shared<std::vector<std::string>>();
  o.log = [told](std::string_view text) { told->emplace_back(text); };
  const Engine engine(o);
  const Device device = *engine.device("cuda:0");
  const JitFunction f{engine, device, "product", [](const Signature&, const Config&) { return product(3); }, {}};
  constexpr int64_t n = 128;
  auto x = device.allocate(n * n * sizeof(bf16));
  ASSERT_TRUE(x.ok()) << to_string(x.error());
  const TensorArg arg = x->tensor<bf16>({n, n});
  for (int call = 0; call < 5; ++call) {
    const auto done = f.launch({arg, arg, arg});
    ASSERT_TRUE(done.ok()) << to_string(done.error());
    f.wait();
  }
  EXPECT_THAT(*told,
              ElementsAre(AllOf(HasSubstr("`product`: the key {"), HasSubstr("is served by a less special version: "),
                                HasSubstr("there is no compiler, and no bundle has the key "))));
  EXPECT_EQ(f.counters().failures, 1u);
  EXPECT_EQ(engine.counters().compiles, 1u) << "the missing version's, which is not tried again";
  EXPECT_EQ(engine.counters().disk.bundle_hits, 1u);
}
#endif

#ifdef TLXJIT_TEST_PLUGIN
// Nor is it needed where nobody asks for a GPU.
TEST_F(WithoutNvrtc, BL_239_TheCpuCompilesAndRuns) {
  EngineOptions o = nowhere();
  o.cpu_plugin = TLXJIT_TEST_PLUGIN;
  const Engine engine(o);
  ASSERT_FALSE(engine.compile(product(3), *engine.device("sm_90a"))) << "there is one after all";
  auto best = engine.best_device();
  ASSERT_TRUE(best.ok()) << to_string(best.error());
  auto cpu = engine.device("cpu");
  ASSERT_TRUE(cpu.ok()) << to_string(cpu.error());
  auto exe = engine.compile(gemm(gemm_config("cpu")), *cpu);
  ASSERT_TRUE(exe.ok()) << to_string(exe.error());
  constexpr int64_t n = 16;
  const std::vector<bf16> ones(n * n, bf16(1.f));
  std::vector<bf16> sums(n * n);
  const auto done = exe->launch(
      {tensor<bf16>(ones.data(), {n, n}), tensor<bf16>(ones.data(), {n, n}), tensor<bf16>(sums.data(), {n, n})});
  ASSERT_TRUE(done.ok()) << to_string(done.error());
  for (const bf16 sum : sums) ASSERT_EQ(float(sum), float(n));
}
#endif

}  // namespace
}  // namespace tlxjit::runtime_test

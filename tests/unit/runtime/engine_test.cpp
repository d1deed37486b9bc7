// tests/unit/runtime/engine_test.cpp — devices, plug-ins that do not fit, compiles that are refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sched.h>

#include <functional>

#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/engine_fixture.h"

namespace tlxjit::runtime_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(EngineTest, TheCpuIsADevice) {
  EXPECT_EQ(device.name(), "cpu");
  EXPECT_EQ(device.target(), "cpu");
  EXPECT_EQ(device.sms(), 2);
  EXPECT_TRUE(device.can_launch());
  EXPECT_THAT(device.description(), HasSubstr("2 threads"));
  const auto devices = engine.devices();
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices.back().name(), "cpu");
  EXPECT_TRUE(engine.best_device().ok());
}

TEST(Engine, BL_234_ItsThreadsAreThoseOfItsAffinityOrFewer) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  // In children, whose affinity and environment are their own.
  const auto threads = [&](int cpus, const char* wanted) {
    return in_child([&] {
      cpu_set_t some;
      CPU_ZERO(&some);
      for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&some) < cpus; ++cpu)
        if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &some);
      if (sched_setaffinity(0, sizeof some, &some) != 0) return false;
      if (wanted)
        setenv("TLXJIT_CPU_THREADS", wanted, 1);
      else
        unsetenv("TLXJIT_CPU_THREADS");
      EngineOptions o = options(0);
      o.read_environment = true;
      const Engine engine(o);
      const auto device = engine.device("cpu");
      if (!device) return false;
      return wanted ? device->sms() == std::atoi(wanted) : device->sms() >= 1 && device->sms() <= CPU_COUNT(&some);
    });
  };
  EXPECT_TRUE(threads(1, nullptr));
  EXPECT_TRUE(threads(CPU_COUNT(&all), nullptr));
  EXPECT_TRUE(threads(CPU_COUNT(&all), "1")) << "the variable lowers it";
}

TEST_F(EngineTest, UnknownDevices) {
  for (const char* name : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:00", "cuda:+0", ""}) {
    auto none = engine.device(name);
    ASSERT_FALSE(none) << name;
    EXPECT_EQ(none.error().message, std::string("there is no device '") + name +
                                        "'; names are cuda:0, cuda:1, … (sm_90a to compile only), cpu");
  }
}

TEST(Engine, ThatWasMovedFromSaysSo) {
  Engine engine(options());
  const Device device = *engine.device("cpu");
  const Engine other = std::move(engine);
  EXPECT_TRUE(other.device("cpu").ok());
  // NOLINTBEGIN(bugprone-use-after-move)
  EXPECT_TRUE(engine.devices().empty());
  EXPECT_EQ(engine.counters().compiles, 0u);
  for (const Error& error : {engine.device("cpu").error(), engine.best_device().error(),
                             engine.compile(gemm(gemm_config("cpu")), device).error()})
    EXPECT_EQ(error.message, "the engine is empty: there was no memory to make it, or it was moved from");
  // NOLINTEND(bugprone-use-after-move)
}

TEST(Engine, ALogThatThrowsLosesItsLine) {
  EngineOptions o = options();
  o.cpu_plugin = "/nonexistent/libtlxjit_cpu.so";
  int lines = 0;
  o.log = [&](std::string_view) {
    ++lines;
    throw 1;
  };
  const Engine engine(o);
  EXPECT_TRUE(engine.devices().empty());
  EXPECT_GE(lines, 1);
}

TEST(Engine, SaysWhyThereIsNoPlugin) {
  EngineOptions o = options();
  o.cpu_plugin = "/nonexistent/libtlxjit_cpu.so";
  std::vector<std::string> log;
  o.log = [&](std::string_view text) { log.emplace_back(text); };
  const Engine engine(o);
  auto none = engine.device("cpu");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::environment);
  EXPECT_EQ(none.error().code, ErrorCode::library_missing);
  EXPECT_EQ(
      none.error().message,
      "the CPU plug-in cannot be loaded: /nonexistent/libtlxjit_cpu.so: cannot open shared object file: No such file "
      "or directory");
  engine.devices();
  EXPECT_THAT(log, ::testing::Contains(HasSubstr("/nonexistent/libtlxjit_cpu.so")));
}

TEST(Engine, RefusesAForeignPlugin) {
  EngineOptions o = options();
  o.cpu_plugin = TLXJIT_STALE_PLUGIN;
  auto stale = Engine(o).device("cpu");
  ASSERT_FALSE(stale);
  EXPECT_THAT(stale.error().message,
              HasSubstr("was built from other sources than this library; install both from one build"));
  EXPECT_THAT(stale.error().log, HasSubstr("sources of the plug-in: other"));
  o.cpu_plugin = TLXJIT_FOREIGN_LIBRARY;
  auto foreign = Engine(o).device("cpu");
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("is no CPU plug-in of tlxjit: it has no symbol tlxjit_backend_v1"));
}

TEST(Engine, BL_241_TheMessageNamesTheSymbolThatAPluginLacks) {
  EngineOptions o = options();
  o.cpu_plugin = TLXJIT_NEEDY_PLUGIN;
  auto needy = Engine(o).device("cpu");
  ASSERT_FALSE(needy);
  EXPECT_EQ(needy.error().code, ErrorCode::library_missing);
  EXPECT_EQ(needy.error().message,
            "the CPU plug-in cannot be loaded: " TLXJIT_NEEDY_PLUGIN ": undefined symbol: a_symbol_that_nothing_has");
}

TEST_F(EngineTest, BL_239_TheCpuWorksWithoutDriverAndNvrtc) {
  EngineOptions o = options();
  o.libcuda = "/nonexistent/libcuda.so.1";
  std::vector<std::string> log;
  o.log = [&](std::string_view text) { log.emplace_back(text); };
  const Engine without(o);
  ASSERT_FALSE(without.devices().empty());
  EXPECT_EQ(without.devices().back().name(), "cpu");
  EXPECT_THAT(log, ::testing::Contains(HasSubstr("/nonexistent/libcuda.so.1")));
  EXPECT_TRUE(without.compile(gemm(gemm_config("cpu")), *without.device("cpu")).ok());
}

TEST_F(EngineTest, AllFaultsOfAKernelAreListed) {
  Kernel k{"bad"};
  Index n = k.dim("N");
  Tensor out = k.tensor<float>("out", {n});
  k.task("main").body([&](Task& t) {
    out.store({0}, t.full<float>({8}, 1.f) + t.full<float>({16}, 1.f));
    out.store({0}, t.full<int32_t>({8}, 1));
  });
  auto exe = engine.compile(k, device);
  ASSERT_FALSE(exe);
  EXPECT_EQ(exe.error().kind, ErrorKind::user);
  EXPECT_THAT(exe.error().location.file, HasSubstr("engine_test.cpp"));
  const std::string all = to_string(exe.error());
  EXPECT_THAT(all, HasSubstr("add: the operands differ"));
  EXPECT_THAT(exe.error().log, HasSubstr("store: ")) << all;
  EXPECT_EQ(all.find("add: the operands differ"), all.rfind("add: the operands differ")) << "told twice:\n" << all;
}

/// A kernel whose regions nest so deep, the innermost in the tiles of a schedule, and its line.
Kernel nested(int depth, uint32_t& line) {
  Kernel k{"nested"};
  const Index n = k.dim("N");
  const Tensor out = k.tensor<float>("out", {n});
  const auto tiles = k.persistent(ceil_div(n, 64), 1);
  k.task("main").body([&](Task& t) {
    tiles.each([&](Index i, Index) {
      const std::function<void(int)> open = [&](int left) {
        if (left == 0) return out.store({i * 64}, maximum(t.full<float>({64, 8}, 1.f), 1));
        line = __LINE__ + 1;
        k.when(n > left, [&] { open(left - 1); });
      };
      open(depth - 2);
    });
  });
  return k;
}

TEST_F(EngineTest, RegionsNestToTheLimitAndNoDeeper) {
  uint32_t line = 0;
  for (const char* as : {"cpu", "sm_90a"}) {
    std::vector<float> out(128, -1.f);
    TLXJIT_MUST(compile(nested(max_nesting, line), as).launch({tensor<float>(out.data(), {128})}));
    EXPECT_THAT(out, ::testing::Each(1.f)) << as;
    CompileOptions o;
    o.as = as;
    EXPECT_EQ(nested(1000, line).verify().size(), 1u) << "of all that are too deep the outermost";
    const auto refused = engine.compile(nested(max_nesting + 1, line), device, o);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::user);
    EXPECT_EQ(refused.error().stage, Stage::verify);
    EXPECT_EQ(refused.error().message, "if: regions nest at most 64 deep, that of the task included");
    EXPECT_EQ(refused.error().location.line, line);
  }
}

TEST_F(EngineTest, TargetsOfACompile) {
  CompileOptions o;
  o.as = "sm_1";
  auto none = engine.compile(gemm(gemm_config("cpu")), device, o);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "cpu cannot run code for 'sm_1'; CompileOptions::as is for the CPU");
  o.as = "sm_90a";
  auto exe = engine.compile(gemm(gemm_config("sm_90a")), device, o);
  TLXJIT_MUST(exe);
  EXPECT_EQ(exe->target(), "sm_90a");
  EXPECT_EQ(exe->device().name(), "cpu");
  EXPECT_THAT(exe->lowered_text(), StartsWith("tlx 1 lowered sm_90a\n"));
  EXPECT_TRUE(exe->source().empty());
  EXPECT_GT(exe->times().compile, 0);
  EXPECT_GT(exe->resources().shared_bytes, 0);
  // A lowered module compiles for its own target and for no other.
  auto module = parse(exe->lowered_text());
  TLXJIT_MUST(module);
  EXPECT_TRUE(engine.compile(*module, device, o).ok());
  auto other = engine.compile(*module, device);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "the module is lowered for sm_90a, and is compiled for cpu");
}

TEST_F(EngineTest, Buffers) {
  const Buffer buffer = *device.allocate(8);
  EXPECT_EQ(buffer.size(), 8u);
  TLXJIT_MUST(buffer.fill(0x5a));
  std::vector<uint8_t> bytes(8);
  TLXJIT_MUST(buffer.download(bytes));
  EXPECT_THAT(bytes, ::testing::Each(0x5a));
  const uint16_t word = 1;
  EXPECT_EQ(message(buffer.upload(&word, 2, 7)), "a copy of 2 bytes at 7 does not fit a buffer of 8 bytes");
  for (const auto& [size, offset] : {std::pair<size_t, size_t>{9, 0}, {SIZE_MAX, 0}, {0, 9}, {8, SIZE_MAX - 7}}) {
    const std::string what = "a copy of " + std::to_string(size) + " bytes at " + std::to_string(offset) +
                             " does not fit a buffer of 8 bytes";
    EXPECT_EQ(message(buffer.upload(&word, size, offset)), what);
    EXPECT_EQ(message(buffer.download(bytes.data(), size, offset)), what);
  }
  const auto none = buffer.upload(nullptr, 8);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::user);
  EXPECT_EQ(none.error().code, ErrorCode::bad_argument);
  EXPECT_EQ(none.error().message, "a copy of 8 bytes from or to a null pointer of the host");
  EXPECT_EQ(message(buffer.download(nullptr, 1, 7)), "a copy of 1 bytes from or to a null pointer of the host");
  TLXJIT_MUST(buffer.upload(nullptr, 0, 8));
  TLXJIT_MUST(buffer.download(nullptr, 0));
  TLXJIT_MUST(buffer.download(bytes));
  EXPECT_THAT(bytes, ::testing::Each(0x5a)) << "what is refused changes nothing";
  EXPECT_EQ(message(Buffer().upload(&word, 2)), "a copy of 2 bytes at 0 does not fit a buffer of 0 bytes");
  TLXJIT_MUST(Buffer().fill(1));
  EXPECT_TRUE(device.allocate(0).ok());
  EXPECT_TRUE(device.stream().ok());
  for (size_t bytes : {size_t{1} << 60, SIZE_MAX - 100, SIZE_MAX}) {
    auto huge = device.allocate(bytes);
    ASSERT_FALSE(huge);
    EXPECT_EQ(huge.error().code, ErrorCode::out_of_resources);
  }
}

}  // namespace
}  // namespace tlxjit::runtime_test

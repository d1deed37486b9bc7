// tests/unit/nvidia/capture_test.cpp — functions that are called while a stream is captured.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include <optional>
#include <thread>

#include "backends/nvidia/launch_p.h"
#include "tlxjit/tlxjit.h"

namespace tlxjit::nvidia {
namespace {

using testing::HasSubstr;

/// d = a · bᵀ of ones, so that every element is K.
class CaptureTest : public testing::Test {
 protected:
  static constexpr int64_t m = 128, n = 64, k = 96;

  void SetUp() override {
    auto found = engine.device("cuda:0");
    if (!found) GTEST_SKIP() << "NOT RUN: " << to_string(found.error());
    device = *found;
    driver = *Driver::load();
    context = *Context::open(driver);
    if (!driver->cuStreamBeginCapture || !driver->cuGraphInstantiateWithFlags)
      GTEST_SKIP() << "NOT RUN: the driver has no graphs";
    stream = *device.stream();
    a = *device.upload(std::vector<bf16>(m * k, bf16(1.f)));
    b = *device.upload(std::vector<bf16>(n * k, bf16(1.f)));
    d = *device.allocate(m * n * 2);
  }
  JitFunction function(Tier tier) {
    JitOptions options;
    options.numbers = {{"K", Policy::exact()}};
    options.tier = tier;
    return {engine, device, "gemm", [](const Signature& s, const Config&) { return gemm(gemm_config(s.target)); },
            options};
  }
  std::vector<Argument> arguments() { return {a.tensor<bf16>({m, k}), b.tensor<bf16>({n, k}), d.tensor<bf16>({m, n})}; }
  void expect_product() {
    std::vector<bf16> result(m * n, bf16(-1.f));
    ASSERT_TRUE(d.download(result).ok());
    for (const bf16& x : result) ASSERT_EQ(float(x), float(k));
  }
  CuStream handle() const { return static_cast<CuStream>(stream.handle()); }
  void begin() {
    const CurrentContext current(*context);
    ASSERT_EQ(driver->cuStreamBeginCapture(handle(), cu_capture_mode_global), cu_success);
  }
  /// The captured graph; null where the capture was spoilt.
  CuGraph end() {
    const CurrentContext current(*context);
    CuGraph graph = nullptr;
    return driver->cuStreamEndCapture(handle(), &graph) == cu_success ? graph : nullptr;
  }
  /// Runs it twice, after `between`, and destroys it; whether that went well.
  bool replay(CuGraph graph, const std::function<void()>& between = [] {}) {
    if (!graph) return false;
    const CurrentContext current(*context);
    CuGraphExec exec = nullptr;
    bool good = driver->cuGraphInstantiateWithFlags(&exec, graph, 0) == cu_success;
    between();
    for (int i = 0; i < 2 && good; ++i) good = driver->cuGraphLaunch(exec, handle()) == cu_success;
    good = good && device.synchronize(stream).ok();
    if (exec) driver->cuGraphExecDestroy(exec);
    driver->cuGraphDestroy(graph);
    return good;
  }
  bool end_and_replay(const std::function<void()>& between = [] {}) { return replay(end(), between); }

  std::string told;  // by the log
  Engine engine{[this] {
    EngineOptions options;
    options.loaded_modules = 2;
    options.log = [this](std::string_view text) { told.append(text) += '\n'; };
    return options;
  }()};
  Device device;
  std::shared_ptr<Driver> driver;
  std::shared_ptr<Context> context;
  tlxjit::Stream stream;
  Buffer a, b, d;
};

TEST_F(CaptureTest, BL_226_AMissIsAnErrorAndTheCaptureStaysValid) {
  for (const Tier tier : {Tier::wait, Tier::background}) {
    const JitFunction f = function(tier);
    begin();
    const auto refused = f.launch(stream, arguments());
    EXPECT_FALSE(refused.ok());
    if (!refused) {
      EXPECT_EQ(refused.error().code, ErrorCode::capturing);
      EXPECT_THAT(refused.error().key, HasSubstr("\"function\":\"gemm\""));
    }
    EXPECT_EQ(f.counters().compiles, 0u);
    EXPECT_TRUE(end_and_replay());
  }
}

TEST_F(CaptureTest, WhatIsLoadedIsCapturedAndReplayed) {
  const JitFunction f = function(Tier::background);
  ASSERT_TRUE(f.prepare(arguments()).ok());
  ASSERT_TRUE(d.fill(0xff).ok());
  begin();
  const auto done = f.launch(stream, arguments());
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : to_string(done.error()));
  EXPECT_TRUE(end_and_replay());
  expect_product();
}

TEST_F(CaptureTest, ASealedFunctionRunsNoStandInIntoACapture) {
  const JitFunction f = function(Tier::sealed);
  ASSERT_TRUE(f.prepare(arguments()).ok());
  begin();
  const auto refused = f.launch(stream, arguments());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::not_compiled);
  EXPECT_TRUE(end_and_replay());
}

TEST_F(CaptureTest, VersionsAreLoadedBesideACapture) {
  const JitFunction f = function(Tier::background);
  ASSERT_TRUE(f.prepare(arguments()).ok());
  ASSERT_TRUE(f.launch(stream, arguments()).ok());  // puts its own version into the queue
  begin();
  f.wait();  // loaded by another thread, while this one captures
  EXPECT_EQ(f.counters().versions, 1u) << told;
  const auto done = f.launch(stream, arguments());
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : to_string(done.error()));
  EXPECT_TRUE(end_and_replay());
  expect_product();
}

TEST_F(CaptureTest, WhatWasCapturedStaysLoadedWhenTheEngineIsFull) {
  const JitFunction f = function(Tier::wait);
  ASSERT_TRUE(f.launch(stream, arguments()).ok());
  begin();
  const auto done = f.launch(stream, arguments());
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : to_string(done.error()));
  EXPECT_TRUE(end_and_replay([&] {
    for (int value = 0; value < 5; ++value) {
      Kernel other{"other"};
      const Tensor out = other.tensor<float>("out", {other.dim("N")});
      other.grid(1);
      other.task("main").body(
          [&](Task& t) { out.store({0}, maximum(t.full<float>({64, 8}, static_cast<float>(value)), 1)); });
      const auto compiled = engine.compile(other, device);
      EXPECT_TRUE(compiled.ok()) << (compiled.ok() ? "" : to_string(compiled.error()));
    }
    EXPECT_TRUE(d.fill(0xff).ok());
  }));
  EXPECT_GE(engine.counters().module_evictions, 3u);
  EXPECT_EQ(f.counters().versions, 1u);
  expect_product();
}

/// out = x · xᵀ of each tile x of in; tiles are drawn from a counter: a kernel with a workspace.
Kernel drawn() {
  constexpr int64_t b = 64;
  Kernel k{"drawn"};
  const Index rows = k.dim("M"), columns = k.dim("N");
  const Tensor in = k.tensor<bf16>("in", {rows, columns}), out = k.tensor<float>("out", {rows, columns});
  auto ring = k.ring(2).slot<bf16>("x", {b, b});
  const Index across = ceil_div(columns, b);
  auto tiles =
      k.dynamic(ceil_div(rows, b) * across, [&](Index t) -> TileAt { return {t >= 0, {t / across, t % across}}; });
  k.task("load").warps(1).body(
      [&] { tiles.each([&](Index i, Index j) { ring.acquire().load("x", in, {i * b, j * b}); }); });
  k.task("multiply").warps(4).body([&](Task& t) {
    tiles.each([&](Index i, Index j) {
      auto sum = t.accumulator<float>({b, b});
      auto slot = ring.wait();
      sum.dot(slot["x"], slot["x"].t());
      out.store({i * b, j * b}, sum.read());
    });
  });
  return k;
}

/// Arguments of `drawn`, and what they must have become: each tile is a multiple of the identity.
struct Squares {
  static constexpr int64_t rows = 1024, columns = 1024, tile = 64;
  Buffer in, out;
  explicit Squares(const Device& device) {
    std::vector<bf16> x(rows * columns);
    for (size_t i = 0; i < x.size(); ++i) x[i] = bf16(element(i));
    in = *device.upload(x);
    out = *device.allocate(x.size() * sizeof(float));
  }
  std::vector<Argument> arguments() const {
    return {in.tensor<bf16>({rows, columns}), out.tensor<float>({rows, columns})};
  }
  bool right() const {
    std::vector<float> result(rows * columns, -1.f);
    if (!out.download(result).ok()) return false;
    for (size_t i = 0; i < result.size(); ++i)
      if (result[i] != element(i) * element(i)) return false;
    return true;
  }
  static float element(size_t i) {
    const size_t row = i / columns, column = i % columns;
    if (row % tile != column % tile) return 0.f;
    return static_cast<float>(1 + (row / tile * (columns / tile) + column / tile) % 15);
  }
};

class GraphTest : public CaptureTest {
 protected:
  /// Nothing but the caller keeps its executables.
  EngineOptions keeps_nothing() {
    EngineOptions options;
    options.kept_kernels = 0;
    return options;
  }
};

TEST_F(GraphTest, OutlivesTheExecutableItWasCapturedOf) {
  const Engine own(keeps_nothing());
  const Device here = *own.device("cuda:0");
  const Squares work(here);
  CuGraph graph = nullptr;
  {
    auto exe = own.compile(drawn(), here);
    ASSERT_TRUE(exe.ok()) << to_string(exe.error());
    ASSERT_GT(exe->resources().workspace_words, 0);
    ASSERT_TRUE(exe->launch(stream, work.arguments()).ok());
    ASSERT_TRUE(here.synchronize(stream).ok());
    begin();
    EXPECT_TRUE(exe->launch(stream, work.arguments()).ok());
    graph = end();
  }
  // What was freed would be had again by these.
  std::vector<Buffer> rubbish;
  for (int i = 0; i < 64; ++i) {
    rubbish.push_back(*here.allocate(512));
    ASSERT_TRUE(rubbish.back().fill(0xff).ok());
  }
  auto other = own.compile(gemm(gemm_config("sm_90a")), here);
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(work.out.fill(0xff).ok());
  EXPECT_TRUE(replay(graph));
  EXPECT_TRUE(work.right());
}

TEST_F(GraphTest, OutlivesTheFunctionItWasCapturedOf) {
  const Engine own(keeps_nothing());
  const Device here = *own.device("cuda:0");
  const Squares work(here);
  CuGraph graph = nullptr;
  {
    const JitFunction f(
        own, here, "drawn", [](const Signature&, const Config&) { return drawn(); }, JitOptions{.tier = Tier::wait});
    ASSERT_TRUE(f.launch(stream, work.arguments()).ok());
    ASSERT_TRUE(here.synchronize(stream).ok());
    begin();
    EXPECT_TRUE(f.launch(stream, work.arguments()).ok());
    graph = end();
  }
  ASSERT_TRUE(work.out.fill(0xff).ok());
  EXPECT_TRUE(replay(graph));
  EXPECT_TRUE(work.right());
}

TEST_F(GraphTest, BL_226_OtherThreadsAllocateAndFreeBesideItsCapture) {
  const JitFunction f = function(Tier::wait);
  ASSERT_TRUE(f.launch(stream, arguments()).ok());
  ASSERT_TRUE(device.synchronize(stream).ok());
  CompileOptions alone;
  alone.reuse = false;
  auto compiled = engine.compile(drawn(), device, alone);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  std::optional<Executable> exe = *std::move(compiled);
  std::optional<Squares> work(device);
  begin();
  std::string failed;
  std::thread([&] {
    const auto expect = [&](const char* what, const Result<void>& result) {
      if (!result) failed += std::string(what) + ": " + to_string(result.error()) + "\n";
    };
    auto other = device.stream();
    if (!other) return expect("stream", other.error());
    expect("a launch on a new stream, which has no workspace yet", exe->launch(*other, work->arguments()));
    expect("synchronize", device.synchronize(*other));
    exe.reset();
    auto room = device.allocate(1 << 20);
    if (!room) return expect("allocate", room.error());
    work->in = Buffer();
  }).join();
  EXPECT_EQ(failed, "");
  const auto done = f.launch(stream, arguments());
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : to_string(done.error()));
  EXPECT_TRUE(end_and_replay()) << "the capture was spoilt";
  expect_product();
  EXPECT_TRUE(work->right());
}

// PTX: the machine need not have NVRTC, and a kernel of the library takes none of these.
constexpr char add_ptx[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 p) {
  .reg .u32 r<2>; .reg .u64 a<2>;
  griddepcontrol.wait;
  ld.param.u64 a0, [p]; mov.u32 r0, 1;
  red.global.add.u32 [a0], r0;
  ret;
}
)";

TEST_F(CaptureTest, BL_229_EveryLaunchAttributeInACapture) {
  const auto module = Module::load(context, {add_ptx, sizeof add_ptx});
  ASSERT_TRUE(module) << to_string(module.error());
  const auto function = (*module)->function("add", 0);
  ASSERT_TRUE(function) << to_string(function.error());
  const Buffer sum = *device.allocate(4);
  for (const unsigned cluster : {1u, 2u})
    for (const bool cooperative : {false, true})
      for (const bool overlap : {false, true}) {
        SCOPED_TRACE("cluster " + std::to_string(cluster) + (cooperative ? " cooperative" : "") +
                     (overlap ? " overlap" : ""));
        LaunchShape shape;
        shape.grid = {4, 1, 1};
        shape.cluster = {cluster, 1, 1};
        shape.cooperative = cooperative;
        shape.overlap_previous = overlap;
        ParamBuffer params;
        params.push(reinterpret_cast<uint64_t>(sum.data()));
        ASSERT_TRUE(sum.fill(0).ok());
        begin();
        for (int i = 0; i < 2; ++i) {
          const auto done = launch(*function, shape, handle(), params);
          EXPECT_TRUE(done.ok()) << (done.ok() ? "" : to_string(done.error()));
        }
        EXPECT_TRUE(end_and_replay());
        std::vector<uint32_t> count(1);
        ASSERT_TRUE(sum.download(count).ok());
        EXPECT_EQ(count[0], 2 * 2 * 4u);
      }
}

// What one thread has put on its stream may run on when the thread has ended and the next has its addresses.
TEST_F(CaptureTest, StreamsOfThreadsShareNoWorkspace) {
  const tlxjit::Stream per_thread(reinterpret_cast<void*>(2));
  auto exe = engine.compile(drawn(), device);
  ASSERT_TRUE(exe.ok()) << to_string(exe.error());
  std::vector<Squares> works;
  for (int i = 0; i < 100; ++i) {
    works.emplace_back(device);
    ASSERT_TRUE(works.back().out.fill(0xff).ok());
  }
  for (const Squares& work : works)
    std::thread([&] { EXPECT_TRUE(exe->launch(per_thread, work.arguments()).ok()); }).join();
  ASSERT_TRUE(device.synchronize().ok());
  for (const Squares& work : works) EXPECT_TRUE(work.right());
}

}  // namespace
}  // namespace tlxjit::nvidia

// tests/unit/nvidia/device_test.cpp — memory, modules, launches and TMA on a real device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "backends/nvidia/launch_p.h"

using namespace tlxjit;
using namespace tlxjit::nvidia;

namespace {

// PTX, which the driver compiles itself: the test machine need not have NVRTC.
constexpr char scale_ptx[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 p, .param .f32 f, .param .u32 n) {
  .reg .pred q; .reg .u32 r<4>; .reg .u64 a<3>; .reg .f32 x<2>;
  mov.u32 r0, %ctaid.x; mov.u32 r1, %ntid.x; mov.u32 r2, %tid.x; mad.lo.u32 r3, r0, r1, r2;
  ld.param.u32 r0, [n]; setp.ge.u32 q, r3, r0; @q ret;
  ld.param.u64 a0, [p]; mul.wide.u32 a1, r3, 4; add.u64 a2, a0, a1;
  ld.param.f32 x0, [f]; ld.global.f32 x1, [a2]; mul.f32 x1, x1, x0; st.global.f32 [a2], x1;
  ret;
}
)";

// Copies one box of a tensor to `out` by TMA: 32 columns and 8 rows of f32 at (x, y), no swizzle.
constexpr char box_ptx[] = R"(.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 128 .b8 smem[];
.visible .entry box(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 x, .param .u32 y) {
  .reg .pred q; .reg .u32 r<8>; .reg .u64 a<4>; .reg .f32 v;
  mov.u32 r0, smem; add.u32 r1, r0, 1024; mov.u32 r2, %tid.x; setp.ne.u32 q, r2, 0;
  @q bra WAIT;
  mbarrier.init.shared::cta.b64 [r1], 1; fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [r1], 1024;
  ld.param.u32 r3, [x]; ld.param.u32 r4, [y]; mov.b64 a0, map; cvta.param.u64 a1, a0;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [r0], [a1, {r3, r4}], [r1];
WAIT:
  bar.sync 0;
SPIN:
  mbarrier.try_wait.parity.shared::cta.b64 q, [r1], 0; @!q bra SPIN;
  shl.b32 r5, r2, 2; add.u32 r6, r0, r5; ld.shared.f32 v, [r6];
  ld.param.u64 a2, [out]; cvt.u64.u32 a3, r5; add.u64 a2, a2, a3; st.global.f32 [a2], v;
  ret;
}
)";

class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    auto driver = Driver::load();
    if (!driver) GTEST_SKIP() << "NOT RUN: " << to_string(driver.error());
    auto opened = Context::open(*driver);
    if (!opened) GTEST_SKIP() << "NOT RUN: " << to_string(opened.error());
    context = *opened;
    if (context->info().major < 9) GTEST_SKIP() << "NOT RUN: " << context->info().name << " is older than Hopper";
    stream = create_stream(context).value();
  }

  template <size_t n>
  Function load(const char (&ptx)[n], const char* name, unsigned shared) {
    auto module = Module::load(context, ptx);
    if (!module) ADD_FAILURE() << to_string(module.error());
    auto function = (*module)->function(name, shared);
    if (!function) ADD_FAILURE() << to_string(function.error());
    return *function;
  }

  std::vector<float> read(const DeviceBuffer& buffer) {
    std::vector<float> values(buffer.size() / sizeof(float));
    const auto result = buffer.download(std::as_writable_bytes(std::span(values)), 0, stream.get());
    if (!result.ok()) ADD_FAILURE() << to_string(result.error());
    return values;
  }

  DeviceBuffer upload(const std::vector<float>& values) {
    auto buffer = DeviceBuffer::allocate(context, values.size() * sizeof(float));
    if (!buffer) ADD_FAILURE() << to_string(buffer.error());
    const auto result = buffer->upload(std::as_bytes(std::span(values)), 0, stream.get());
    if (!result.ok()) ADD_FAILURE() << to_string(result.error());
    return std::move(*buffer);
  }

  std::shared_ptr<Context> context;
  Stream stream;
};

TEST_F(DeviceTest, Facts) {
  const DeviceInfo& info = context->info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_GT(info.sm_count, 0);
  EXPECT_GE(info.shared_per_block, 99 * 1024);
  EXPECT_TRUE(info.clusters);
  EXPECT_TRUE(info.tensor_maps);
  const auto memory = context->memory();
  ASSERT_TRUE(memory);
  EXPECT_LE(memory->first, memory->second);
  RecordProperty("device", info.name);
}

TEST_F(DeviceTest, LeavesNoContextBehind) {
  CuContext current = reinterpret_cast<CuContext>(1);
  ASSERT_EQ(context->driver().cuCtxGetCurrent(&current), cu_success);
  EXPECT_EQ(current, nullptr);
}

TEST_F(DeviceTest, LaunchesAndTimes) {
  const auto function = load(scale_ptx, "scale", 0);
  EXPECT_GT(function.registers, 0);
  std::vector<float> values(100000);
  std::iota(values.begin(), values.end(), 0.f);
  const auto buffer = upload(values);
  ParamBuffer params;
  params.push(buffer.address());
  params.push(2.f);
  params.push(uint32_t(values.size()));
  LaunchShape shape;
  shape.block = {256, 1, 1};
  shape.grid = {unsigned(values.size() + 255) / 256, 1, 1};
  const auto begin = create_event(context).value(), end = create_event(context).value();
  ASSERT_TRUE(record(begin, stream.get()).ok());
  const auto launched = launch(function, shape, stream.get(), params);
  ASSERT_TRUE(launched.ok()) << to_string(launched.error());
  ASSERT_TRUE(record(end, stream.get()).ok());
  const auto done = synchronize_for(*context, stream.get(), 5000);
  ASSERT_TRUE(done) << to_string(done.error());
  ASSERT_TRUE(*done);
  EXPECT_GT(*elapsed_ms(begin, end), 0.f);
  const auto result = read(buffer);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(result[i], 2 * values[i]) << i;
}

TEST_F(DeviceTest, ClusterAndProgrammaticLaunch) {
  const auto function = load(scale_ptx, "scale", 200 * 1024);
  EXPECT_EQ(*blocks_per_sm(function, 128), 1);
  const auto buffer = upload(std::vector<float>(1024, 1.f));
  ParamBuffer params;
  params.push(buffer.address());
  params.push(3.f);
  params.push(uint32_t{1024});
  LaunchShape shape;
  shape.block = {128, 1, 1};
  shape.grid = {8, 1, 1};
  shape.cluster = {2, 1, 1};
  shape.overlap_previous = true;
  for (int i = 0; i < 2; ++i) {
    const auto launched = launch(function, shape, stream.get(), params);
    ASSERT_TRUE(launched.ok()) << to_string(launched.error());
    ASSERT_TRUE(synchronize(*context, stream.get()).ok());
  }
  EXPECT_EQ(read(buffer), std::vector<float>(1024, 9.f));
}

TEST_F(DeviceTest, TensorMapReadsABox) {
  const auto function = load(box_ptx, "box", 2048);
  constexpr int rows = 20, columns = 40;
  std::vector<float> values(rows * columns);
  std::iota(values.begin(), values.end(), 1.f);
  const auto tensor = upload(values);
  const auto out = upload(std::vector<float>(256));
  TensorMapSpec spec;
  spec.elem = TensorElem::f32;
  spec.base = tensor.address();
  spec.rank = 2;
  spec.dims = {columns, rows};
  spec.byte_strides = {columns * 4};
  spec.box = {32, 8};
  CuTensorMap map;
  const CurrentContext current(*context);
  const auto encoded = encode_tensor_map(context->driver(), spec, map);
  ASSERT_TRUE(encoded.ok()) << to_string(encoded.error());
  constexpr int x = 16, y = 14;  // both ends outside: zeros
  ParamBuffer params;
  params.push(map);
  params.push(out.address());
  params.push(x);
  params.push(y);
  LaunchShape shape;
  shape.block = {256, 1, 1};
  const auto launched = launch(function, shape, stream.get(), params);
  ASSERT_TRUE(launched.ok()) << to_string(launched.error());
  const auto done = synchronize_for(*context, stream.get(), 5000);
  ASSERT_TRUE(done) << to_string(done.error());
  ASSERT_TRUE(*done);
  const auto result = read(out);
  for (int r = 0; r < 8; ++r)
    for (int c = 0; c < 32; ++c) {
      const bool inside = y + r < rows && x + c < columns;
      ASSERT_EQ(result[size_t(r * 32 + c)], inside ? values[size_t((y + r) * columns + x + c)] : 0.f) << r << ' ' << c;
    }
}

// The driver must take strides that are not those of a dense tensor.
TEST_F(DeviceTest, WrapAroundStridesAreEncoded) {
  const auto tensor = upload(std::vector<float>(4096));
  TensorMapSpec spec;
  spec.base = tensor.address();
  spec.rank = 4;
  spec.dims = {128, uint64_t{1} << 30, 64, uint64_t{1} << 30};
  spec.byte_strides = {256, (uint64_t{1} << 34) - 256, (uint64_t{1} << 34) - 512};
  spec.box = {64, 64, 1, 1};
  spec.swizzle = 128;
  CuTensorMap map;
  const CurrentContext current(*context);
  const auto encoded = encode_tensor_map(context->driver(), spec, map);
  EXPECT_TRUE(encoded.ok()) << to_string(encoded.error());
}

// The driver loads lazily: what is wrong with an image may show only when a function is asked for.
TEST_F(DeviceTest, BadImageIsAnError) {
  std::vector<char> image(4096, 'x');
  std::copy_n(
      "\x7f"
      "ELF",
      4, image.begin());
  auto module = Module::load(context, image);
  const Error error = module ? (*module)->function("scale", 0).error() : module.error();
  EXPECT_EQ(error.code, ErrorCode::driver_failed);
  EXPECT_EQ(error.stage, Stage::load);
}

TEST_F(DeviceTest, EmptyBuffersWork) {
  auto buffer = DeviceBuffer::allocate(context, 0);
  ASSERT_TRUE(buffer);
  EXPECT_TRUE(buffer->fill(0).ok());
  EXPECT_TRUE(buffer->download({}).ok());
  std::byte one{};
  EXPECT_FALSE(buffer->upload({&one, 1}).ok());
}

// A prepared function may be launched into a capture, and the graph then replays it.
TEST_F(DeviceTest, LaunchIntoACapture) {
  const Driver& driver = context->driver();
  if (!driver.cuStreamBeginCapture || !driver.cuGraphInstantiateWithFlags)
    GTEST_SKIP() << "NOT RUN: the driver has no graphs";
  const auto function = load(scale_ptx, "scale", 0);
  const auto buffer = upload(std::vector<float>(32, 1.f));
  ParamBuffer params;
  params.push(buffer.address());
  params.push(2.f);
  params.push(uint32_t{32});
  LaunchShape shape;
  shape.block = {32, 1, 1};
  EXPECT_FALSE(is_capturing(*context, stream.get()).value());

  const CurrentContext current(*context);
  CuGraph graph = nullptr;
  CuGraphExec exec = nullptr;
  ASSERT_EQ(driver.cuStreamBeginCapture(stream.get(), cu_capture_mode_global), cu_success);
  EXPECT_TRUE(is_capturing(*context, stream.get()).value());
  EXPECT_TRUE(launch(function, shape, stream.get(), params).ok());
  ASSERT_EQ(driver.cuStreamEndCapture(stream.get(), &graph), cu_success);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), cu_success);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(driver.cuGraphLaunch(exec, stream.get()), cu_success);
  EXPECT_EQ(read(buffer), std::vector<float>(32, 8.f));
  driver.cuGraphExecDestroy(exec);
  driver.cuGraphDestroy(graph);
}

}  // namespace

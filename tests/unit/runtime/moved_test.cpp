// tests/unit/runtime/moved_test.cpp — handles that were moved from: their calls are errors, and nothing crashes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/unit/runtime/engine_fixture.h"

// NOLINTBEGIN(bugprone-use-after-move)
namespace tlxjit::runtime_test {
namespace {

struct Moved : EngineTest {
  static Kernel ones() {
    Kernel k{"ones"};
    const Tensor out = k.tensor<float>("out", {k.dim("N")});
    k.grid(1);
    k.task("main").body([&](Task& t) { out.store({0}, t.full<float>({4}, 1.f)); });
    return k;
  }
};

void expect_bad(const Error& error, const char* message) {
  EXPECT_EQ(error.kind, ErrorKind::user);
  EXPECT_EQ(error.code, ErrorCode::bad_argument);
  EXPECT_EQ(error.message, message);
}

TEST_F(Moved, Device) {
  const Kernel kernel = ones();
  const Device other = std::move(device);
  EXPECT_TRUE(other.allocate(4).ok());
  for (const Device& none : {device, Device()}) {
    constexpr const char* text = "the device is none: it was never opened, or it was moved from";
    EXPECT_EQ(none.name() + none.target() + none.description(), "");
    EXPECT_EQ(none.sms(), 0);
    EXPECT_FALSE(none.can_launch());
    expect_bad(none.allocate(4).error(), text);
    expect_bad(none.upload(std::vector<int>{1}).error(), text);
    expect_bad(none.stream().error(), text);
    expect_bad(none.synchronize().error(), text);
    expect_bad(none.synchronize(Stream()).error(), text);
    expect_bad(engine.compile(kernel, none).error(), text);
    expect_bad(engine.compile(*kernel.module(), none).error(), text);
  }
  device = other;
  EXPECT_TRUE(engine.compile(kernel, device).ok()) << "it can be given another";
}

TEST_F(Moved, Executable) {
  Executable exe = compile(ones());
  const Executable other = std::move(exe);
  std::vector<float> out(4);
  const TensorArg arg = tensor<float>(out.data(), {4});
  for (const auto& failed : {exe.launch({arg}), exe.launch(Stream(), {arg})}) {
    ASSERT_FALSE(failed.ok());
    expect_bad(failed.error(), "an executable that was moved from is launched here");
    EXPECT_THAT(failed.error().location.file, ::testing::HasSubstr("moved_test.cpp"));
  }
  EXPECT_EQ(exe.name() + exe.target() + exe.signature() + exe.source() + exe.lowered_text() + exe.device().name(), "");
  EXPECT_TRUE(exe.parameters().empty());
  EXPECT_TRUE(exe.binary().empty());
  EXPECT_EQ(exe.resources().ops, 0);
  EXPECT_EQ(exe.times().total(), 0);
  EXPECT_TRUE(exe.report().diagnostics.empty());
  TLXJIT_MUST(other.launch({arg}));
  EXPECT_THAT(out, ::testing::Each(1.f));
}

TEST_F(Moved, BufferAndStream) {
  Buffer buffer = *device.upload(std::vector<int>{1, 2});
  Buffer other = std::move(buffer);
  int word = 7;
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.size(), 0u);
  expect_bad(buffer.upload(&word, 4).error(), "a copy of 4 bytes at 0 does not fit a buffer of 0 bytes");
  expect_bad(buffer.download(&word, 4).error(), "a copy of 4 bytes at 0 does not fit a buffer of 0 bytes");
  EXPECT_TRUE(buffer.fill(1).ok());
  EXPECT_EQ(buffer.tensor<int>({2}).data, nullptr);
  EXPECT_EQ(buffer.tensor<int>({2}).capacity, 0);
  Buffer& same = other;
  other = std::move(same);
  TLXJIT_MUST(other.download(&word, 4, 4));
  EXPECT_EQ(word, 2);
  buffer = std::move(other);
  EXPECT_EQ(other.size(), 0u);
  TLXJIT_MUST(buffer.download(&word, 4));
  EXPECT_EQ(word, 1);

  int handle = 0;
  Stream stream(&handle);
  Stream taken = std::move(stream);
  EXPECT_EQ(stream.handle(), nullptr) << "the default stream";
  EXPECT_EQ(taken.handle(), &handle);
  stream = std::move(taken);
  EXPECT_EQ(stream.handle(), &handle);
  EXPECT_EQ(taken.handle(), nullptr);
  TLXJIT_MUST(device.synchronize(taken));
}

TEST_F(Moved, ResultsAndModules) {
  auto exe = engine.compile(ones(), device);
  TLXJIT_MUST(exe);
  const auto taken = std::move(exe);
  EXPECT_TRUE(exe.ok()) << "it still has a value, which was moved from";
  EXPECT_FALSE(exe->launch({}).ok());

  Result<void> failed = exe->launch({});
  const Result<void> failure = std::move(failed);
  EXPECT_FALSE(failed.ok());
  EXPECT_FALSE(failure.error().message.empty());

  auto module = ones().module();
  TLXJIT_MUST(module);
  const Module whole = std::move(*module);
  EXPECT_TRUE(verify(whole).empty());
  EXPECT_FALSE(verify(*module).empty());
  EXPECT_FALSE(verify(module->clone()).empty());
  EXPECT_TRUE(parse(print(*module)).ok());
  EXPECT_FALSE(engine.compile(*module, device).ok());
}

}  // namespace
}  // namespace tlxjit::runtime_test
// NOLINTEND(bugprone-use-after-move)

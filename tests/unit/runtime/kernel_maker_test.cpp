// tests/unit/runtime/kernel_maker_test.cpp — disk cache and back end: who is asked, and what their refusals lead to.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/kernel_maker_p.h"

#include <gmock/gmock.h>

#include <map>
#include <stdexcept>
#include <thread>

#include "src/runtime/executable_p.h"
#include "src/runtime/guard_p.h"
#include "tests/unit/runtime/engine_fixture.h"
#include "tests/unit/runtime/shipped.h"
#include "tests/unit/runtime/temporary_directory.h"
#include "tlxjit/ir/text.h"

namespace tlxjit::runtime_test {
namespace {

using runtime::CompiledKernel;
using runtime::CompileInput;
using runtime::KernelMaker;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// A device whose compiler and driver do what the test says.
class FakeDevice final : public runtime::DeviceBackend {
 public:
  FakeDevice() { facts_ = {"cpu", "cpu", "fake", 1, true}; }
  Result<void> can_compile() override { return {}; }
  Result<CompiledKernel> compile(const CompileInput& input) override {
    if (no_compiler) return *no_compiler;
    ++compiles;
    while (hangs && !*input.abandoned) std::this_thread::yield();
    ended = true;
    if (!identity_once_loaded.empty()) id = identity_once_loaded;
    CompiledKernel made;
    if (input.image) made.image = {processor.begin(), processor.end()};
    made.report.log = "compiled by hand";
    return made;
  }
  std::string runs_on() const override { return processor; }
  Result<std::string> compiler() override {
    if (id.empty())
      return runtime::error_of(ErrorKind::environment, Stage::load, ErrorCode::unsupported, "nobody knows which one");
    return id;
  }
  Result<CompiledKernel> load(const CompileInput&, std::span<const char> image) override {
    ++loads;
    EXPECT_EQ(std::string(image.data(), image.size()), processor) << "it was made for another";
    if (refusal) return *refusal;
    return CompiledKernel();
  }
  Result<void*> allocate(size_t) override { return static_cast<void*>(nullptr); }
  void release(void*) override {}
  Result<void> upload(void*, const void*, size_t) override { return {}; }
  Result<void> download(void*, const void*, size_t) override { return {}; }
  Result<void> fill(void*, uint8_t, size_t) override { return {}; }
  Result<void*> create_stream() override { return static_cast<void*>(nullptr); }
  void destroy_stream(void*) override {}
  Result<void> synchronize(void*) override { return {}; }
  Result<void> synchronize_all() override { return {}; }

  std::string id = "compiler 1", identity_once_loaded;
  std::string processor = "one";
  std::optional<Error> refusal, no_compiler;
  bool hangs = false;
  std::atomic<bool> ended{false};
  int compiles = 0, loads = 0;
};

/// A store of the host that does not say what it is.
class Unnamed final : public Store {
 public:
  Result<std::optional<std::vector<char>>> get(std::string_view key) override {
    const auto found = entries_.find(std::string(key));
    return found == entries_.end() ? std::nullopt : std::optional(found->second);
  }
  Result<void> put(std::string_view key, std::span<const char> bytes) override {
    entries_.try_emplace(std::string(key), bytes.begin(), bytes.end());
    return {};
  }
  Result<void> remove(std::string_view key) override {
    entries_.erase(std::string(key));
    return {};
  }
  Result<std::vector<StoredEntry>> list() override { return std::vector<StoredEntry>(); }
  bool any_compiler() const override {
    if (says_nothing) throw std::runtime_error("no connection");
    return false;
  }
  std::string describe() const override { throw std::runtime_error("no connection"); }

  bool says_nothing = false;

 private:
  std::map<std::string, std::vector<char>> entries_;
};

struct KernelMakerTest : EngineTest {
  KernelMakerTest() {
    Kernel k{"nothing"};
    auto x = k.tensor<float>("x", {k.dim("N")});
    k.grid(1);
    k.task("main").warps(1).body([&](Task& t) { x.store({0}, t.full<float>({1}, 1.f)); });
    auto verified = k.module();
    module.emplace(std::move(*verified));
    text = print(*module);
  }
  KernelMaker::State make() {
    EngineOptions o;
    if (!directory.empty()) o.cache_directory = place / directory;
    o.store = store;
    o.cache_bundles = bundles;
    o.read_environment = false;
    const auto events = std::make_shared<runtime::Events>();
    KernelMaker maker(o, [this](std::string_view line) { lines.emplace_back(line); }, events);
    auto made = maker.make({*module, text, device, fake, {}, {}, 0});
    maker.settle();
    counters = runtime::engine_counters(events->sums());
    return made;
  }

  TemporaryDirectory place;
  std::string directory = "cache";
  std::shared_ptr<Store> store;
  std::vector<std::string> bundles;
  std::shared_ptr<FakeDevice> fake = std::make_shared<FakeDevice>();
  std::optional<Module> module;
  std::string text;
  std::vector<std::string> lines;
  EngineCounters counters;
};

TEST_F(KernelMakerTest, TheSecondIsLoaded) {
  TLXJIT_MUST(make());
  EXPECT_EQ(counters.disk.published, 1u);
  TLXJIT_MUST(make());
  EXPECT_EQ(fake->compiles, 1);
  EXPECT_EQ(fake->loads, 1);
  EXPECT_EQ(counters.disk_hits, 1u);
  EXPECT_THAT(lines, IsEmpty());
}

TEST_F(KernelMakerTest, ACompilerIsToldThatNobodyWaitsForIt) {
  fake->hangs = true;
  const auto events = std::make_shared<runtime::Events>();
  EngineOptions without;
  without.disk_cache = false;
  KernelMaker maker(without, [](std::string_view) {}, events);
  CompileOptions options;
  options.time_limit = std::chrono::milliseconds(1);
  const auto made = maker.compile({*module, text, device, fake, options, runtime::Deadline(options.time_limit), 0});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::timed_out);
  for (int i = 0; i < 3000 && !fake->ended; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(fake->ended);
}

TEST_F(KernelMakerTest, BL_199_AnotherCompilerIsAnotherKey) {
  TLXJIT_MUST(make());
  fake->id = "compiler 2";
  TLXJIT_MUST(make());
  EXPECT_EQ(fake->compiles, 2);
  for (const char* id : {"compiler 1", "compiler 2"}) {
    fake->id = id;
    TLXJIT_MUST(make());
  }
  EXPECT_EQ(fake->compiles, 2) << "both are kept";
}

TEST_F(KernelMakerTest, BL_200_CloseProcessorsShareNothing) {
  const char* const close[] = {"sm_90", "sm_90a", "sm_120", "sm_121", "sm_12", "sm_120 "};
  for (const uint64_t hits : {0u, 1u})
    for (const char* name : close) {
      fake->processor = name;
      TLXJIT_MUST(make());
      EXPECT_EQ(counters.compiles, 1 - hits) << name;
      EXPECT_EQ(counters.disk_hits, hits) << name;
    }
  EXPECT_EQ(fake->compiles, static_cast<int>(std::size(close)));
  EXPECT_EQ(fake->loads, static_cast<int>(std::size(close)));
  EXPECT_THAT(lines, IsEmpty());
}

// BL-237: compiled by a newer compiler, say, than the driver of this machine understands.
TEST_F(KernelMakerTest, BL_237_AnImageThatTheDriverRefusesIsCompiledAnewAndKeptForOthers) {
  TLXJIT_MUST(make());
  fake->refusal =
      runtime::error_of(ErrorKind::environment, Stage::load, ErrorCode::driver_failed, "CUDA_ERROR_NO_BINARY_FOR_GPU");
  TLXJIT_MUST(make());
  EXPECT_EQ(fake->compiles, 2);
  EXPECT_EQ(counters.disk_hits, 0u);
  EXPECT_EQ(counters.disk_misses, 1u);
  EXPECT_EQ(counters.disk.bad_entries, 0u);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0],
              HasSubstr("`nothing` is compiled anew, what is kept of it cannot be loaded: CUDA_ERROR_NO_BIN"));
  fake->refusal.reset();
  TLXJIT_MUST(make());
  EXPECT_EQ(fake->compiles, 2) << "it was not dropped";
}

TEST_F(KernelMakerTest, AnImageThatIsNoneIsDropped) {
  TLXJIT_MUST(make());
  fake->refusal = runtime::error_of(ErrorKind::environment, Stage::load, ErrorCode::bad_content, "no image");
  TLXJIT_MUST(make());
  EXPECT_EQ(counters.disk.bad_entries, 1u);
  EXPECT_EQ(counters.disk.published, 1u) << "the new one takes its place";
  fake->refusal.reset();
  TLXJIT_MUST(make());
  EXPECT_EQ(fake->compiles, 2);
}

// As one that another LLVM made and this one does not link.
TEST_F(KernelMakerTest, AnImageOfABundleThatIsNoneIsTold) {
  TLXJIT_MUST(make());
  ship(place / "cache", place / "bundle");
  directory = "another", bundles = {place / "bundle"};
  fake->refusal = runtime::error_of(ErrorKind::environment, Stage::load, ErrorCode::bad_content, "no image");
  TLXJIT_MUST(make());
  EXPECT_EQ(fake->compiles, 2);
  EXPECT_GT(counters.disk.bundle_hits, 0u);
  EXPECT_EQ(counters.disk.bad_entries, 0u) << "nothing is taken out of a bundle";
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0], "`nothing` is compiled anew, what is kept of it cannot be loaded: no image");
  directory = "a third";
  fake->no_compiler =
      runtime::error_of(ErrorKind::environment, Stage::load, ErrorCode::library_missing, "there is no libnvrtc");
  for (const char* id : {"compiler 2", ""}) {
    fake->id = id;
    const auto made = make();
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message,
              "there is no compiler, and what is kept of the kernel cannot be loaded: install one, or make the bundle "
              "of kernels that can be; there is no libnvrtc; no image");
  }
}

TEST_F(KernelMakerTest, AStoreThatThrowsWhenItIsAskedWhatItIsFailsNoCall) {
  const auto own = std::make_shared<Unnamed>();
  store = own, directory = "";
  TLXJIT_MUST(make());
  EXPECT_EQ(counters.disk.published, 1u);
  fake->refusal = runtime::error_of(ErrorKind::environment, Stage::load, ErrorCode::bad_content, "no image");
  TLXJIT_MUST(make());
  EXPECT_EQ(counters.disk.bad_entries, 1u);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], StartsWith("a store of compiled kernels has an entry "));
  own->says_nothing = true;
  TLXJIT_MUST(make());
  EXPECT_EQ(counters.disk.errors, 1u);
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[1], "a store of compiled kernels cannot be read, kernels are compiled without it: no connection");
}

TEST_F(KernelMakerTest, WithoutAnIdentityNothingIsKept) {
  fake->id = "";
  for (int i = 0; i < 2; ++i) TLXJIT_MUST(make());
  EXPECT_EQ(fake->compiles, 2);
  EXPECT_EQ(counters.disk.misses, 0u);
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0], "compiled kernels are not kept: nobody knows which one");
}

// Files let expect one compiler, and another was loaded: what it made is kept under its own name.
TEST_F(KernelMakerTest, TheCompilerThatRanIsInTheKey) {
  fake->identity_once_loaded = "compiler 2";
  TLXJIT_MUST(make());
  fake->identity_once_loaded = "";
  fake->id = "compiler 1";
  TLXJIT_MUST(make());
  EXPECT_EQ(fake->compiles, 2);
  fake->id = "compiler 2";
  TLXJIT_MUST(make());
  EXPECT_EQ(fake->compiles, 2);
}

TEST_F(KernelMakerTest, ABundleIsAskedWhateverTheCompilerIs) {
  TLXJIT_MUST(make());
  const auto keys = ship(place / "cache", place / "bundle");
  directory = "another", bundles = {place / "bundle"};
  for (const char* id : {"compiler 2", ""}) {
    fake->id = id;
    TLXJIT_MUST(make());
    EXPECT_EQ(counters.disk.bundle_hits, 1u) << id;
  }
  EXPECT_EQ(fake->compiles, 1);
  fake->processor = "another";
  fake->id = "compiler 1";
  TLXJIT_MUST(make());
  EXPECT_EQ(fake->compiles, 2) << "what it runs on counts";
  EXPECT_THAT(lines, IsEmpty());
  EXPECT_THAT(keys, SizeIs(1));
}

TEST_F(KernelMakerTest, WithoutACompilerAMissNamesTheKeyOfTheBundle) {
  TLXJIT_MUST(make());
  const auto keys = ship(place / "cache", place / "bundle");
  ASSERT_THAT(keys, SizeIs(1));
  directory = "another";
  fake->no_compiler =
      runtime::error_of(ErrorKind::environment, Stage::load, ErrorCode::library_missing, "there is no libnvrtc");
  for (const int i : {0, 1, 2, 3}) {
    const bool with_bundle = i % 2;
    fake->id = i < 2 ? "" : "compiler 2";  // no file of it, or one that cannot be loaded
    bundles.clear();
    if (with_bundle) bundles = {place / "bundle"};
    auto made = make();
    EXPECT_EQ(made.ok(), with_bundle);
    if (made) continue;
    EXPECT_EQ(made.error().code, ErrorCode::library_missing);
    EXPECT_EQ(made.error().key, keys[0]);
    EXPECT_EQ(made.error().message, "there is no compiler, and no bundle has the key " + keys[0] +
                                        ": install one, or add the kernel to the bundle; there is no libnvrtc");
  }
  EXPECT_EQ(fake->compiles, 1);
  EXPECT_THAT(lines, IsEmpty());
}

}  // namespace
}  // namespace tlxjit::runtime_test

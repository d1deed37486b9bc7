// tests/unit/runtime/kept_on_disk_test.cpp — engines that find on disk what others compiled.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlfcn.h>

#include <cstring>
#include <thread>

#include "src/runtime/cpu_plugin_p.h"
#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/engine_fixture.h"
#include "tests/unit/runtime/entries.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace fs = std::filesystem;

/// x[p] = p + salt.
Kernel numbers(int salt = 0, const char* name = "numbers", int warps = 1,
               std::source_location at = std::source_location::current()) {
  Kernel k{name};
  const Index n = k.dim("N", 0, at);
  auto x = k.tensor<int32_t>("x", {n}, at);
  k.grid(n);
  k.task("main", at).warps(warps).body([&](Task& t) {
    const Index p = k.program_id();
    x.store({p}, t.full<int32_t>({1}, p + salt));
  });
  return k;
}

bool right(const Executable& exe, int salt = 0) {
  std::vector<int32_t> x(32, -1);
  if (!exe.launch({tensor<int32_t>(x.data(), {32})})) return false;
  for (int32_t p = 0; p < 32; ++p)
    if (x[static_cast<size_t>(p)] != p + salt) return false;
  return true;
}

/// How often the plug-in has generated code in this process.
uint64_t generations() {
  void* const library = dlopen(TLXJIT_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<const tlxjit_cpu_backend* (*)()>(dlsym(library, "tlxjit_backend_v1"))()->generations();
}

struct KeptOnDisk : ::testing::Test {
  TemporaryDirectory place;
  std::vector<std::string> lines;

  EngineOptions with_cache() {
    EngineOptions o = options();
    o.cache_directory = place / "cache";
    o.log = [this](std::string_view line) { lines.emplace_back(line); };
    return o;
  }
  /// What an engine of its own made of the kernels, one after the other.
  EngineCounters counted(const EngineOptions& o, std::span<const Kernel> kernels, const CompileOptions& how = {}) {
    const Engine engine(o);
    const Device device = *engine.device("cpu");
    for (const Kernel& kernel : kernels) {
      auto exe = engine.compile(kernel, device, how);
      EXPECT_TRUE(exe.ok()) << to_string(exe.error());
    }
    return engine.counters();
  }
  EngineCounters counted(const EngineOptions& o, const Kernel& kernel, const CompileOptions& how = {}) {
    return counted(o, std::span(&kernel, 1), how);
  }
  uint64_t compiles_of(const Kernel& kernel, const CompileOptions& how = {}) {
    return counted(with_cache(), kernel, how).compiles;
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> all;
    for (const auto& file : fs::recursive_directory_iterator(place.path()))
      if (file.is_regular_file() && file.path().filename().string().size() == 32) all.push_back(file.path());
    return all;
  }
};

TEST_F(KeptOnDisk, TheNextEngineRunsNoPassAndNoCompiler) {
  std::string lowered;
  Resources resources;
  {
    const Engine engine(with_cache());
    auto exe = engine.compile(numbers(7), *engine.device("cpu"));
    TLXJIT_MUST(exe);
    lowered = exe->lowered_text(true), resources = exe->resources();
    EXPECT_EQ(engine.counters().compiles, 1u);
    EXPECT_EQ(engine.counters().disk_misses, 1u);
    EXPECT_EQ(engine.counters().disk_hits, 0u);
    EXPECT_GT(exe->times().compile, 0.);
  }
  const uint64_t before = generations();
  const Engine engine(with_cache());
  const Device device = *engine.device("cpu");
  auto exe = engine.compile(numbers(7), device);
  TLXJIT_MUST(exe);
  EXPECT_EQ(generations(), before) << "LLVM made no code";
  EXPECT_TRUE(right(*exe, 7));
  EXPECT_EQ(exe->lowered_text(true), lowered);
  EXPECT_EQ(exe->signature(), "numbers(x: i32[N])");
  EXPECT_EQ(exe->resources().programs_at_once, resources.programs_at_once);
  EXPECT_EQ(exe->resources().ops, resources.ops);
  EXPECT_EQ(exe->times().lower + exe->times().emit + exe->times().compile, 0.);
  EXPECT_GT(exe->times().load, 0.);
  EXPECT_GT(exe->times().look_up, 0.);
  TLXJIT_MUST(engine.compile(numbers(7), device));
  const EngineCounters c = engine.counters();
  EXPECT_EQ(c.compiles, 0u);
  EXPECT_EQ(c.disk_hits, 1u);
  EXPECT_EQ(c.disk_misses, 0u);
  EXPECT_EQ(c.disk.user_hits, 1u);
  EXPECT_EQ(c.memory_hits, 1u) << "the engine's own cache stands in front";
  EXPECT_THAT(lines, IsEmpty());
}

// The same bits, from what was compiled and from what was loaded.
TEST_F(KeptOnDisk, TheLibrarysKernelsGiveTheSameBits) {
  constexpr int m = 150, n = 96, k = 70;
  std::vector<float> a(m * k), b(n * k);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 37 % 101) / 101 - 0.5f;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 53 % 97) / 97 - 0.5f;
  constexpr int sequence = 70, heads = 2, head = 64;
  std::vector<float> q(sequence * heads * head);
  for (size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i * 29 % 89) / 89 - 0.5f;
  std::vector<bf16> wa(m * 64), wb(n * 64), wd(m * n);
  for (size_t i = 0; i < wa.size(); ++i) wa[i].bits = static_cast<uint16_t>(0x3f00 + i % 128);
  for (size_t i = 0; i < wb.size(); ++i) wb[i].bits = static_cast<uint16_t>(0xbf00 + i % 77);
  std::vector<std::vector<float>> results[2];
  for (auto& result : results) {
    const Engine engine(with_cache());
    const Device device = *engine.device("cpu");
    auto narrow = engine.compile(gemm(gemm_config("cpu", Elem::f32)), device);
    TLXJIT_MUST(narrow);
    auto& d = result.emplace_back(m * n, NAN);
    ASSERT_TRUE(narrow->launch(
        {tensor<float>(a.data(), {m, k}), tensor<float>(b.data(), {n, k}), tensor<float>(d.data(), {m, n})}));
    // Rings, barriers and a ragged tensor map, as on a GPU.
    CompileOptions hopper;
    hopper.as = "sm_90a";
    auto wide = engine.compile(gemm(gemm_config("sm_90a")), device, hopper);
    TLXJIT_MUST(wide);
    ASSERT_TRUE(wide->launch(
        {tensor<bf16>(wa.data(), {m, 64}), tensor<bf16>(wb.data(), {n, 64}), tensor<bf16>(wd.data(), {m, n})}));
    auto& e = result.emplace_back();
    for (const bf16 x : wd) e.push_back(x.bits);
    auto attend =
        engine.compile(attention(attention_config("cpu", {.elem = Elem::f32, .head = head, .causal = true})), device);
    TLXJIT_MUST(attend);
    auto& out = result.emplace_back(q.size(), NAN);
    std::vector<float> lse(sequence * heads, NAN);
    const TensorArg x = tensor<float>(q.data(), {1, sequence, heads, head});
    ASSERT_TRUE(attend->launch({x, x, x, tensor<float>(out.data(), {1, sequence, heads, head}),
                                tensor<float>(lse.data(), {1, heads, sequence}), 0.125f}));
    result.push_back(lse);
    EXPECT_EQ(engine.counters().compiles, &result == &results[0] ? 3u : 0u);
  }
  ASSERT_EQ(results[0].size(), results[1].size());
  for (size_t i = 0; i < results[0].size(); ++i)
    EXPECT_EQ(std::memcmp(results[0][i].data(), results[1][i].data(), results[0][i].size() * sizeof(float)), 0) << i;
}

TEST_F(KeptOnDisk, BL_209_AFreshProcessFindsIt) {
  for (int round = 0; round < 2; ++round)
    EXPECT_TRUE(in_child([&] { return compiles_of(numbers(3)) == (round == 0 ? 1u : 0u); })) << round;
}

TEST_F(KeptOnDisk, BL_210_LinesAreNotInTheKeyAndErrorsNameThoseThatWereCompiled) {
  const auto here = std::source_location::current();
  EXPECT_EQ(compiles_of(numbers(0, "numbers", 1, here)), 1u);
  const Engine engine(with_cache());
  auto exe = engine.compile(numbers(0, "numbers", 1, std::source_location::current()), *engine.device("cpu"));
  TLXJIT_MUST(exe);
  EXPECT_EQ(engine.counters().disk_hits, 1u);
  EXPECT_THAT(exe->lowered_text(true), HasSubstr("kept_on_disk_test.cpp\" " + std::to_string(here.line()) + "\n"));
}

// The body, its name, its options; and for each a kernel of its own.
TEST_F(KeptOnDisk, BL_203_TheKeyIsTheBody) {
  EXPECT_EQ(compiles_of(numbers(1)), 1u);
  EXPECT_EQ(compiles_of(numbers(2)), 1u);
  EXPECT_EQ(compiles_of(numbers(1, "other")), 1u);
  EXPECT_EQ(compiles_of(numbers(1, "numbers", 4)), 1u);
  for (int salt : {1, 2}) {
    const Engine engine(with_cache());
    auto exe = engine.compile(numbers(salt), *engine.device("cpu"));
    TLXJIT_MUST(exe);
    EXPECT_TRUE(right(*exe, salt));
    EXPECT_EQ(engine.counters().compiles, 0u);
  }
}

TEST_F(KeptOnDisk, BL_199_OptionsAreInTheKeyAndOnlyThose) {
  CompileOptions lines_too, limited;
  lines_too.lineinfo = true;
  limited.time_limit = std::chrono::minutes(2);
  EXPECT_EQ(compiles_of(numbers()), 1u);
  EXPECT_EQ(compiles_of(numbers(), lines_too), 1u);
  EXPECT_EQ(compiles_of(numbers(), limited), 0u) << "a limit changes no code";
  EngineOptions threads = with_cache();
  threads.cpu_threads = 1;
  threads.kept_kernels = 0;
  const Kernel one = numbers();
  EXPECT_EQ(counted(threads, one).compiles, 0u) << "nor does the number of threads";
}

// BL-200: what is lowered for one target runs for no other.
TEST_F(KeptOnDisk, BL_200_TargetsShareNothing) {
  CompileOptions hopper;
  hopper.as = "sm_90a";
  const Kernel one = gemm(gemm_config("sm_90a"));
  EXPECT_EQ(counted(with_cache(), one).compiles, 1u);
  EXPECT_EQ(counted(with_cache(), one, hopper).compiles, 1u);
  EXPECT_EQ(counted(with_cache(), one, hopper).compiles, 0u);
  hopper.as = "sm_90";
  const Engine engine(with_cache());
  EXPECT_FALSE(engine.compile(one, *engine.device("cpu"), hopper)) << "an error, not the entry of sm_90a";
}

// What a host with more features compiled is not for one with fewer.
TEST_F(KeptOnDisk, BL_246_FeaturesAreInTheKey) {
  const Kernel one = numbers();
  EngineOptions weaker = with_cache();
  weaker.cpu_without_features = "avx512f";
  EXPECT_EQ(counted(with_cache(), one).compiles, 1u);
  EXPECT_EQ(counted(weaker, one).compiles, 1u);
  EXPECT_EQ(counted(weaker, one).compiles, 0u);
  // A feature that there is not is an error with a cache, too.
  weaker.cpu_without_features = "warp-drive";
  const Engine engine(weaker);
  EXPECT_FALSE(engine.compile(one, *engine.device("cpu")));
}

TEST_F(KeptOnDisk, BL_199_APluginThatWasMovedIsTheSame) {
  const Kernel one = numbers();
  EXPECT_EQ(counted(with_cache(), one).compiles, 1u);
  EngineOptions moved = with_cache();
  moved.cpu_plugin = place / "another name.so";
  fs::copy_file(TLXJIT_TEST_PLUGIN, moved.cpu_plugin);
  EXPECT_TRUE(in_child([&] { return counted(moved, one).disk_hits == 1; }));
}

/// Changes the one entry that there is, with all that tells of damage put right.
void forge(const fs::path& path, const std::function<void(runtime::Entry&)>& change) {
  const std::string key = path.filename();
  auto entry = runtime::decode(read_file(path), key);
  ASSERT_TRUE(entry);
  change(*entry);
  write_file(path, runtime::encode(*entry));
}

TEST_F(KeptOnDisk, BL_189_AnEntryWhoseContentIsWrongIsDroppedAndMadeAnew) {
  const std::function<void(runtime::Entry&)> changes[] = {
      [](runtime::Entry& e) { e.image.clear(); },
      [](runtime::Entry& e) { e.image.resize(e.image.size() / 2); },
      [](runtime::Entry& e) { e.image.assign(100, 'x'); },
      [](runtime::Entry& e) { e.module = "no module"; },
      [](runtime::Entry& e) { e.module = "tlx 1 lowered cpu\nkernel \"k\" {\n  %0 = add %1, %1 : i32\n}\n"; },
      [](runtime::Entry& e) { e.module.replace(e.module.find("lowered cpu"), 11, "lowered sm_90a"); },
  };
  for (const auto& change : changes) {
    compiles_of(numbers(5));
    ASSERT_THAT(entries(), SizeIs(1));
    forge(entries()[0], change);
    lines.clear();
    {
      const Engine engine(with_cache());
      auto exe = engine.compile(numbers(5), *engine.device("cpu"));
      TLXJIT_MUST(exe);
      EXPECT_TRUE(right(*exe, 5));
      EXPECT_EQ(engine.counters().compiles, 1u);
      EXPECT_EQ(engine.counters().disk.bad_entries, 1u);
    }
    EXPECT_THAT(lines, SizeIs(1));
    EXPECT_EQ(compiles_of(numbers(5)), 0u) << "it was published again";
  }
}

TEST_F(KeptOnDisk, BL_189_FilesThatAreCutOrChanged) {
  compiles_of(numbers(5));
  ASSERT_THAT(entries(), SizeIs(1));
  const std::vector<char> whole = read_file(entries()[0]);
  for (const size_t length : {size_t{0}, size_t{1}, whole.size() / 2, whole.size() - 1}) {
    write_file(entries()[0], std::span(whole).first(length));
    EXPECT_EQ(compiles_of(numbers(5)), 1u) << length;
  }
  for (size_t at = 0; at < whole.size(); at += whole.size() / 9) {
    std::vector<char> bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    write_file(entries()[0], bad);
    EXPECT_EQ(compiles_of(numbers(5)), 1u) << at;
  }
  EXPECT_EQ(compiles_of(numbers(5)), 0u);
}

TEST_F(KeptOnDisk, ItCanBeSwitchedOff) {
  const Kernel one = numbers();
  EngineOptions off = with_cache();
  off.disk_cache = false;
  counted(off, one);
  EXPECT_FALSE(fs::exists(place / "cache"));
  // No directory is thought of where the environment is not read.
  EngineOptions nowhere = options();
  const EngineCounters c = counted(nowhere, one);
  EXPECT_EQ(c.disk_misses, 0u);
  EXPECT_EQ(c.disk.misses, 0u);
  for (const char* set : {"0", "1"})
    EXPECT_TRUE(in_child([&] {
      setenv("TLXJIT_DISK_CACHE", set, 1);
      setenv("TLXJIT_CACHE_DIR", (place / set).c_str(), 1);
      EngineOptions by_environment = options();
      by_environment.read_environment = true;
      counted(by_environment, one);
      return fs::exists(place / set) == (*set == '1');
    })) << set;
}

TEST_F(KeptOnDisk, WithoutReuseNothingIsLookedUpOrKept) {
  CompileOptions anew;
  anew.reuse = false;
  EXPECT_EQ(compiles_of(numbers(), anew), 1u);
  EXPECT_FALSE(fs::exists(place / "cache"));
  EXPECT_EQ(compiles_of(numbers()), 1u);
  EXPECT_EQ(compiles_of(numbers(), anew), 1u);
}

TEST_F(KeptOnDisk, FailuresAreNotKept) {
  Kernel k{"inline"};
  auto x = k.tensor<int32_t>("x", {1});
  k.grid(1);
  k.task("main").body([&](Task& t) {
    Tile one = t.full<int32_t>({1}, 1);
    x.store({0}, k.inline_text("cpu", "nonsense", "=r,r", Elem::i32, {one}));
  });
  const Engine engine(with_cache());
  const Device device = *engine.device("cpu");
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(engine.compile(k, device));
  EXPECT_EQ(engine.counters().compiles, 2u);
  EXPECT_EQ(engine.counters().disk.published, 0u);
}

// Whatever becomes of the directory, kernels are compiled.
TEST_F(KeptOnDisk, BL_193_PlacesThatCannotBeUsedAreToldOnce) {
  std::vector<Kernel> two;
  two.push_back(numbers(1));
  two.push_back(numbers(2));
  write_file(place / "a file", std::vector<char>{'x'});
  for (const std::string& path :
       {place / "a file", place / "a file/below", std::string("relative"), std::string("/proc")}) {
    EngineOptions o = with_cache();
    o.cache_directory = path;
    lines.clear();
    const EngineCounters c = counted(o, two);
    EXPECT_EQ(c.compiles, 2u) << path;
    EXPECT_GT(c.disk.errors, 0u) << path;
    EXPECT_THAT(lines, ::testing::Not(IsEmpty())) << path;
    EXPECT_LE(lines.size(), 2u) << path << ": reading and writing, once each";
  }
}

TEST_F(KeptOnDisk, BL_187_ChildrenThatCompileTheSame) {
  const Engine engine(with_cache());
  const Device device = *engine.device("cpu");
  TLXJIT_MUST(engine.compile(numbers(0), device));
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(in_child([&] {
      auto exe = engine.compile(numbers(1), device);
      auto other = engine.compile(numbers(100 + i), device);
      return exe && other && right(*exe, 1) && right(*other, 100 + i);
    }));
  auto exe = engine.compile(numbers(1), device);
  TLXJIT_MUST(exe);
  EXPECT_TRUE(right(*exe, 1));
}

TEST_F(KeptOnDisk, AThreadThatPublishesOutlivesNoEngine) {
  std::vector<Kernel> many;
  for (int i = 0; i < 30; ++i) many.push_back(numbers(i));
  EXPECT_EQ(counted(with_cache(), many).compiles, 30u);
  EXPECT_THAT(entries(), SizeIs(30)) << "all are there when the engine has ended";
  EXPECT_EQ(counted(with_cache(), many).disk_hits, 30u);
}

TEST_F(KeptOnDisk, MemoryStaysFlatWhenKernelsAreLoadedAndDropped) {
  std::vector<Kernel> few;
  for (int i = 0; i < 3; ++i) few.push_back(numbers(i));
  EngineOptions o = with_cache();
  o.kept_kernels = 1;
  counted(o, few);
  const Engine engine(o);
  const Device device = *engine.device("cpu");
  for (int round = 0; round < 50; ++round)
    for (int i = 0; i < 3; ++i) {
      auto exe = engine.compile(few[static_cast<size_t>(i)], device);
      TLXJIT_MUST(exe);
      ASSERT_TRUE(right(*exe, i));
    }
  EXPECT_EQ(engine.counters().compiles, 0u);
  EXPECT_EQ(engine.counters().disk_hits, 150u);
}

}  // namespace
}  // namespace tlxjit::runtime_test

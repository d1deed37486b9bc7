// tests/unit/runtime/kept_on_disk_test.cpp — engines that find on disk what others compiled.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "src/runtime/cpu_plugin_p.h"
#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/elsewhere.h"
#include "tests/unit/runtime/kept_on_disk.h"

namespace tlxjit::runtime_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// How often the plug-in has generated code in this process.
uint64_t generations() {
  void* const library = dlopen(TLXJIT_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<const tlxjit_cpu_backend* (*)()>(dlsym(library, "tlxjit_backend_v1"))()->generations();
}

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
    engine.settle();
    EXPECT_EQ(engine.counters().disk.published, 1u);
    EXPECT_EQ(engine.counters().failures, 0u);
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

TEST_F(KeptOnDisk, BL_210_NorAreTheFoldersThatItWasBuiltIn) {
  ASSERT_STREQ(elsewhere().file_name(), "/other/build/x.cpp");
  for (const bool lineinfo : {false, true}) {  // two kernels: with line tables it is other code
    CompileOptions o;
    o.lineinfo = lineinfo;
    EXPECT_EQ(compiles_of(numbers(), o), 1u);
    EXPECT_EQ(compiles_of(numbers(0, "numbers", 1, elsewhere()), o), 0u) << lineinfo;
  }
  EXPECT_THAT(entries(), SizeIs(2));
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

/// Places in an image that read like the prefix of an AVX-512 instruction: of code without any, a few are chance.
int avx512_prefixes(const std::vector<char>& image) {
  int count = 0;
  for (size_t i = 0; i + 6 < image.size(); ++i) {
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(image[i + at]); };
    count += byte(0) == 0x62 && (byte(1) & 8) == 0 && (byte(1) & 7) >= 1 && (byte(1) & 7) <= 3 && (byte(2) & 4) != 0;
  }
  return count;
}

TEST_F(KeptOnDisk, BL_246_CodeHasNoInstructionsOfFeaturesThatAreLeftOut) {
  const Kernel product = gemm(gemm_config("cpu", Elem::f32));
  const auto image_without = [&](const char* features) {
    EngineOptions o = with_cache();
    o.cache_directory = place / (*features ? features : "all");
    o.cpu_without_features = features;
    EXPECT_EQ(counted(o, product).compiles, 1u);
    std::vector<char> image;
    for (const auto& file : entries())
      if (file.string().starts_with(o.cache_directory + "/")) {
        const auto entry = runtime::decode(read_file(file), file.filename().string());
        EXPECT_TRUE(entry.ok());
        if (entry) image = entry->image;
      }
    EXPECT_FALSE(image.empty());
    return image;
  };
  const int all = avx512_prefixes(image_without("")), some = avx512_prefixes(image_without("avx512f"));
  RecordProperty("with", all);
  RecordProperty("without", some);
  EXPECT_LT(some, std::max(10, all / 4)) << "of " << all << " where all features are used";
}

TEST_F(KeptOnDisk, BL_199_APluginThatWasMovedIsTheSame) {
  const Kernel one = numbers();
  EXPECT_EQ(counted(with_cache(), one).compiles, 1u);
  EngineOptions moved = with_cache();
  moved.cpu_plugin = place / "another name.so";
  std::filesystem::copy_file(TLXJIT_TEST_PLUGIN, moved.cpu_plugin);
  EXPECT_TRUE(in_child([&] { return counted(moved, one).disk_hits == 1; }));
}

/// Changes the one entry that there is, with all that tells of damage put right.
void forge(const std::filesystem::path& path, const std::function<void(runtime::Entry&)>& change) {
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
  EXPECT_FALSE(std::filesystem::exists(place / "cache"));
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
      return std::filesystem::exists(place / set) == (*set == '1');
    })) << set;
}

TEST_F(KeptOnDisk, WithoutReuseNothingIsLookedUpOrKept) {
  CompileOptions anew;
  anew.reuse = false;
  EXPECT_EQ(compiles_of(numbers(), anew), 1u);
  EXPECT_FALSE(std::filesystem::exists(place / "cache"));
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

TEST_F(KeptOnDisk, BL_187_ChildrenThatCompileTheSameAtOnce) {
  const Engine engine(with_cache());
  const Device device = *engine.device("cpu");
  TLXJIT_MUST(engine.compile(numbers(0), device));
  int start[2];  // closed when all are there
  ASSERT_EQ(pipe(start), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i)
    children.push_back(start_child([&] {
      close(start[1]);
      char none;
      if (read(start[0], &none, 1) != 0) return false;
      auto exe = engine.compile(numbers(1), device);
      auto other = engine.compile(numbers(100 + i), device);
      engine.settle();
      return exe && other && right(*exe, 1) && right(*other, 100 + i);
    }));
  close(start[0]);
  close(start[1]);
  for (const pid_t child : children) EXPECT_TRUE(ended_well(child));
  engine.settle();  // its own may be written yet
  EXPECT_THAT(entries(), SizeIs(6));
  const Engine late(with_cache());
  for (const int salt : {0, 1, 100, 101, 102, 103}) {
    auto exe = late.compile(numbers(salt), *late.device("cpu"));
    TLXJIT_MUST(exe);
    EXPECT_TRUE(right(*exe, salt));
  }
  EXPECT_EQ(late.counters().compiles, 0u);
  EXPECT_THAT(lines, IsEmpty());
}

TEST_F(KeptOnDisk, AThreadThatPublishesOutlivesNoEngine) {
  std::vector<Kernel> many;
  for (int i = 0; i < 30; ++i) many.push_back(numbers(i));
  EXPECT_EQ(counted(with_cache(), many).compiles, 30u);
  EXPECT_THAT(entries(), SizeIs(30)) << "all are there when the engine has ended";
  EXPECT_EQ(counted(with_cache(), many).disk_hits, 30u);
}

TEST_F(KeptOnDisk, WhatIsDroppedIsUnloadedAndLoadedAgain) {
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
      ASSERT_LE(engine.counters().loaded_modules, 2u) << "this one, and the one that is kept";
    }
  EXPECT_EQ(engine.counters().loaded_modules, 1u);
  EXPECT_EQ(engine.counters().compiles, 0u);
  EXPECT_EQ(engine.counters().disk_hits, 150u);
}

}  // namespace
}  // namespace tlxjit::runtime_test

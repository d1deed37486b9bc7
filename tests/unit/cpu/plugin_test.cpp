// tests/unit/cpu/plugin_test.cpp — the plug-in's table, its errors, many compilations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elf.h>
#include <gmock/gmock.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "backends/cpu/sanitizers_p.h"
#include "tests/unit/cpu/plugin_p.h"

namespace cpu_test {
namespace {

TEST(Plugin, TableDescribesItself) {
  const tlxjit_cpu_backend& b = backend();
  EXPECT_EQ(b.size, sizeof(tlxjit_cpu_backend));
  EXPECT_EQ(b.version, TLXJIT_CPU_PLUGIN_VERSION);
  EXPECT_EQ(std::string(b.source_hash).size(), 32u);
  EXPECT_FALSE(std::string(b.cpu_name).empty());
}

// The list counts, not what a CPU of that name has: a hypervisor or the system may keep features from programs.
TEST(Plugin, BL_246_FeaturesAreThoseThatTheSystemGives) {
  const std::string features = std::string(",") + backend().cpu_features + ",";
  std::istringstream lines(read("/proc/cpuinfo"));
  std::string line, flags;
  while (flags.empty() && std::getline(lines, line))
    if (line.rfind("flags", 0) == 0) flags = line + " ";
  ASSERT_FALSE(flags.empty());
  for (const auto& [name, flag] :
       {std::pair("avx", "avx"), std::pair("avx2", "avx2"), std::pair("fma", "fma"), std::pair("f16c", "f16c"),
        std::pair("avx512f", "avx512f"), std::pair("avx512vl", "avx512vl"), std::pair("amx-tile", "amx_tile")}) {
    const bool given = flags.find(std::string(" ") + flag + " ") != std::string::npos;
    EXPECT_NE(features.find((given ? ",+" : ",-") + std::string(name) + ","), std::string::npos) << name;
  }
}

// LLVM inside must not meet an LLVM of the host.
TEST(Plugin, ExportsOneSymbol) {
  const std::string file = read(TLXJIT_CPU_PLUGIN);
  ASSERT_GE(file.size(), sizeof(Elf64_Ehdr));
  auto at = [&]<class T>(size_t offset, T* out) { std::memcpy(out, file.data() + offset, sizeof(T)); };
  Elf64_Ehdr header;
  at(0, &header);
  std::vector<std::string> names;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section, strings;
    at(header.e_shoff + i * sizeof section, &section);
    if (section.sh_type != SHT_DYNSYM) continue;
    at(header.e_shoff + section.sh_link * sizeof strings, &strings);
    for (size_t s = 0; s < section.sh_size / sizeof(Elf64_Sym); ++s) {
      Elf64_Sym symbol;
      at(section.sh_offset + s * sizeof symbol, &symbol);
      if (symbol.st_shndx != SHN_UNDEF) names.push_back(file.data() + strings.sh_offset + symbol.st_name);
    }
  }
  EXPECT_THAT(names, ::testing::ElementsAre("tlxjit_backend_v1"));
}

TEST(Plugin, BadTextIsAStatus) {
  for (const char* text : {"", "hello", "tlx 1 portable\nkernel \"k\" {\n}\n",
                           "tlx 1 lowered cpu\nkernel \"k\" {\n  %0 = add %0, %0 : i32\n}\n",
                           "tlx 1 lowered cpu\nkernel \"k\" {\n  task [name = \"t\", warps = 1, replicas = 1] {\n    "
                           "%0 = frob : i32\n  }\n}\n"}) {
    Kernel kernel(text);
    EXPECT_EQ(kernel.status, TLXJIT_CPU_BAD_TEXT) << text;
    EXPECT_STRNE(kernel.failure.message, "") << text;
  }
}

// Whatever is cut off or garbled, a status comes back.
TEST(Plugin, GarbledTextNeverEndsTheProcess) {
  const std::string whole = read(TLXJIT_IR_TEXTS "/gemm_sm_90a.tlx");
  Random random;
  for (int round = 0; round < 300; ++round) {
    std::string text = whole;
    for (int edits = random.integer(1, 3); edits > 0; --edits) {
      const auto at = size_t(random.integer(0, int(text.size()) - 1));
      switch (random.integer(0, 2)) {
        case 0: text[at] = char(random.integer(32, 126)); break;
        case 1: text.erase(at, size_t(random.integer(1, 20))); break;
        default: text[at] = char(random.integer('0', '9'));
      }
    }
    Kernel kernel(text);
    if (kernel.status != TLXJIT_CPU_OK) {
      EXPECT_STRNE(kernel.failure.message, "");
    }
  }
}

TEST(Plugin, UnsupportedNamesTheOp) {
  const auto expect_unsupported = [](const std::string& before, const std::string& op, uint32_t number) {
    std::string text = doubles_text;
    text.insert(text.find(before), op);
    text.replace(text.find("%p, %two"), 8, "%p, %odd");
    Kernel kernel(numbered(text));
    EXPECT_EQ(kernel.status, TLXJIT_CPU_UNSUPPORTED);
    EXPECT_EQ(kernel.failure.op, number) << kernel.failure.message;
    EXPECT_THAT(kernel.failure.message, ::testing::StartsWith("the CPU back end lacks "));
  };
  expect_unsupported("grid", "%odd = sms : i32\n  ", 3);
  expect_unsupported("%q =", "%odd = inline %p [target = \"nvidia\", text = \"\", constraints = \"=r,r\"] : i32\n    ",
                     6);
}

TEST(Plugin, CompileAndDestroyManyTimes) {
  const std::string text = numbered(doubles_text);
  for (int i = 0; i < 200; ++i) {
    Kernel kernel(text);
    ASSERT_COMPILED(kernel);
    ASSERT_TRUE(doubles(kernel));
  }
}

TEST(Plugin, CompilesOnManyThreads) {
  const std::string text = numbered(doubles_text);
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        Kernel kernel(text);
        failures += kernel.status != TLXJIT_CPU_OK;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failures, 0);
}

/// A kernel of one program whose one task has these ops.
std::string one_task(const std::string& module_ops, const std::string& ops) {
  return R"(tlx 1 lowered cpu
kernel "one" [threads = 32, shared_bytes = 0] {
  %n = dim [name = "N"] : i32
  %x = tensor %n [name = "x"] : tensor<1xi32>
  %one = const [value = 1] : i32
  grid %one
)" + module_ops +
         "  task [name = \"main\", warps = 1, replicas = 1, registers = 0] {\n" + ops + "  }\n}\n";
}

/// LLVM's time rises with the square of what a task holds, and sanitizers add to that.
constexpr bool slow_compiles = tlxjit::cpu::asan || tlxjit::cpu::tsan;

TEST(Plugin, TasksOfManyCopies) {
  constexpr int copies = slow_compiles ? 600 : 6000;
  std::string ops;
  for (int i = 0; i < copies; ++i) {
    const std::string k = std::to_string(i);
    ops += "%c" + k + " = const [value = " + k + "] : i32\n%t" + k + " = splat %c" + k +
           " : tile<1xi32>\ntile.store %x, %t" + k + ", %c" + k + " [box = <1>, ragged = -1]\n";
  }
  Kernel kernel(numbered(one_task("", ops)));
  ASSERT_COMPILED(kernel);
  Tensor<int32_t> x({copies});
  Launch launch;
  launch.dims = {copies};
  launch.tensors = {x};
  ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_OK);
  for (int i = 0; i < copies; ++i) ASSERT_EQ(x.data[size_t(i)], i);
}

// The sums of one loop's reductions are held at once: on the stack, where the registers do not suffice.
TEST(Plugin, TasksOfLargeFrames) {
  constexpr int sums = slow_compiles ? 900 : 4300;  // of 64 bytes
  std::string ops =
      "%i = iota [axis = 1] : tile<1x32xi32>\n%f = cast %i : tile<1x32xf32>\n%p0 = neg %f : tile<1x32xf32>\n";
  for (int i = 0; i < sums; ++i) {
    const std::string k = std::to_string(i), next = std::to_string(i + 1);
    ops += "%r" + k + " = reduce %p" + k + " [kind = \"sum\", axis = 1, partial = 0] : tile<1xf32>\n%p" + next +
           " = add %p" + k + ", %f : tile<1x32xf32>\n";
  }
  ops += "%zero = const [value = 0] : i32\n";
  for (int i = 0; i < sums; i += 100) {
    const std::string k = std::to_string(i);
    ops += "%d" + k + " = cast %r" + k + " : tile<1xi32>\n%a" + k + " = const [value = " + std::to_string(i / 100) +
           "] : i32\ntile.store %x, %d" + k + ", %a" + k + " [box = <1>, ragged = -1]\n";
  }
  Kernel kernel(numbered(one_task("", ops)));
  ASSERT_COMPILED(kernel);
  Tensor<int32_t> x({sums / 100});
  Launch launch;
  launch.dims = {sums / 100};
  launch.tensors = {x};
  ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_OK);
  for (int i = 0; i < sums / 100; ++i) ASSERT_EQ(x.data[size_t(i)], 31 * 16 * (100 * i - 1));
}

TEST(Plugin, LongChainsOutsideTasks) {
  constexpr int length = 100000;
  std::string chain = "%t0 = add %one, %one : i32\n";
  for (int i = 1; i < length; ++i)
    chain += "%t" + std::to_string(i) + " = xor %t" + std::to_string(i - 1) + ", %n : i32\n";
  Kernel kernel(numbered(one_task(chain, "%z = splat %t" + std::to_string(length - 1) +
                                             " : tile<1xi32>\n%c = const [value = 0] : i32\ntile.store %x, %z, %c [box "
                                             "= <1>, ragged = -1]\n")));
  ASSERT_COMPILED(kernel);
  Tensor<int32_t> x({1});
  Launch launch;
  launch.dims = {1};
  launch.tensors = {x};
  ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_OK);
  EXPECT_EQ(x.data[0], 3);
}

#if !TLXJIT_ASAN && !TLXJIT_TSAN  // whose malloc does not tell
// Whichever threads come to take part, later launches find all that they need.
TEST(Plugin, TheFirstLaunchMakesRoomForAllThreads) {
  constexpr size_t threads = 8, shared = 256 << 10;
  const auto allocated = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  ASSERT_GT(allocated(), 0u) << "this malloc does not tell";
  std::string text = doubles_text;
  text.replace(text.find("shared_bytes = 0"), 16, "shared_bytes = " + std::to_string(shared));
  text = numbered(text);
  Tensor<int32_t> x({1000});
  Launch launch;
  launch.dims = {1000};
  launch.tensors = {x};
  launch.threads = threads;
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (int round = 0; round < 5; ++round) {
    kernels.push_back(std::make_unique<Kernel>(text));
    ASSERT_COMPILED(*kernels.back());
    size_t before = allocated();
    launch.grid = 3;
    ASSERT_EQ(kernels.back()->launch(launch), TLXJIT_CPU_OK);
    EXPECT_GE(allocated(), before + 3 * shared);
    EXPECT_LT(allocated(), before + 4 * shared) << "three programs need no more";
    launch.grid = 500;
    ASSERT_EQ(kernels.back()->launch(launch), TLXJIT_CPU_OK);
    EXPECT_GE(allocated(), before + threads * shared);
    EXPECT_LT(allocated(), before + (threads + 1) * shared);
    before = allocated();
    for (int i = 0; i < 50; ++i) ASSERT_EQ(kernels.back()->launch(launch), TLXJIT_CPU_OK);
    EXPECT_LT(allocated(), before + shared);
  }
}
#endif

// The child has none of the parent's threads.
TEST(Plugin, WorksInAForkedChild) {
  const std::string text = numbered(doubles_text);
  auto kernel = std::make_unique<Kernel>(text);
  ASSERT_COMPILED(*kernel);
  const auto runs = [](Kernel& k) { return doubles(k, 64, 3); };
  ASSERT_TRUE(runs(*kernel));
  for (bool uses : {true, false}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(30);  // a hang ends in a signal
      bool good = !uses || (runs(*kernel) && runs(*kernel));
      kernel.reset();
      if (uses) {
        Kernel fresh(text);
        good = good && fresh.status == TLXJIT_CPU_OK && runs(fresh);
      }
      _exit(good ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_TRUE(runs(*kernel)) << "the parent goes on";
}

// LLVM folds the step, which the verifier does not know, to a constant.
TEST(Plugin, AStepThatFoldsToZeroEndsTheLaunch) {
  Kernel kernel(numbered(R"(tlx 1 lowered cpu
kernel "steps" [threads = 64, shared_bytes = 0] {
  %one = const [value = 1] : i32
  %six = const [value = 6] : i32
  grid %one
  task [name = "main", warps = 1, replicas = 1] {
    %step = sub %six, %six : i32
    for %one, %six, %step {
      (%i: i32)
    }
  }
}
)"));
  ASSERT_COMPILED(kernel);
  EXPECT_EQ(kernel.launch({}), TLXJIT_CPU_STEP);
  EXPECT_STREQ(kernel.failure.message, "the step is 0 in this call; it is at least 1");
}

TEST(Plugin, AnEmptyGridDoesNothing) {
  Kernel kernel(numbered(doubles_text));
  ASSERT_COMPILED(kernel);
  Launch launch;
  launch.dims = {0};
  launch.tensors = {tlxjit_cpu_tensor{}};
  launch.grid = 0;
  EXPECT_EQ(kernel.launch(launch), TLXJIT_CPU_OK);
}

}  // namespace
}  // namespace cpu_test

// tests/unit/runtime/process_test.cpp — the process around an engine: forks, policies, limits, memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "backends/cpu/sanitizers_p.h"
#include "src/runtime/compiler_use_p.h"
#include "tests/support/slow_kernel.h"
#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/engine_fixture.h"
#include "tests/unit/runtime/numbers_kernel.h"
#include "tests/unit/runtime/restrictions.h"

namespace tlxjit::runtime_test {
namespace {

using ::testing::HasSubstr;

bool runs(const Executable& exe, int64_t n = 64, int salt = 0) {
  std::vector<int32_t> x(static_cast<size_t>(n), -1);
  if (!exe.launch({tensor<int32_t>(x.data(), {n})})) return false;
  for (int64_t p = 0; p < n; ++p)
    if (x[static_cast<size_t>(p)] != p + salt) return false;
  return true;
}

TEST(Process, BL_232_AForkedChildCompilesAndRuns) {
  Engine engine(options());
  auto device = engine.device("cpu");
  TLXJIT_MUST(device);
  auto exe = engine.compile(numbers(), *device);
  TLXJIT_MUST(exe);
  ASSERT_TRUE(runs(*exe));
  EXPECT_TRUE(in_child([&] {
    if (!runs(*exe)) return false;
    auto fresh = engine.compile(numbers(5), *device);
    return fresh.ok() && runs(*fresh, 64, 5);
  }));
  EXPECT_TRUE(runs(*exe)) << "the parent goes on";
}

TEST(Process, AChildForkedDuringACompileLaunchesAndDoesNotCompile) {
  Engine engine(options());
  auto device = engine.device("cpu");
  TLXJIT_MUST(device);
  auto exe = engine.compile(numbers(), *device);
  TLXJIT_MUST(exe);
  CompileOptions hurried;
  hurried.time_limit = std::chrono::milliseconds(1);
  constexpr int wrong = 1, refused = 7;
  int status = 0;
  for (int salt = 1; salt < 100 && status == 0; ++salt) {
    if (engine.compile(numbers(salt), *device, hurried)) continue;  // else it was left behind, and runs
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);
      if (!runs(*exe)) _exit(wrong);
      auto fresh = engine.compile(numbers(-1), *device);
      if (!fresh) _exit(fresh.error().code == ErrorCode::forked ? refused : wrong);
      _exit(runs(*fresh, 64, -1) ? 0 : wrong);  // the parent's compile had just ended
    }
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  }
  EXPECT_EQ(WEXITSTATUS(status), refused);
}

TEST(Process, ACompilerThatAThreadIsInsideOfIsLostToChildren) {
  runtime::CompilerUse use;
  const auto enters = [&] { return use.enter(Stage::compile).ok(); };
  EXPECT_TRUE(in_child(enters));
  {
    const auto inside = use.enter(Stage::compile);
    ASSERT_TRUE(inside.ok());
    EXPECT_TRUE(enters()) << "others of the process may be inside at once";
    EXPECT_FALSE(in_child(enters));
    EXPECT_FALSE(in_child([&] { return static_cast<bool>(in_child(enters)); })) << "and to theirs";
  }
  EXPECT_TRUE(in_child(enters));
}

/// Threads of this process but the caller that may get the signal.
std::vector<std::string> open_to(int signal) {
  std::vector<std::string> threads;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(gettid())) continue;
    std::ifstream file(task.path() / "status");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("SigBlk:") && !(std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1))
        threads.push_back(task.path().filename());
  }
  return threads;
}

TEST(Process, WorkersGetNoSignalsOfTheHost) {
  Engine engine(options(3));
  auto exe = engine.compile(numbers(), *engine.device("cpu"));
  TLXJIT_MUST(exe);
  ASSERT_TRUE(runs(*exe));
  // A thread begins with all signals blocked, and takes its mask a little later.
  for (int i = 0; i < 1000 && open_to(SIGSEGV).size() < 2; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GE(open_to(SIGSEGV).size(), 2u) << "there are two workers, and faults are not held back";
  for (int signal : {SIGINT, SIGUSR1, SIGPROF}) EXPECT_THAT(open_to(signal), ::testing::IsEmpty());
}

TEST(Process, BL_013_AnEmptyGridIsNothingToDo) {
  for (int threads : {1, 64}) {
    Engine engine(options(threads));
    auto exe = engine.compile(numbers(), *engine.device("cpu"));
    TLXJIT_MUST(exe);
    EXPECT_TRUE(runs(*exe, 0)) << threads;
    EXPECT_TRUE(runs(*exe, 100)) << threads;
  }
}

TEST(Process, BL_248_APolicyAgainstExecutableMemoryIsNamed) {
  if (!in_child(refuse_executable_memory)) GTEST_SKIP() << "NOT RUN: the system has no seccomp filters";
  Engine engine(options());
  auto device = engine.device("cpu");
  TLXJIT_MUST(device);
  EXPECT_TRUE(in_child([&] {
    if (!refuse_executable_memory()) return false;
    for (int round = 0; round < 2; ++round) {
      auto exe = engine.compile(numbers(), *device);
      if (exe || exe.error().kind != ErrorKind::environment) return false;
      if (exe.error().message.find("may not make memory executable (mprotect PROT_EXEC: Permission denied)") ==
          std::string::npos)
        return false;
    }
    return true;
  }));
}

TEST(Process, BL_246_FeaturesThatAreLeftOutAreNotNeeded) {
  for (const char* without : {"", "avx512f", "avx512f,avx2,fma", "avx,f16c"}) {
    EngineOptions o = options();
    o.cpu_without_features = without;
    Engine engine(o);
    auto exe = engine.compile(numbers(), *engine.device("cpu"));
    TLXJIT_MUST(exe);
    EXPECT_TRUE(runs(*exe)) << without;
  }
  const std::pair<const char*, const char*> wrong[] = {
      {"avx512f,warp-drive", "there is no CPU feature 'warp-drive'; there are "},
      {"64bit", "no code for this host is without the CPU feature '64bit'"},
      {"avx,sse2", "no code for this host is without the CPU feature 'sse2'"}};
  for (const auto& [without, why] : wrong) {
    EngineOptions o = options();
    o.cpu_without_features = without;
    Engine engine(o);
    auto exe = engine.compile(numbers(), *engine.device("cpu"));
    ASSERT_FALSE(exe.ok()) << without;
    EXPECT_EQ(exe.error().kind, ErrorKind::user);
    EXPECT_THAT(exe.error().message, HasSubstr(why));
  }
}

TEST(Process, ACompilePastItsLimitIsAnErrorAndTheEngineGoesOn) {
  Engine engine(options());
  auto device = engine.device("cpu");
  TLXJIT_MUST(device);
  TLXJIT_MUST(engine.compile(numbers(), *device));  // LLVM's tables are made
  CompileOptions limited;
  limited.time_limit = std::chrono::milliseconds(1);
  auto exe = engine.compile(slow(), *device, limited);
  ASSERT_FALSE(exe.ok()) << "it took less than a millisecond";
  EXPECT_EQ(exe.error().code, ErrorCode::timed_out);
  EXPECT_EQ(exe.error().message, "the compile of `slow` took longer than its limit of 1 ms; it is left behind");
  auto next = engine.compile(numbers(3), *device);
  TLXJIT_MUST(next);
  EXPECT_TRUE(runs(*next, 10, 3));
}

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t all = 0, pages = 0;
  file >> all >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Beside 6 GB that are taken, as by a service's heap.
TEST(Process, BL_244_MemoryStaysFlatWhenKernelsComeAndGo) {
  const size_t heap = size_t{6} << 30;
  void* taken = mmap(nullptr, heap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(taken, MAP_FAILED);
  EngineOptions o = options();
  o.kept_kernels = 4;
  Engine engine(o);
  auto device = engine.device("cpu");
  TLXJIT_MUST(device);
  const int rounds = cpu::asan || cpu::tsan ? 100 : 2000;
  size_t settled = 0;
  for (int i = 0; i < rounds; ++i) {
    auto exe = engine.compile(numbers(i), *device);
    TLXJIT_MUST(exe);
    ASSERT_TRUE(runs(*exe, 2, i));
    if (i == rounds / 4) settled = resident_bytes();
  }
  malloc_trim(0);
  // What a kernel leaves behind, were it only its page of code, would be 6 MB here.
  if (!cpu::asan && !cpu::tsan) {
    EXPECT_LT(resident_bytes(), settled + (size_t{4} << 20));
  }
  munmap(taken, heap);
}

}  // namespace
}  // namespace tlxjit::runtime_test

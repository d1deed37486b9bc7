// tests/unit/cpu/sanitizer_test.cpp — faults planted in kernels are reported by the build's sanitizer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/sanitizers_p.h"
#include "tests/unit/cpu/plugin_p.h"

// A report ends the process; nothing is symbolised, which takes seconds.
extern "C" const char* __asan_default_options() { return "symbolize=0:detect_stack_use_after_return=1"; }
extern "C" const char* __tsan_default_options() { return "symbolize=0:halt_on_error=1:die_after_fork=0"; }

namespace cpu_test {
namespace {

class Sanitizer : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

/// A kernel of these tasks; x has N elements.
std::string kernel_text(const std::string& tasks, const std::string& declarations = "") {
  return numbered(R"(tlx 1 lowered cpu
kernel "planted" [threads = 64, shared_bytes = 0] {
  %n = dim [name = "N"] : i32
  %x = tensor %n [name = "x"] : tensor<1xi32>
  %zero = const [value = 0] : i32
  %one = const [value = 1] : i32
  grid %one
)" + declarations +
                  tasks + "}\n");
}

std::string task(const std::string& name, const std::string& ops) {
  return "  task [name = \"" + name + "\", warps = 1, replicas = 1] {\n" + ops + "  }\n";
}

/// Launches programs with a tensor of 8 elements that is said to have `said`.
tlxjit_cpu_status run(const std::string& text, int threads, int32_t said = 8, int32_t programs = 8) {
  Kernel kernel(text);
  EXPECT_EQ(kernel.status, TLXJIT_CPU_OK) << kernel.failure.message;
  if (kernel.status != TLXJIT_CPU_OK) return kernel.status;
  std::vector<int32_t> memory(8, 0);
  Launch launch;
  launch.dims = {said};
  launch.tensors = {tlxjit_cpu_tensor{memory.data(), {1}}};
  launch.grid = programs;
  launch.threads = threads;
  return kernel.launch(launch);
}

#if TLXJIT_ASAN

const char* const load_at_eight =
    "%eight = const [value = 8] : i32\n%v = load %x, %eight : i32\n%t = splat %v : tile<1xi32>\n"
    "tile.store %x, %t, %zero [box = <1>, ragged = -1]\n";

TEST_F(Sanitizer, ALoadOutsideATensorIsReported) {
  const std::string text = kernel_text(task("main", load_at_eight));
  EXPECT_EQ(run(text, 1), TLXJIT_CPU_OUTSIDE);
  EXPECT_DEATH((void)run(text, 1, 16), "AddressSanitizer: heap-buffer-overflow.*\n.*READ of size 4");
}

TEST_F(Sanitizer, AStoreOutsideATensorIsReported) {
  const std::string text =
      kernel_text(task("main", "%t = splat %one : tile<16xi32>\ntile.store %x, %t, %zero [box = <16>, ragged = -1]\n"));
  EXPECT_EQ(run(text, 1), TLXJIT_CPU_OK) << "it is clipped";
  EXPECT_DEATH((void)run(text, 1, 16), "AddressSanitizer: heap-buffer-overflow.*\n.*WRITE of size");
}

// The store is an instruction of the generated code, not a call.
TEST_F(Sanitizer, AnInstructionThatStoresOutsideIsReported) {
  const std::string text = kernel_text(task("main", "%nine = const [value = 9] : i32\nflag.set %x, %nine, %one\n"));
  EXPECT_EQ(run(text, 1), TLXJIT_CPU_OUTSIDE);
  EXPECT_DEATH((void)run(text, 1, 16), "AddressSanitizer: heap-buffer-overflow.*\n.*WRITE of size 4");
}

#endif

#if TLXJIT_TSAN

// Two programs write one element; on one thread too, where they follow one another.
TEST_F(Sanitizer, ARaceBetweenProgramsIsReported) {
  const char* const write = "%t = splat %one : tile<1xi32>\ntile.store %x, %t, WHERE [box = <1>, ragged = -1]\n";
  for (int threads : {1, 2}) {
    std::string same = write, apart = write;
    same.replace(same.find("WHERE"), 5, "%zero");
    apart.replace(apart.find("WHERE"), 5, "%p");
    apart = "%p = program_id : i32\n" + apart;
    EXPECT_EQ(run(kernel_text(task("main", apart)), threads), TLXJIT_CPU_OK);
    EXPECT_DEATH((void)run(kernel_text(task("main", same)), threads), "ThreadSanitizer: data race");
  }
}

const char* const declarations =
    "  %shared = buffer [swizzle = 0] : buffer<1, 16xi32>\n"
    "  %full = barrier [count = 1, name = \"full\"] : barrier<1>\n";

// Two fibers of one program, on one thread.
TEST_F(Sanitizer, ARaceBetweenTasksIsReported) {
  const std::string put = "buffer.put %shared, %zero, %zero, %one\n";
  const std::string get =
      "%v = buffer.get %shared, %zero, %zero : i32\n%p = program_id : i32\n%w = splat %v : tile<1xi32>\n"
      "tile.store %x, %w, %p [box = <1>, ragged = -1]\n";
  const std::string arrive = "arrive %full, %zero [per = \"instance\"]\n", wait = "wait %full, %zero, %zero\n";
  EXPECT_EQ(run(kernel_text(task("put", put + arrive) + task("get", wait + get), declarations), 2), TLXJIT_CPU_OK);
  EXPECT_DEATH((void)run(kernel_text(task("put", put + arrive) + task("get", get), declarations), 1),
               "ThreadSanitizer: data race");
  // The arrival stands before what it should publish.
  EXPECT_DEATH((void)run(kernel_text(task("put", arrive + put) + task("get", wait + get), declarations), 1),
               "ThreadSanitizer: data race");
}

// Programs of one lane have the same barriers, which order nothing between them.
TEST_F(Sanitizer, ARaceBetweenProgramsWithBarriersIsReported) {
  const std::string put = "wait %free, %zero, %one\narrive %full, %zero [per = \"instance\"]\n";
  const std::string get = "wait %full, %zero, %zero\n%t = splat %one : tile<1xi32>\n%p = program_id : i32\n";
  const std::string arrive = "arrive %free, %zero [per = \"instance\"]\n";
  const std::string barriers =
      "  %full = barrier [count = 1, name = \"full\"] : barrier<1>\n"
      "  %free = barrier [count = 1, name = \"free\"] : barrier<1>\n";
  const auto kernel = [&](const std::string& where) {
    const std::string store = "tile.store %x, %t, " + where + " [box = <1>, ragged = -1]\n";
    return kernel_text(task("put", put) + task("get", get + store + arrive), barriers);
  };
  for (int threads : {1, 2}) {
    EXPECT_EQ(run(kernel("%p"), threads), TLXJIT_CPU_OK);
    EXPECT_DEATH((void)run(kernel("%zero"), threads), "ThreadSanitizer: data race");
  }
}

// Program 0 writes x[7], then an atomic of x[0] that program 1 waits for.
TEST_F(Sanitizer, AtomicsOrderAsTheySay) {
  const auto kernel = [](const std::string& atomic) {
    return kernel_text(task("main", R"(%p = program_id : i32
      %seven = const [value = 7] : i32
      %t = splat %one : tile<1xi32>
      %first = cmp %p, %zero [pred = "eq"] : b1
      if %first {
        tile.store %x, %t, %seven [box = <1>, ragged = -1]
        )" + atomic + R"(
      } {
        flag.wait %x, %zero, %one [pred = "ge"]
        %v = load %x, %seven : i32
        %w = splat %v : tile<1xi32>
        tile.store %x, %w, %one [box = <1>, ragged = -1]
      }
)"),
                       "  resident\n");
  };
  const auto atomic = [](const std::string& kind, const std::string& order) {
    return "%was = atomic %x, %one, %zero [kind = \"" + kind + "\", order = \"" + order + "\"] : i32";
  };
  for (const char* kind : {"max", "add", "exchange"}) {
    EXPECT_EQ(run(kernel(atomic(kind, "release")), 2, 8, 2), TLXJIT_CPU_OK);
    EXPECT_EQ(run(kernel("fence [scope = \"gpu\"]\n" + atomic(kind, "relaxed")), 2, 8, 2), TLXJIT_CPU_OK);
    EXPECT_DEATH((void)run(kernel(atomic(kind, "relaxed")), 1, 8, 2), "ThreadSanitizer: data race");
  }
}

TEST_F(Sanitizer, ARaceWithAnAtomicIsReported) {
  for (const char* kind : {"max", "add"}) {
    const std::string text = kernel_text(task("main", R"(%p = program_id : i32
      %t = splat %one : tile<1xi32>
      %first = cmp %p, %zero [pred = "eq"] : b1
      if %first {
        %was = atomic %x, %one, %zero [kind = ")" + std::string(kind) +
                                                          R"(", order = "relaxed"] : i32
      } {
        tile.store %x, %t, %zero [box = <1>, ragged = -1]
      }
)"));
    EXPECT_DEATH((void)run(text, 1, 8, 2), "ThreadSanitizer: data race");
  }
}

// Whole tiles, which are read and written as vectors.
TEST_F(Sanitizer, ARaceOnATileIsReported) {
  const std::string put = "%t = splat %one : tile<16xi32>\nbuffer.store %shared, %zero, %t\n";
  const std::string get =
      "%v = buffer.get %shared, %zero, %zero : i32\n%p = program_id : i32\n%w = splat %v : tile<1xi32>\n"
      "tile.store %x, %w, %p [box = <1>, ragged = -1]\n";
  EXPECT_DEATH((void)run(kernel_text(task("put", put) + task("get", get), declarations), 1),
               "ThreadSanitizer: data race");
}

#endif

}  // namespace
}  // namespace cpu_test

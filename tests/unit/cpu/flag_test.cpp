// tests/unit/cpu/flag_test.cpp — resident kernels: programs that wait for one another by flags.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/unit/cpu/plugin_p.h"
#include "tlxjit/ir/text.h"

namespace cpu_test {
namespace {

/// A resident kernel: flags and x have N elements of i32.
std::string resident(const std::string& tasks, const std::string& declarations = "") {
  return numbered(R"(tlx 1 lowered cpu
kernel "resident" [threads = 64, shared_bytes = 0] {
  %n = dim [name = "N"] : i32
  %flags = tensor %n [name = "flags"] : tensor<1xi32>
  %x = tensor %n [name = "x"] : tensor<1xi32>
  %zero = const [value = 0] : i32
  %one = const [value = 1] : i32
  %two = const [value = 2] : i32
  resident
  grid %n
)" + declarations +
                  tasks + "}\n");
}

std::string task(const std::string& name, const std::string& ops) {
  return "  task [name = \"" + name + "\", warps = 1, replicas = 1] {\n" + ops + "  }\n";
}

struct Grid {
  Tensor<int32_t> flags, x;
  explicit Grid(int32_t n) : flags({n}), x({n}) { std::fill(flags.data.begin(), flags.data.end(), 0); }
  tlxjit_cpu_status operator()(Kernel& kernel, int threads) {
    Launch launch;
    launch.dims = {static_cast<int32_t>(flags.data.size())};
    launch.tensors = {flags, x};
    launch.grid = launch.dims[0];
    launch.threads = threads;
    return kernel.launch(launch);
  }
};

// x[p] = 2·p; all meet; then every program reads its neighbour's.
TEST(Flag, AGridWideBarrier) {
  Kernel kernel(resident(task("main", R"(%p = program_id : i32
    %g = num_programs : i32
    %v = mul %p, %two : i32
    %t = splat %v : tile<1xi32>
    tile.store %x, %t, %p [box = <1>, ragged = -1]
    flag.add %flags, %zero, %one
    flag.wait %flags, %zero, %g [pred = "ge"]
    %q1 = add %p, %one : i32
    %q = mod %q1, %g : i32
    %w = load %x, %q : i32
    flag.add %flags, %zero, %one
    %g2 = mul %g, %two : i32
    flag.wait %flags, %zero, %g2 [pred = "ge"]
    %u = splat %w : tile<1xi32>
    tile.store %x, %u, %p [box = <1>, ragged = -1]
)")));
  ASSERT_COMPILED(kernel);
  for (int n : {1, 2, 7, 100})
    for (int threads : {1, 2, 4}) {
      Grid run(n);
      ASSERT_EQ(run(kernel, threads), TLXJIT_CPU_OK) << kernel.failure.message;
      for (int p = 0; p < n; ++p) ASSERT_EQ(run.x.data[size_t(p)], 2 * ((p + 1) % n)) << n << " " << threads;
      EXPECT_EQ(run.flags.data[0], 2 * n);
    }
}

// A token goes twenty times round the programs, against the order in which they begin. Not more: on a machine that is
// busy each step may cost a turn of the system's scheduler.
TEST(Flag, ARingOfPrograms) {
  Kernel kernel(resident(task("main", R"(%p = program_id : i32
    %g = num_programs : i32
    %rounds = const [value = 20] : i32
    for %zero, %rounds, %one {
      (%round: i32)
      %last = sub %g, %one : i32
      %mine = cmp %p, %last [pred = "eq"] : b1
      %want = add %round, %one : i32
      %start = select %mine, %round, %want : i32
      flag.wait %flags, %p, %start [pred = "ge"]
      %before = add %p, %last : i32
      %q = mod %before, %g : i32
      flag.add %flags, %q, %one
    }
    flag.add %x, %p, %one
)")));
  ASSERT_COMPILED(kernel);
  for (int n : {1, 2, 3, 20})
    for (int threads : {1, 2, 3, 4}) {
      Grid run(n);
      std::fill(run.x.data.begin(), run.x.data.end(), 0);
      const tlxjit_cpu_blocked& first = kernel.failure.blocked[0];
      ASSERT_EQ(run(kernel, threads), TLXJIT_CPU_OK)
          << n << " programs, " << threads << " threads: " << kernel.failure.blocked_count << " wait, program "
          << first.program << " for " << first.value << " at " << first.present;
      for (int p = 0; p < n; ++p) {
        EXPECT_EQ(run.flags.data[size_t(p)], 20);
        EXPECT_EQ(run.x.data[size_t(p)], 1);
      }
    }
}

// A task waits for its own program's other task, which waits for another program.
TEST(Flag, TasksOfOneProgramGoOnBesideIt) {
  Kernel kernel(resident(task("outer", R"(%p = program_id : i32
    %g = num_programs : i32
    %q1 = add %p, %one : i32
    %q = mod %q1, %g : i32
    flag.wait %flags, %q, %one [pred = "eq"]
    arrive %bar, %zero [per = "instance"]
)") + task("inner", R"(%p2 = program_id : i32
    flag.set %flags, %p2, %one
    wait %bar, %zero, %zero
    flag.set %x, %p2, %two
)"),
                         "  %bar = barrier [count = 1, name = \"bar\"] : barrier<1>\n"));
  ASSERT_COMPILED(kernel);
  for (int threads : {1, 2}) {
    Grid run(9);
    ASSERT_EQ(run(kernel, threads), TLXJIT_CPU_OK) << kernel.failure.message;
    for (int32_t x : run.x.data) EXPECT_EQ(x, 2);
  }
}

TEST(Flag, ComparisonsOfEveryType) {
  struct Case {
    const char* elem;
    const char* pred;
    int64_t low, high;  // bit patterns: the flag goes from low to high, and the wait ends at high only
  };
  const Case cases[] = {{"i32", "gt", -5, 3}, {"u32", "gt", 3, -5}, {"i64", "ge", -1, 0}, {"u64", "lt", -1, 0},
                        {"i64", "le", 1, -7}, {"i32", "ne", 0, 9},  {"u32", "eq", 1, 0}};
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.elem) + " " + c.pred);
    const std::string wide = std::string(c.elem).substr(1) == "64" ? "64" : "32", e = c.elem;
    // `ge` and `eq` compare with high, strict ones with low.
    const bool strict = std::string(c.pred) == "gt" || std::string(c.pred) == "lt" || std::string(c.pred) == "ne";
    Kernel kernel(numbered(
        "tlx 1 lowered cpu\nkernel \"k\" [threads = 64, shared_bytes = 0] {\n"
        "%one = const [value = 1] : i32\n%zero = const [value = 0] : i32\n%two = const [value = 2] : i32\n"
        "%low = scalar [name = \"low\"] : " +
        e + "\n%high = scalar [name = \"high\"] : " + e + "\n%f = tensor %one [name = \"f\"] : tensor<1x" + e +
        ">\nresident\ngrid %two\ntask [name = \"t\", warps = 1, replicas = 1] {\n%p = program_id : i32\n"
        "%first = cmp %p, %zero [pred = \"eq\"] : b1\nif %first {\nflag.wait %f, %zero, " +
        (strict ? "%low" : "%high") + " [pred = \"" + c.pred + "\"]\n} {\nflag.set %f, %zero, %high\n}\n}\n}\n"));
    ASSERT_COMPILED(kernel);
    for (int threads : {1, 2}) {
      int64_t flag = c.low;
      Launch launch;
      launch.tensors = {tlxjit_cpu_tensor{&flag, {1}}};
      launch.scalars = {static_cast<uint64_t>(c.low), static_cast<uint64_t>(c.high)};
      launch.grid = 2;
      launch.threads = threads;
      ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_OK) << kernel.failure.message;
      launch.grid = 1;  // nobody sets it
      flag = c.low;
      ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_DEADLOCK);
      EXPECT_EQ(kernel.failure.blocked[0].present, e == "u32" ? int64_t{static_cast<uint32_t>(c.low)} : c.low);
    }
  }
}

TEST(Flag, ADeadlockListsAllThatIsLeft) {
  const std::string text = resident(task("main", R"(%p = program_id : i32
    flag.set %x, %p, %two
    %odd = mod %p, %two : i32
    %waits = cmp %odd, %one [pred = "eq"] : b1
    if %waits {
      flag.wait %flags, %p, %two [pred = "ge"]
    } {
    }
)"));
  Kernel kernel(text);
  ASSERT_COMPILED(kernel);
  const auto module = tlxjit::parse(text);
  ASSERT_TRUE(module.ok());
  const auto ops = tlxjit::numbered_ops(*module);
  for (int threads : {1, 2, 4})
    for (int n : {2, 7, 150}) {
      Grid run(n);
      std::fill(run.flags.data.begin(), run.flags.data.end(), 1);
      ASSERT_EQ(run(kernel, threads), TLXJIT_CPU_DEADLOCK);
      EXPECT_EQ(kernel.failure.blocked_count, uint32_t(n / 2));
      for (uint32_t i = 0; i < std::min(kernel.failure.blocked_count, 64u); ++i) {
        const tlxjit_cpu_blocked& b = kernel.failure.blocked[i];
        EXPECT_EQ(b.program % 2, 1);
        EXPECT_EQ(ops[b.wait_op]->code, tlxjit::OpCode::flag_wait);
        EXPECT_EQ(ops[b.object_op]->attrs.text("name"), "flags");
        EXPECT_EQ(b.element, b.program);
        EXPECT_EQ(b.value, 2);
        EXPECT_EQ(b.present, 1);
      }
      for (int32_t x : run.x.data) EXPECT_EQ(x, 2) << "the others have ended";
      std::fill(run.flags.data.begin(), run.flags.data.end(), 2);
      ASSERT_EQ(run(kernel, threads), TLXJIT_CPU_OK) << "a later launch works";
    }
}

TEST(Flag, MoreProgramsThanCanBeLiveAreRefused) {
  Kernel kernel(resident(task("main", "flag.add %flags, %zero, %one\n")));
  ASSERT_COMPILED(kernel);
  Grid fits(256), none(0);
  EXPECT_EQ(fits(kernel, 2), TLXJIT_CPU_OK);
  EXPECT_EQ(fits.flags.data[0], 256);
  EXPECT_EQ(none(kernel, 2), TLXJIT_CPU_OK);
  Grid run(5000);
  ASSERT_EQ(run(kernel, 2), TLXJIT_CPU_TOO_MANY);
  EXPECT_NE(std::string(kernel.failure.message).find("5000 resident programs of 1 instances are more than the "),
            std::string::npos)
      << kernel.failure.message;
  EXPECT_EQ(run.flags.data[0], 0);
}

TEST(Flag, AnElementOutsideEndsTheLaunch) {
  for (const char* op :
       {"flag.wait %flags, %n, %one [pred = \"eq\"]\n", "flag.set %flags, %n, %one\n", "flag.add %flags, %n, %one\n"}) {
    Kernel kernel(resident(task("main", op)));
    ASSERT_COMPILED(kernel);
    Grid run(3);
    ASSERT_EQ(run(kernel, 2), TLXJIT_CPU_OUTSIDE);
    EXPECT_STREQ(kernel.failure.message, "index 3 is outside the 3 that there are");
  }
}

}  // namespace
}  // namespace cpu_test

// tests/unit/ir/verify_launch_test.cpp — rules of flags, residence and clusters: the exact messages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <functional>

#include "tlxjit/tlxjit.h"

namespace tlxjit {
namespace {

/// The first fault of a kernel with these declarations and a task `main` with these ops; "" if there is none.
std::string fault(const std::string& declarations, const std::string& ops, const std::string& more = "") {
  std::string text =
      "tlx 1 lowered cpu\nkernel \"k\" [threads = 128, shared_bytes = 0] {\n"
      "  %0 = dim [name = \"N\"] : i32\n  %1 = tensor %0, %0 [name = \"x\"] : tensor<2xi32>\n"
      "  %2 = const [value = 0] : i32\n  %3 = const [value = 2] : i32\n"
      "  %4 = tensor %0 [name = \"f\"] : tensor<1xf32>\n"
      "  %5 = buffer [swizzle = 0] : buffer<2, 16xi32>\n"
      "  %6 = barrier [count = 1, name = \"b\"] : barrier<2>\n  grid %0\n" +
      declarations + "  task [name = \"main\", warps = 4, replicas = 1] {\n" + ops + "  }\n" + more + "}\n";
  const auto module = parse(text);
  if (!module) return to_string(module.error());
  const auto faults = verify(*module);
  return faults.empty() ? "" : faults[0].message;
}

TEST(VerifyLaunch, Flags) {
  EXPECT_EQ(fault("resident\n", "flag.wait %1, %2, %2, %3 [pred = \"ge\"]\n"), "");
  EXPECT_EQ(fault("", "flag.set %1, %2, %2, %3\nflag.add %1, %2, %2, %3\n"), "");
  EXPECT_EQ(
      fault("", "flag.wait %1, %2, %2, %3 [pred = \"ge\"]\n"),
      "flag.wait: only a kernel marked resident may wait for a flag: the program that sets it may not have begun");
  EXPECT_EQ(fault("resident\n", "flag.wait %1, %2, %2, %3 [pred = \"above\"]\n"),
            "flag.wait: pred is eq, ne, lt, le, gt or ge");
  EXPECT_EQ(fault("", "flag.set %1, %2, %3\n"), "flag.set: takes one index per axis of tensor<2xi32>, and a value");
  EXPECT_EQ(fault("", "flag.set %4, %2, %3\n"), "flag.set: flags are i32, u32, i64 or u64, not f32");
  EXPECT_EQ(fault("", "flag.set %5, %2, %3\n"), "flag.set: works on a tensor, not on buffer<2, 16xi32>");
  EXPECT_EQ(fault("", "%7 = const [value = 2] : i64\nflag.add %1, %2, %2, %7\n"),
            "flag.add: the value is i32, not i64; cast first");
  EXPECT_EQ(fault("", "%7 = const [value = 2] : i64\nflag.add %1, %2, %7, %3\n"),
            "flag.add: indices are i32, not i64; cast first");
  EXPECT_EQ(fault("resident\nresident\n", ""), "resident: a kernel says it once");
}

TEST(VerifyLaunch, Math) {
  EXPECT_EQ(fault("math [mode = \"fast\"]\n", ""), "");
  EXPECT_EQ(fault("math [mode = \"precise\"]\n", ""), "");
  EXPECT_EQ(fault("math [mode = \"exact\"]\n", ""), "math: mode is fast or precise, not exact");
  EXPECT_EQ(fault("math [mode = \"fast\"]\nmath [mode = \"precise\"]\n", ""), "math: a kernel says it once");
  EXPECT_EQ(fault("", "math [mode = \"fast\"]\n"), "math: stands outside tasks only");
}

TEST(VerifyLaunch, Clusters) {
  EXPECT_EQ(fault("cluster [size = 16]\n", "%7 = cluster.rank : i32\ncluster.sync\n"), "");
  EXPECT_EQ(fault("cluster [size = 17]\n", ""), "cluster: has 1 to 16 programs, not 17");
  EXPECT_EQ(fault("cluster [size = 0]\n", ""), "cluster: has 1 to 16 programs, not 0");
  EXPECT_EQ(fault("cluster [size = 2]\ncluster [size = 2]\n", ""), "cluster: a kernel says it once");
  EXPECT_EQ(fault("cluster [size = 2]\n", "%7 = cluster.rank : f32\n"), "cluster.rank: gives i32");
  EXPECT_EQ(fault("", "cluster.sync\n"), "cluster.sync: the kernel has no clusters: use cluster()");
  EXPECT_EQ(fault("", "%7 = cluster.rank : i32\n"), "cluster.rank: the kernel has no clusters: use cluster()");
  EXPECT_EQ(fault("", "arrive.remote %6, %2, %2 [per = \"instance\"]\n"),
            "arrive.remote: the kernel has no clusters: use cluster()");
  EXPECT_EQ(fault("%7 = cluster.rank : i32\ncluster [size = 2]\n", ""),
            "cluster.rank: is known to programs that run: call it inside the task");
}

TEST(VerifyLaunch, RemoteAccesses) {
  const std::string c = "cluster [size = 2]\n", t = "%7 = splat %3 : tile<16xi32>\n";
  EXPECT_EQ(fault(c, t + "buffer.store.remote %5, %2, %7, %2, %6, %2\n"), "");
  EXPECT_EQ(fault(c, "arrive.remote %6, %3, %2 [per = \"warp\"]\n"),
            "arrive.remote: the barrier's slot 2 is outside the 2 that there are");
  EXPECT_EQ(fault(c, "arrive.remote %5, %2, %2 [per = \"warp\"]\n"),
            "arrive.remote: works on a barrier, not on buffer<2, 16xi32>");
  EXPECT_EQ(fault(c, "arrive.remote %6, %2, %2 [per = \"lane\"]\n"), "arrive.remote: per is instance or warp");
  EXPECT_EQ(fault(c, "arrive.remote %6, %2, %2 [per = \"warp\", pending = -1]\n"),
            "arrive.remote: pending is at least 0");
  EXPECT_EQ(fault(c, "arrive.remote %6, %2, %3 [per = \"warp\"]\n"),
            "arrive.remote: rank 2 is outside the 2 that there are");
  EXPECT_EQ(fault(c, t + "buffer.store.remote %5, %2, %7, %3, %6, %2\n"),
            "buffer.store.remote: rank 2 is outside the 2 that there are");
  EXPECT_EQ(fault(c, "%7 = const [value = 2] : i64\narrive.remote %6, %2, %7 [per = \"warp\"]\n"),
            "arrive.remote: rank is i32");
  EXPECT_EQ(fault(c, t + "buffer.store.remote %6, %2, %7, %2, %6, %2\n"),
            "buffer.store.remote: works on a buffer, not on barrier<2>");
  EXPECT_EQ(fault(c, t + "buffer.store.remote %5, %3, %7, %2, %6, %2\n"),
            "buffer.store.remote: slot 2 is outside the 2 that there are");
  EXPECT_EQ(fault(c, t + "%8 = const [value = 0] : i64\nbuffer.store.remote %5, %8, %7, %2, %6, %2\n"),
            "buffer.store.remote: slot is i32");
  EXPECT_EQ(fault(c, "%7 = splat %3 : tile<8xi32>\nbuffer.store.remote %5, %2, %7, %2, %6, %2\n"),
            "buffer.store.remote: writes tile<8xi32> to buffer<2, 16xi32>");
}

TEST(VerifyLaunch, BL_161_AConstantGridIsWholeClusters) {
  const auto message = [](int programs) {
    const auto module = parse(
        "tlx 1 lowered cpu\nkernel \"k\" [threads = 128, shared_bytes = 0] {\n"
        "  %0 = const [value = " +
        std::to_string(programs) +
        "] : i32\n  grid %0\n  cluster [size = 2]\n"
        "  task [name = \"main\", warps = 4, replicas = 1] {\n  }\n}\n");
    const auto faults = verify(*module);
    return faults.empty() ? "" : faults[0].message;
  };
  EXPECT_EQ(message(8), "");
  EXPECT_EQ(message(7), "grid: 7 programs are no multiple of the cluster of 2");
}

TEST(VerifyLaunch, BL_024_TheBarriersOfRings) {
  const auto message = [](const std::string& rings) {
    const auto module = parse("tlx 1 lowered cpu\nkernel \"k\" [threads = 128, shared_bytes = 0, rings = " + rings +
                              "] {\n  %0 = const [value = 1] : i32\n  grid %0\n"
                              "  %1 = barrier [count = 1, name = \"a\"] : barrier<2>\n"
                              "  %2 = barrier [count = 1, name = \"b\"] : barrier<2>\n"
                              "  %3 = barrier [count = 1, name = \"c\"] : barrier<1>\n"
                              "  task [name = \"main\", warps = 4, replicas = 1] {\n  }\n}\n");
    const auto faults = verify(*module);
    return faults.empty() ? "" : faults[0].message;
  };
  EXPECT_EQ(message("<>"), "");
  EXPECT_EQ(message("<0>"), "");
  for (const char* rings : {"<1>", "<2>", "<0, 3>", "<-1>", "0", "\"a\""})
    EXPECT_EQ(message(rings), "kernel 'k': rings lists barriers after each of which stands another of as many slots");
}

// It needs all threads of the cluster: a task without it would let the others wait for ever.
TEST(VerifyLaunch, BL_166_AClusterBarrierStandsInEveryTask) {
  const std::string other = "  task [name = \"other\", warps = 1, replicas = 1] {\n";
  EXPECT_EQ(fault("cluster [size = 2]\n", "cluster.sync\n", other + "cluster.sync\n  }\n"), "");
  EXPECT_EQ(fault("cluster [size = 2]\n", "cluster.sync\n", other + "  }\n"),
            "cluster.sync: it waits for every instance of the cluster, so every task has one; 'other' has none");
}

/// The fault of a kernel of clusters whose task has 2 replicas and this body; it is at the line that the body returns.
std::string fault_of_replicas(const std::function<uint32_t(Kernel&, Task&, Tiles&)>& body, int replicas = 2) {
  Kernel k{"k"};
  k.cluster(2);
  Tiles tiles = k.persistent(4, 4);
  uint32_t line = 0;
  k.task("main").warps(4).replicas(replicas).body([&](Task& t) { line = body(k, t, tiles); });
  const auto module = k.module();
  if (module) return "";
  EXPECT_EQ(module.error().location, Location(std::source_location::current().file_name(), line));
  return module.error().message;
}

// One replica would wait for ever for the other.
TEST(VerifyLaunch, BL_166_AClusterBarrierIsForEveryReplica) {
  const std::string message =
      "cluster.sync: it waits for every instance of the cluster, and a condition or trip count around it depends on "
      "the replica, so that not every one of 'main' comes to it; put it outside";
  const auto sync = [](Kernel& k, uint32_t& line) {
    line = __LINE__ + 1;
    k.cluster_sync();
  };
  const std::vector<std::function<void(Kernel&, Task&, Tiles&, uint32_t&)>> refused = {
      [&](Kernel& k, Task& t, Tiles&, uint32_t& at) { k.when(t.replica() == 0, [&] { sync(k, at); }); },
      [&](Kernel& k, Task& t, Tiles&, uint32_t& at) { k.range(t.replica() + 1).each([&] { sync(k, at); }); },
      [&](Kernel& k, Task& t, Tiles& tiles, uint32_t& at) { tiles.split(t).each([&](Index, Index) { sync(k, at); }); },
      // a variable that one replica alone sets
      [&](Kernel& k, Task& t, Tiles&, uint32_t& at) {
        Index v = k.program_id();
        k.when(t.replica() == 1, [&] { v = v + 3; });
        k.when(v > 2, [&] { sync(k, at); });
      },
      // one that a later trip of the loop sets
      [&](Kernel& k, Task& t, Tiles&, uint32_t& at) {
        Index v = k.program_id(), w = v;
        k.range(3).each([&] {
          k.when(w == 0, [&] { sync(k, at); });
          w = v;
          v = t.replica();
        });
      },
      [&](Kernel& k, Task& t, Tiles&, uint32_t& at) {
        Index i = t.replica() * 1;
        k.loop([&] { return i < 3; },
               [&] {
                 sync(k, at);
                 i = i + 1;
               });
      },
  };
  for (size_t i = 0; i < refused.size(); ++i) {
    SCOPED_TRACE(i);
    const auto body = [&](Kernel& k, Task& t, Tiles& tiles) {
      uint32_t line = 0;
      refused[i](k, t, tiles, line);
      return line;
    };
    EXPECT_EQ(fault_of_replicas(body), message);
    EXPECT_EQ(fault_of_replicas(body, 1), "") << "replica() is 0";
  }
}

TEST(VerifyLaunch, BL_166_ConditionsThatReplicasShareAreNone) {
  EXPECT_EQ(fault_of_replicas([](Kernel& k, Task& t, Tiles&) {
              Index shared = k.program_id(), own = t.replica() * 1;
              k.when(own == 0, [&] { own = own + shared; });
              k.range(shared + 1).each([&](Index i) {
                k.when(i == shared, [&] { k.cluster_sync(); });
                own = own + i;
              });
              k.when(shared == 1, [&] { k.cluster_sync(); });
              return 0u;
            }),
            "");
}

}  // namespace
}  // namespace tlxjit

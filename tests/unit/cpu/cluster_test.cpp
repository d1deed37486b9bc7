// tests/unit/cpu/cluster_test.cpp — clusters: programs that run together and reach into one another's shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/unit/cpu/plugin_p.h"
#include "tlxjit/ir/text.h"

namespace cpu_test {
namespace {

/// Clusters of `size`; x has N elements of i32, shared is 2 × 16 of i32, bar has 2 slots of one arrival.
std::string clustered(int size, const std::string& tasks, const std::string& declarations = "") {
  return numbered(R"(tlx 1 lowered cpu
kernel "clustered" [threads = 64, shared_bytes = 0] {
  %n = dim [name = "N"] : i32
  %x = tensor %n [name = "x"] : tensor<1xi32>
  %zero = const [value = 0] : i32
  %one = const [value = 1] : i32
  %size = const [value = )" +
                  std::to_string(size) + R"(] : i32
  %shared = buffer [swizzle = 0] : buffer<2, 16xi32>
  %bar = barrier [count = 1, name = "bar"] : barrier<2>
  grid %n
  cluster [size = )" +
                  std::to_string(size) + "]\n" + declarations + tasks + "}\n");
}

std::string task(const std::string& name, const std::string& ops, int replicas = 1) {
  return "  task [name = \"" + name + "\", warps = 2, replicas = " + std::to_string(replicas) + "] {\n" + ops + "  }\n";
}

tlxjit_cpu_status run(Kernel& kernel, Tensor<int32_t>& x, int threads) {
  Launch launch;
  launch.dims = {static_cast<int32_t>(x.data.size())};
  launch.tensors = {x};
  launch.grid = launch.dims[0];
  launch.threads = threads;
  return kernel.launch(launch);
}

// Rank r sends 100·p to the next rank's slot 1, which adds its own number.
const char* const send = R"(%p = program_id : i32
    %r = cluster.rank : i32
    %r1 = add %r, %one : i32
    %to = mod %r1, %size : i32
    %hundred = const [value = 100] : i32
    %v = mul %p, %hundred : i32
    %t = splat %v : tile<16xi32>
    buffer.store.remote %shared, %one, %t, %to, %bar, %one
)";
const char* const receive = R"(%p2 = program_id : i32
    expect %bar, %one [bytes = 64]
    wait %bar, %one, %zero
    %last = const [value = 15] : i32
    %w = buffer.get %shared, %one, %last : i32
    %s = add %w, %p2 : i32
    %u = splat %s : tile<1xi32>
    tile.store %x, %u, %p2 [box = <1>, ragged = -1]
)";

TEST(Cluster, RemoteStoresCompleteOnTheRemoteBarrier) {
  for (int size : {1, 2, 3, 16}) {
    Kernel together(clustered(size, task("send", send) + task("receive", receive)));
    Kernel after(clustered(size, task("receive", receive) + task("send", send)));
    Kernel one_task(clustered(size, task("both", std::string(send) + receive)));
    for (Kernel* kernel : {&together, &after, &one_task})
      for (int threads : {1, 2}) {
        ASSERT_COMPILED(*kernel);
        Tensor<int32_t> x({5 * size});
        ASSERT_EQ(run(*kernel, x, threads), TLXJIT_CPU_OK) << kernel->failure.message;
        for (int p = 0; p < 5 * size; ++p) {
          const int from = p / size * size + (p % size + size - 1) % size;
          ASSERT_EQ(x.data[size_t(p)], 100 * from + p) << size;
        }
      }
  }
}

// Rank 0 begins before the others and arrives at once at barriers of theirs. Their own waits come much later.
TEST(Cluster, BL_158_BarriersAreThereBeforeAnyPeerArrives) {
  const std::string text = clustered(4, task("main", R"(%r = cluster.rank : i32
    %p = program_id : i32
    %first = cmp %r, %zero [pred = "eq"] : b1
    if %first {
      for %zero, %size, %one {
        (%k: i32)
        arrive.remote %bar, %zero, %k [per = "instance"]
      }
    } {
    }
    wait %bar, %zero, %zero
    %t = splat %r : tile<1xi32>
    tile.store %x, %t, %p [box = <1>, ragged = -1]
)"));
  Kernel kernel(text);
  ASSERT_COMPILED(kernel);
  for (int round = 0; round < 2000; ++round) {
    Tensor<int32_t> x({8});
    ASSERT_EQ(run(kernel, x, 1 + round % 2), TLXJIT_CPU_OK) << kernel.failure.message;
    for (int p = 0; p < 8; ++p) ASSERT_EQ(x.data[size_t(p)], p % 4);
  }
}

TEST(Cluster, ArrivalsPerWarp) {
  Kernel kernel(clustered(2, task("main", R"(%r = cluster.rank : i32
    %p = program_id : i32
    %other = sub %one, %r : i32
    arrive.remote %two, %zero, %other [per = "warp"]
    wait %two, %zero, %zero
    %t = splat %r : tile<1xi32>
    tile.store %x, %t, %p [box = <1>, ragged = -1]
)"),
                          "  %two = barrier [count = 2, name = \"two\"] : barrier<1>\n"));
  ASSERT_COMPILED(kernel);
  Tensor<int32_t> x({4});
  ASSERT_EQ(run(kernel, x, 2), TLXJIT_CPU_OK) << kernel.failure.message;
  EXPECT_EQ(x.data, (std::vector<int32_t>{0, 1, 0, 1}));
}

// Three rounds of: every instance of rank r writes r + round to the next rank; all meet; it reads its own; all meet.
TEST(Cluster, SyncIsPassedByAllInstancesOrNone) {
  Kernel kernel(clustered(3, task("main", R"(%p = program_id : i32
    %r = cluster.rank : i32
    %i = replica : i32
    %r1 = add %r, %one : i32
    %to = mod %r1, %size : i32
    %two = const [value = 2] : i32
    %three = const [value = 3] : i32
    for %zero, %three, %one {
      (%k: i32)
      %v = add %r, %k : i32
      %t = splat %v : tile<16xi32>
      buffer.store.remote %shared, %i, %t, %to, %bar, %i
      expect %bar, %i [bytes = 64]
      cluster.sync
      %w = buffer.get %shared, %i, %k : i32
      %e0 = mul %p, %two : i32
      %e = add %e0, %i : i32
      flag.set %x, %e, %w
      cluster.sync
    }
)",
                                  2)));
  ASSERT_COMPILED(kernel);
  for (int threads : {1, 2}) {
    Tensor<int32_t> x({12});
    Launch launch;
    launch.dims = {12};
    launch.tensors = {x};
    launch.grid = 6;
    launch.threads = threads;
    ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_OK) << kernel.failure.message;
    for (int p = 0; p < 6; ++p)
      for (int i = 0; i < 2; ++i) EXPECT_EQ(x.data[size_t(2 * p + i)], (p % 3 + 2) % 3 + 2);
  }
}

TEST(Cluster, AMissingInstanceIsADeadlock) {
  const std::string text = clustered(2, task("main", R"(%r = cluster.rank : i32
    %first = cmp %r, %zero [pred = "eq"] : b1
    if %first {
      cluster.sync
    } {
    }
)"));
  Kernel kernel(text);
  ASSERT_COMPILED(kernel);
  const auto module = tlxjit::parse(text);
  ASSERT_TRUE(module.ok());
  const auto ops = tlxjit::numbered_ops(*module);
  Tensor<int32_t> x({2});
  ASSERT_EQ(run(kernel, x, 1), TLXJIT_CPU_DEADLOCK);
  ASSERT_EQ(kernel.failure.blocked_count, 1u);
  EXPECT_EQ(ops[kernel.failure.blocked[0].wait_op]->code, tlxjit::OpCode::cluster_sync);
  EXPECT_EQ(kernel.failure.blocked[0].program, 0);
  EXPECT_EQ(kernel.failure.blocked[0].arrivals, 1);
}

TEST(Cluster, ARankOutsideEndsTheLaunch) {
  for (const char* op : {"%r = add %size, %zero : i32\narrive.remote %bar, %zero, %r [per = \"instance\"]\n",
                         "%r = add %size, %zero : i32\n%t = splat %one : tile<16xi32>\n"
                         "buffer.store.remote %shared, %one, %t, %r, %bar, %zero\n"}) {
    Kernel kernel(clustered(2, task("main", op)));
    ASSERT_COMPILED(kernel);
    Tensor<int32_t> x({2});
    ASSERT_EQ(run(kernel, x, 1), TLXJIT_CPU_OUTSIDE);
    EXPECT_STREQ(kernel.failure.message, "index 2 is outside the 2 that there are");
  }
}

// Clusters that are all live: each waits for the next one.
TEST(Cluster, ResidentClusters) {
  Kernel kernel(clustered(2, task("main", R"(%p = program_id : i32
    %g = num_programs : i32
    cluster.sync
    flag.set %x, %p, %one
    %q1 = add %p, %size : i32
    %q = mod %q1, %g : i32
    flag.wait %x, %q, %one [pred = "ge"]
)"),
                          "  resident\n"));
  ASSERT_COMPILED(kernel);
  for (int threads : {1, 2, 3}) {
    Tensor<int32_t> x({12});
    std::fill(x.data.begin(), x.data.end(), 0);
    ASSERT_EQ(run(kernel, x, threads), TLXJIT_CPU_OK) << kernel.failure.message;
    for (int32_t v : x.data) EXPECT_EQ(v, 1);
  }
}

}  // namespace
}  // namespace cpu_test

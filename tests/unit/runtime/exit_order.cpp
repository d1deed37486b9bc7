// tests/unit/runtime/exit_order.cpp — a program that ends in the way that its argument says, an engine still there.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>

#include "tlxjit/tlxjit.h"

namespace {

using namespace tlxjit;

EngineOptions options() {
  EngineOptions o;
  o.cpu_plugin = TLXJIT_TEST_PLUGIN;
  o.cpu_threads = 3;
  o.libcuda = TLXJIT_QUIET_LIBCUDA;
  return o;
}

/// Adds 1 to every element; `length` makes LLVM work longer.
Kernel kernel(int length) {
  Kernel k{"count"};
  const Index n = k.dim("N");
  auto x = k.tensor<float>("x", {n});
  k.grid(n);
  k.task("main").warps(1).body([&](Task& t) {
    const Index p = k.program_id();
    Tile row = t.iota({1, 32}, 1).to<float>();
    Tile sums = t.full<float>({1}, 0.0f);
    for (int i = 0; i < length; ++i) {
      sums = sums + sum(row, 1);
      row = row + 1.0f;
    }
    x.store({p}, sums);
  });
  return k;
}

/// What of a GPU is still there at the end: the driver, which runs nothing, has gone before.
struct OfGpu {
  Device device;
  Buffer memory;
  Stream stream;
  std::optional<Executable> exe;
};

bool use_gpu(Engine& engine, OfGpu& gpu) {
  auto device = engine.device("cuda:0");
  if (!device) return std::fprintf(stderr, "%s\n", to_string(device.error()).c_str()), false;
  gpu.device = *device;
  auto memory = device->allocate(64 * sizeof(float));
  auto stream = device->stream();
  if (!memory || !stream) return false;
  gpu.memory = *memory, gpu.stream = *stream;
  Kernel k{"ones"};
  const Tensor x = k.tensor<float>("x", {k.dim("N")});
  k.grid(1);
  k.task("main").body([&](Task& t) { x.store({0}, maximum(t.full<float>({64, 8}, 1.f), 1)); });
  auto exe = engine.compile(k, *device);
  if (!exe) return exe.error().code == ErrorCode::library_missing;  // without NVRTC: memory and a stream
  gpu.exe = *exe;
  return exe->launch(gpu.stream, {gpu.memory.tensor<float>({64})}).ok();
}

bool compile_and_run(Engine& engine) {
  auto device = engine.device("cpu");
  if (!device) return false;
  auto exe = engine.compile(kernel(1), *device);
  std::vector<float> x(100, 0);
  return exe && exe->launch({tensor<float>(x.data(), {100})}) && x[99] == 496;
}

Engine static_engine{options()};
OfGpu static_gpu;

}  // namespace

int main(int argc, char** argv) {
  const std::string_view way = argc > 1 ? argv[1] : "";
  if (way == "before") {  // an engine made in main outlives nothing, the static one is used after it
    Engine engine(options());
    if (!compile_and_run(engine)) return 2;
  }
  static Executable* const kept = [] {
    auto exe = static_engine.compile(kernel(1), *static_engine.device("cpu"));
    return exe ? new Executable(*exe) : nullptr;
  }();
  if (!kept || !compile_and_run(static_engine)) return 2;
  if (way == "compiling") {  // a compile that was left behind still runs
    CompileOptions limited;
    limited.time_limit = std::chrono::milliseconds(1);
    if (static_engine.compile(kernel(1500), *static_engine.device("cpu"), limited)) return 3;
  }
  if (way == "atexit") {
    std::atexit([] {
      if (!compile_and_run(static_engine)) std::_Exit(4);
    });
  }
  if (way == "gpu" && !use_gpu(static_engine, static_gpu)) return 5;
  if (way == "abort") {  // as of a service that ends by itself what aborts
    std::signal(SIGABRT, [](int) { std::_Exit(0); });
  }
  std::puts("done");
  std::fflush(stdout);
  if (way == "exit") std::exit(0);
  if (way == "quick_exit") std::quick_exit(0);
  if (way == "abort") std::abort();
  if (way == "thread") std::thread([] { std::exit(0); }).join();
  return 0;
}

// tests/unit/runtime/exit_order.cpp — a program that ends in the way that its argument says, an engine still there.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "tlxjit/tlxjit.h"

namespace {

using namespace tlxjit;

EngineOptions options() {
  EngineOptions o;
  o.cpu_plugin = TLXJIT_TEST_PLUGIN;
  o.cpu_threads = 3;
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

bool compile_and_run(Engine& engine) {
  auto device = engine.device("cpu");
  if (!device) return false;
  auto exe = engine.compile(kernel(1), *device);
  std::vector<float> x(100, 0);
  return exe && exe->launch({tensor<float>(x.data(), {100})}) && x[99] == 496;
}

Engine static_engine{options()};

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
  std::puts("done");
  std::fflush(stdout);
  if (way == "exit") std::exit(0);
  if (way == "quick_exit") std::quick_exit(0);
  if (way == "thread") std::thread([] { std::exit(0); }).join();
  return 0;
}

// samples/first_kernel/main.cpp — y = a · x + y, all of a program: the kernel, an engine, memory, a launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

#include "tlxjit/core/throwing.h"
#include "tlxjit/tlxjit.h"

using namespace tlxjit;

Kernel saxpy() {
  constexpr int piece = 1024;
  Kernel k{"saxpy"};
  auto n = k.dim("N");
  auto x = k.tensor<float>("x", {n});
  auto y = k.tensor<float>("y", {n});
  auto a = k.scalar<float>("a");
  k.grid(ceil_div(n, piece));
  k.task("main").warps(4).body([&] {
    const Index at = k.program_id() * piece;
    const Tile sum = a * x.load_tile({at}, {piece}) + y.load_tile({at}, {piece});
    y.store({at}, sum);
  });
  return k;
}

int main() try {
  Engine engine;
  const Device device = unwrap(engine.device("cpu"));
  const Executable exe = unwrap(engine.compile(saxpy(), device));

  const int64_t n = 5000;
  std::vector<float> x(n), y(n, 1.f);
  std::iota(x.begin(), x.end(), 0.f);
  const Buffer on_device_x = unwrap(device.upload(x)), on_device_y = unwrap(device.upload(y));
  unwrap(exe.launch({on_device_x.tensor<float>({n}), on_device_y.tensor<float>({n}), 2.f}));
  unwrap(device.synchronize());
  unwrap(on_device_y.download(y));

  for (int64_t i = 0; i < n; ++i)
    if (y[static_cast<size_t>(i)] != 2.f * static_cast<float>(i) + 1) return std::puts("wrong"), 1;
  std::puts("right");
} catch (const Failure& failure) {
  std::puts(failure.what());
  return 1;
}

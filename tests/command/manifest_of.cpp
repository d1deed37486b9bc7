// tests/command/manifest_of.cpp — a program with a function over the kernel of a file, a sum of two tensors: makes some
// calls, prints its manifest, and on standard error how many kernels came from disk.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <fstream>
#include <sstream>

#include "tlxjit/ir/text.h"
#include "tlxjit/runtime/jit_function.h"

using namespace tlxjit;

namespace {

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", to_string(result.error()).c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: manifest_of KERNEL.tlx\n"), 2;
  std::ifstream file(argv[1]);
  std::stringstream text;
  text << file.rdbuf();
  const Module kernel = must(parse(text.str()));
  const Engine engine;
  const Device device = must(engine.device(Device::cpu));
  std::string manifest;
  {
    JitOptions options;
    options.tier = Tier::Wait;
    options.numbers = {{"N", Policy::buckets({16, 100})}};
    options.tensors = {{"y", {.aligned = true, .narrow = false, .strides = true}}};
    const JitFunction add(engine, device, "add", kernel, options);
    for (const int64_t n : {8, 50, 200, 300}) {
      std::vector<float> x(512), y(512), z(512);
      for (const int64_t offset : {0, 1}) {
        auto done = add.launch(
            {tensor<float>(x.data() + offset, {n}), tensor<float>(y.data(), {n}), tensor<float>(z.data(), {n})});
        if (!done) return std::fprintf(stderr, "%s\n", to_string(done.error()).c_str()), 1;
      }
    }
    std::fputs(add.manifest().c_str(), stdout);
  }
  const EngineCounters counters = engine.counters();
  std::fprintf(stderr, "%llu from disk, %llu not\n", static_cast<unsigned long long>(counters.disk_hits),
               static_cast<unsigned long long>(counters.disk_misses));
}

// tests/command/manifest_of.cpp — a program with a function over the kernel of a file, a sum of two tensors or with
// --as a product: makes some calls, or with --prepare none, prints its manifest, and on standard error how many kernels
// came from disk.
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

void must(const Result<void>& result) {
  if (result) return;
  std::fprintf(stderr, "%s\n", to_string(result.error()).c_str());
  std::exit(1);
}

void add(const JitFunction& f, bool prepare) {
  for (const int64_t n : {8, 50, 200, 300}) {
    std::vector<float> x(512), y(512), z(512);
    for (const int64_t offset : {0, 1}) {
      const std::initializer_list<Argument> call = {tensor<float>(x.data() + offset, {n}), tensor<float>(y.data(), {n}),
                                                    tensor<float>(z.data(), {n})};
      must(prepare ? f.prepare(call) : f.launch(call));
    }
  }
}

void multiply(const JitFunction& f, bool prepare) {
  std::vector<bf16> a(64 * 64), b(64 * 64), d(64 * 64);
  const std::initializer_list<Argument> call = {tensor<bf16>(a.data(), {64, 64}), tensor<bf16>(b.data(), {64, 64}),
                                                tensor<bf16>(d.data(), {64, 64})};
  must(prepare ? f.prepare(call) : f.launch(call));
}

}  // namespace

int main(int argc, char** argv) {
  std::string kernel_file, as;
  bool prepare = false;
  EngineOptions engine_options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--prepare")
      prepare = true;
    else if (word == "--as" && i + 1 < argc)
      as = argv[++i];
    else if (word == "--bundle" && i + 1 < argc)
      engine_options.cache_bundles.emplace_back(argv[++i]);
    else
      kernel_file = word;
  }
  std::ifstream file(kernel_file);
  std::stringstream text;
  text << file.rdbuf();
  const Module kernel = must(parse(text.str()));
  const Engine engine(engine_options);
  const Device device = must(engine.device(Device::cpu));
  {
    JitOptions options;
    options.tier = Tier::wait;
    options.compile.as = as;
    if (as.empty()) {
      options.numbers = {{"N", Policy::buckets({16, 100})}};
      options.tensors = {{"y", {.aligned = true, .narrow = false, .strides = true}}};
    }
    const JitFunction f(engine, device, as.empty() ? "add" : "product", kernel, options);
    as.empty() ? add(f, prepare) : multiply(f, prepare);
    std::fputs(f.manifest().c_str(), stdout);
  }
  const EngineCounters counters = engine.counters();
  std::fprintf(stderr, "%llu from disk, %llu not, %llu compiled\n", static_cast<unsigned long long>(counters.disk_hits),
               static_cast<unsigned long long>(counters.disk_misses),
               static_cast<unsigned long long>(counters.compiles));
}

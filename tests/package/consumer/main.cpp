// tests/package/consumer/main.cpp — runs a kernel between two uses of the host's own LLVM.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlfcn.h>
#include <tlxjit/tlxjit.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace tlxjit;

namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

/// A function of LLVM's C interface, out of the host's shared library.
template <class F>
F* llvm(const char* name) {
  static void* const library = dlopen(HOST_LLVM, RTLD_NOW | RTLD_GLOBAL);
  if (!library) fail(dlerror());
  void* symbol = dlsym(library, name);
  if (!symbol) fail(name);
  return reinterpret_cast<F*>(symbol);
}

/// Parses command line options, which every LLVM registers once, and makes and verifies an empty module.
void use_the_hosts_llvm() {
  const char* arguments[] = {"consumer", "-time-passes=false"};
  llvm<void(int, const char* const*, const char*)>("LLVMParseCommandLineOptions")(2, arguments, "");
  void* context = llvm<void*()>("LLVMContextCreate")();
  void* module = llvm<void*(const char*, void*)>("LLVMModuleCreateWithNameInContext")("module", context);
  char* message = nullptr;
  if (llvm<int(void*, int, char**)>("LLVMVerifyModule")(module, 2, &message)) fail("the host's LLVM is broken");
  llvm<void(char*)>("LLVMDisposeMessage")(message);
  llvm<void(void*)>("LLVMDisposeModule")(module);
  llvm<void(void*)>("LLVMContextDispose")(context);
}

template <class T>
T must(Result<T> result) {
  if (!result) fail(to_string(result.error()).c_str());
  return std::move(*result);
}

/// d = a · bᵀ by the library's GEMM, element by element against a sum in double.
void run_a_kernel(const Device& device, const Engine& engine) {
  constexpr int m = 37, n = 29, k = 24;
  std::vector<bf16> a(m * k), b(n * k), d(m * n, 7.f);
  for (int i = 0; i < m * k; ++i) a[i] = float(i % 7 - 3);
  for (int i = 0; i < n * k; ++i) b[i] = float(i % 5 - 2);
  const Executable exe = must(engine.compile(gemm(gemm_config(device.target())), device));
  const auto done =
      exe.launch({tensor<bf16>(a.data(), {m, k}), tensor<bf16>(b.data(), {n, k}), tensor<bf16>(d.data(), {m, n})});
  if (!done.ok()) fail(to_string(done.error()).c_str());
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int s = 0; s < k; ++s) sum += double(float(a[i * k + s])) * double(float(b[j * k + s]));
      // Whole numbers of at most 8 bits: exact in bf16.
      if (double(float(d[i * n + j])) != sum) fail("a wrong result");
    }
}

bool llvm_is_loaded() {
  void* library = dlopen(HOST_LLVM, RTLD_NOW | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library != nullptr;
}

}  // namespace

int main() {
  const bool before = llvm_is_loaded();
  if (before) use_the_hosts_llvm();
  const Engine engine;
  const Device device = must(engine.device("cpu"));
  run_a_kernel(device, engine);
  use_the_hosts_llvm();
  run_a_kernel(device, engine);
  std::printf("right; the host's LLVM came %s\n", before ? "first" : "second");
  return 0;
}

// tests/unit/cpu/plugin_p.h — loads the CPU plug-in and runs kernels given as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "src/runtime/cpu_plugin_p.h"
#include "tests/support/seeds.h"

namespace cpu_test {

inline const tlxjit_cpu_backend& backend() {
  static const tlxjit_cpu_backend* table = [] {
    void* library = dlopen(TLXJIT_CPU_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      ADD_FAILURE() << dlerror();
      std::abort();
    }
    auto* entry = reinterpret_cast<const tlxjit_cpu_backend* (*)()>(dlsym(library, "tlxjit_backend_v1"));
    return entry();
  }();
  return *table;
}

/// Random numbers of today.
class Random {
 public:
  float real(float low = -1, float high = 1) { return std::uniform_real_distribution<float>(low, high)(engine_); }
  int integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }

 private:
  std::mt19937_64 engine_{tlxjit::seed_of_today()};
};

struct bf16 {
  uint16_t bits = 0xffff;
  bf16() = default;
  explicit bf16(float x) {
    uint32_t u;
    std::memcpy(&u, &x, 4);
    bits = std::isnan(x) ? uint16_t(u >> 16 | 0x40) : uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16);
  }
  explicit operator float() const {
    const uint32_t u = uint32_t(bits) << 16;
    float x;
    std::memcpy(&x, &u, 4);
    return x;
  }
};

/// A dense tensor; `poisoned` ones hold NaN or all ones.
template <class T>
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<T> data;

  explicit Tensor(std::vector<int64_t> s) : shape(std::move(s)) {
    size_t n = 1;
    for (int64_t d : shape) n *= static_cast<size_t>(d);
    data.resize(n);
    if (n != 0) std::memset(static_cast<void*>(data.data()), 0xff, n * sizeof(T));
  }
  void fill(Random& random) {
    for (T& x : data) x = T(random.real());
  }
  operator tlxjit_cpu_tensor() {
    tlxjit_cpu_tensor t{data.data(), {}};
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      t.strides[i] = stride;
      stride *= shape[i];
    }
    return t;
  }
};

struct Launch {
  std::vector<int32_t> dims;
  std::vector<tlxjit_cpu_tensor> tensors;
  std::vector<uint64_t> scalars;
  int32_t* workspace = nullptr;
  int32_t grid = 1;
  int32_t threads = 2;
};

class Kernel {
 public:
  explicit Kernel(const std::string& text, const char* without_features = nullptr) {
    const tlxjit_cpu_options options{without_features, keep, &image, nullptr, nullptr};
    status = backend().compile(text.data(), text.size(), &options, &kernel_, &failure);
  }
  explicit Kernel(const std::vector<char>& bytes) {
    status = backend().load(bytes.data(), bytes.size(), &kernel_, &failure);
  }
  ~Kernel() {
    if (kernel_) backend().destroy(kernel_);
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  tlxjit_cpu_status launch(const Launch& l) {
    const tlxjit_cpu_launch launch{l.dims.data(), l.tensors.data(), l.scalars.data(), l.workspace,
                                   l.grid,        l.threads,        nullptr,          nullptr};
    return status = backend().launch(kernel_, &launch, &failure);
  }

  /// As `launch`, for several threads at once.
  tlxjit_cpu_status launch_raw(const tlxjit_cpu_launch& l, tlxjit_cpu_failure& f) {
    return backend().launch(kernel_, &l, &f);
  }

  tlxjit_cpu_status status;
  tlxjit_cpu_failure failure{};
  std::vector<char> image;  ///< empty where it was loaded

 private:
  static void keep(void* to, const char* bytes, size_t size) {
    static_cast<std::vector<char>*>(to)->assign(bytes, bytes + size);
  }
  tlxjit_cpu_kernel* kernel_ = nullptr;
};

#define ASSERT_COMPILED(k) \
  ASSERT_EQ((k).status, TLXJIT_CPU_OK) << (k).failure.message << " (op " << (k).failure.op << ")"

inline std::string read(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Gives the values of a text, written as words, the numbers that the text form wants.
inline std::string numbered(const std::string& text) {
  std::map<std::string, int> numbers;
  std::string out;
  for (size_t i = 0; i < text.size();) {
    out += text[i++];
    if (out.back() != '%') continue;
    size_t end = i;
    while (end < text.size() && (isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    const int next = static_cast<int>(numbers.size());
    out += std::to_string(numbers.try_emplace(text.substr(i, end - i), next).first->second);
    i = end;
  }
  return out;
}

/// x[p] = 2p, a program for each.
inline const char* const doubles_text = R"(tlx 1 lowered cpu
kernel "small" [threads = 32, shared_bytes = 0] {
  %n = dim [name = "N"] : i32
  %x = tensor %n [name = "x"] : tensor<1xi32>
  %two = const [value = 2] : i32
  grid %n
  task [name = "main", warps = 1, replicas = 1, registers = 0] {
    %p = program_id : i32
    %q = mul %p, %two : i32
    %t = splat %q : tile<1xi32>
    tile.store %x, %t, %p [box = <1>, ragged = -1]
  }
}
)";

/// Runs the kernel of doubles_text; whether its results are right.
inline bool doubles(Kernel& kernel, int32_t programs = 8, int32_t threads = 2) {
  Tensor<int32_t> x({programs});
  Launch launch;
  launch.dims = {programs};
  launch.tensors = {x};
  launch.grid = programs;
  launch.threads = threads;
  if (kernel.launch(launch) != TLXJIT_CPU_OK) return false;
  for (int32_t p = 0; p < programs; ++p)
    if (x.data[size_t(p)] != 2 * p) return false;
  return true;
}

template <class T>
uint64_t bits_of(T x) {
  uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof x);
  return bits;
}

}  // namespace cpu_test

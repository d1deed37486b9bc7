// tests/kernels/fixture.h — where the kernels are tested, and tensors that show stray accesses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/seeds.h"
#include "tlxjit/tlxjit.h"

namespace kernels_test {

using namespace tlxjit;

/// A device, and on the CPU the target whose lowering it runs.
struct Where {
  const char* device;
  const char* as;
  const char* name;

  std::string target() const { return *as ? as : std::string(device) == "cpu" ? "cpu" : "sm_90a"; }
  bool tensor_maps() const { return target() != "cpu"; }
  /// More and larger cases where they cost little.
  bool fast() const { return std::string(device) != "cpu"; }
};

/// For names of tests that are the same in every run.
inline void PrintTo(const Where& where, std::ostream* out) { *out << where.name; }

inline EngineOptions engine_options() {
  EngineOptions options;
#ifdef TLXJIT_TEST_PLUGIN
  // The build tree; a bundle has the plug-in where the engine looks.
  if (!std::getenv("TLXJIT_CPU_PLUGIN") && std::filesystem::exists(TLXJIT_TEST_PLUGIN))
    options.cpu_plugin = TLXJIT_TEST_PLUGIN;
#endif
  return options;
}

#define TLXJIT_MUST(result) ASSERT_TRUE((result).ok()) << ::tlxjit::to_string((result).error())

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t integer(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  float real() { return std::uniform_real_distribution<float>(-1, 1)(engine_); }
  bool chance(double p) { return std::bernoulli_distribution(p)(engine_); }
  template <class T>
  T among(std::initializer_list<T> choices) {
    return choices.begin()[integer(0, static_cast<int64_t>(choices.size()) - 1)];
  }

 private:
  std::mt19937_64 engine_;
};

/// A tensor whose rows have gaps and which lies between guards. All that is not set is NaN.
template <class T>
class TestTensor {
 public:
  static constexpr int64_t guard = 256;

  /// Strides are multiples of 16 bytes with up to three times that between rows, or packed where `packed`.
  TestTensor(std::vector<int64_t> dims, Random& random, bool packed = false) : dims_(std::move(dims)) {
    const auto unit = static_cast<int64_t>(16 / sizeof(T));
    strides_.resize(dims_.size());
    int64_t stride = 1;
    for (size_t i = dims_.size(); i-- > 0;) {
      strides_[i] = stride;
      stride *= std::max<int64_t>(dims_[i], 1);
      if (!packed) stride = (stride + unit - 1) / unit * unit + unit * random.integer(0, 3);
    }
    data_.resize(static_cast<size_t>(stride + 2 * guard));
    std::memset(static_cast<void*>(data_.data()), 0xff, bytes());
  }

  const std::vector<int64_t>& dims() const { return dims_; }
  size_t bytes() const { return data_.size() * sizeof(T); }
  template <class... I>
  T& operator()(I... index) {
    const int64_t at[] = {static_cast<int64_t>(index)...};
    int64_t offset = guard;
    for (size_t i = 0; i < sizeof...(I); ++i) offset += at[i] * strides_[i];
    return data_[static_cast<size_t>(offset)];
  }

  TensorArg on(const Device& device) {
    auto buffer = device.upload(data_);
    if (!buffer) {
      ADD_FAILURE() << to_string(buffer.error());
      return {};
    }
    buffer_ = *buffer;
    before_ = data_;
    TensorArg t;
    t.data = static_cast<T*>(buffer_.data()) + guard;
    t.elem = elem_of<T>;
    t.rank = static_cast<int>(dims_.size());
    for (size_t i = 0; i < dims_.size(); ++i) t.dims[i] = dims_[i], t.strides[i] = strides_[i];
    t.capacity = static_cast<int64_t>(bytes()) - guard * static_cast<int64_t>(sizeof(T));
    return t;
  }
  void download() {
    if (auto done = buffer_.download(data_); !done) ADD_FAILURE() << to_string(done.error());
    read_.assign(data_.size(), false);
  }
  /// Reads an element of the result, which may then have changed.
  template <class... I>
  double result(I... index) {
    T& x = (*this)(index...);
    read_[static_cast<size_t>(&x - data_.data())] = true;
    return static_cast<double>(static_cast<float>(x));
  }
  /// How many elements have changed of those that nobody asked for with `result`.
  size_t strays() const {
    size_t n = 0;
    for (size_t i = 0; i < data_.size(); ++i)
      if (!read_[i] && std::memcmp(&data_[i], &before_[i], sizeof(T)) != 0) ++n;
    return n;
  }

 private:
  std::vector<int64_t> dims_, strides_;
  std::vector<T> data_, before_;
  std::vector<bool> read_;
  Buffer buffer_;
};

/// Compiles each kernel once. Skipped where the device is not there.
class KernelTest : public ::testing::TestWithParam<Where> {
 protected:
  void SetUp() override {
    auto found = engine().device(GetParam().device);
    if (found)
      device_.emplace(*found);
    else if (GetParam().fast())
      GTEST_SKIP() << "NOT RUN: " << to_string(found.error());
    else
      FAIL() << to_string(found.error());
  }
  const Device& device() const { return *device_; }
  static Engine& engine() {
    static Engine engine(engine_options());
    return engine;
  }
  Result<Executable> compile(const Kernel& kernel) {
    CompileOptions options;
    options.as = GetParam().as;
    return engine().compile(kernel, device(), options);
  }
  /// Calls `one(random)` for each of seeds(count).
  template <class Case>
  void cases(int count, Case&& one) {
    for_seeds(count, [&](uint64_t seed) {
      Random random(seed);
      one(random);
    });
  }

 private:
  std::optional<Device> device_;
};

#ifdef TLXJIT_TEST_GPU
inline const auto places = ::testing::Values(Where{"cuda:0", "", "cuda"});
#else
inline const auto places = ::testing::Values(Where{"cpu", "", "cpu"}, Where{"cpu", "sm_90a", "cpu_as_sm_90a"});
#endif
/// f32 kernels are for the CPU so far: their suites are made there and nowhere else.
inline const auto f32_places = ::testing::Values(Where{"cpu", "", "cpu"});
inline std::string place_name(const ::testing::TestParamInfo<Where>& info) { return info.param.name; }

}  // namespace kernels_test

// tests/tiles/fixture.h — kernels of one program on the CPU, tensors in host memory, seeds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/reference/axis.h"
#include "tests/support/seeds.h"
#include "tlxjit/tlxjit.h"

namespace tiles_test {

using namespace tlxjit;
using reference::Extents;

#define TLXJIT_MUST(result) ASSERT_TRUE((result).ok()) << ::tlxjit::to_string((result).error())

inline EngineOptions engine_options() {
  EngineOptions options;
  options.cpu_plugin = TLXJIT_TEST_PLUGIN;
  return options;
}
inline Engine& engine() {
  static Engine engine(engine_options());
  return engine;
}
inline Device cpu(const Engine& engine = tiles_test::engine()) { return *engine.device(Device::cpu); }

/// Compiles the kernel and runs it once.
inline Result<void> run(const Kernel& kernel, const std::vector<Argument>& arguments,
                        const Engine& engine = tiles_test::engine()) {
  auto exe = engine.compile(kernel, cpu(engine));
  if (!exe) return exe.error();
  return exe->launch(Stream(), std::span<const Argument>(arguments));
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t integer(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  double real(double low = -1, double high = 1) { return std::uniform_real_distribution<double>(low, high)(engine_); }
  template <class T>
  T among(std::initializer_list<T> choices) {
    return choices.begin()[integer(0, static_cast<int64_t>(choices.size()) - 1)];
  }
  /// Extents of a tile of 1 to 5 axes, some odd, at most `most` elements.
  Extents extents(int least_rank = 1, int most_rank = 5, int64_t most = 4096) {
    Extents shape;
    const int64_t rank = integer(least_rank, most_rank);
    for (int64_t i = 0; i < rank; ++i) {
      int64_t extent = among<int64_t>({1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 33, 48, 64, 127});
      while (extent > 1 && reference::elements(shape) * extent > most) extent /= 2;
      shape.push_back(extent);
    }
    return shape;
  }

 private:
  std::mt19937_64 engine_;
};

/// Calls `one(random)` for each of seeds(count).
template <class One>
void draws(int count, One&& one) {
  for_seeds(count, [&](uint64_t seed) {
    Random random(seed);
    one(random);
  });
}

inline Shape shape_of(const Extents& extents) {
  Shape shape;
  for (int64_t extent : extents) shape.dim[shape.rank++] = extent;
  return shape;
}

/// The host's type for an element type; b1 is a byte.
template <Elem>
struct HostOf;
template <>
struct HostOf<Elem::b1> {
  using T = uint8_t;
};
template <>
struct HostOf<Elem::i8> {
  using T = int8_t;
};
template <>
struct HostOf<Elem::i16> {
  using T = int16_t;
};
template <>
struct HostOf<Elem::i32> {
  using T = int32_t;
};
template <>
struct HostOf<Elem::i64> {
  using T = int64_t;
};
template <>
struct HostOf<Elem::u8> {
  using T = uint8_t;
};
template <>
struct HostOf<Elem::u16> {
  using T = uint16_t;
};
template <>
struct HostOf<Elem::u32> {
  using T = uint32_t;
};
template <>
struct HostOf<Elem::u64> {
  using T = uint64_t;
};
template <>
struct HostOf<Elem::f16> {
  using T = f16;
};
template <>
struct HostOf<Elem::bf16> {
  using T = bf16;
};
template <>
struct HostOf<Elem::f32> {
  using T = float;
};
template <>
struct HostOf<Elem::f64> {
  using T = double;
};
template <Elem E>
using Host = typename HostOf<E>::T;

template <Elem E>
inline constexpr bool is_real = E >= Elem::f16;
template <Elem E>
inline constexpr bool is_signed = E >= Elem::i8 && E <= Elem::i64;

/// Calls `fn` with each element type that tiles compute with, as a template argument.
template <class Fn>
void each_number(Fn&& fn) {
  fn.template operator()<Elem::i8>();
  fn.template operator()<Elem::i16>();
  fn.template operator()<Elem::i32>();
  fn.template operator()<Elem::i64>();
  fn.template operator()<Elem::u8>();
  fn.template operator()<Elem::u16>();
  fn.template operator()<Elem::u32>();
  fn.template operator()<Elem::u64>();
  fn.template operator()<Elem::f16>();
  fn.template operator()<Elem::bf16>();
  fn.template operator()<Elem::f32>();
  fn.template operator()<Elem::f64>();
}

/// Elements of a tensor in host memory, packed; all ones (NaN) until they are set.
template <Elem E>
struct Data {
  Extents dims;
  std::vector<Host<E>> data;

  explicit Data(Extents extents) : dims(std::move(extents)), data(static_cast<size_t>(reference::elements(dims))) {
    if (!data.empty()) std::memset(static_cast<void*>(data.data()), 0xff, data.size() * sizeof(Host<E>));
  }
  Host<E>& operator[](int64_t i) { return data[static_cast<size_t>(i)]; }
  operator Argument() {
    TensorArg t;
    t.data = data.data();
    t.elem = E;
    t.rank = static_cast<int>(dims.size());
    int64_t stride = 1;
    for (size_t i = dims.size(); i-- > 0; stride *= dims[i]) t.dims[i] = dims[i], t.strides[i] = stride;
    return t;
  }
};

/// Equal bits, or both NaN.
template <class T>
bool same(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0 ||
         (std::isnan(static_cast<double>(a)) && std::isnan(static_cast<double>(b))) ||
         (static_cast<double>(a) == 0 && static_cast<double>(b) == 0);
}

/// A kernel of one program and one task.
template <class Body>
void in_task(Kernel& k, Body&& body) {
  k.grid(1);
  k.task("main").body(std::forward<Body>(body));
}

}  // namespace tiles_test

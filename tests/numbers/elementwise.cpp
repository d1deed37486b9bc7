// tests/numbers/elementwise.cpp — kernels of one expression; codes of elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/numbers/elementwise.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "tests/reference/small_float.h"

namespace numbers_test {

Engine& engine() {
  static auto* engine = [] {
    EngineOptions options;
    options.cpu_plugin = TLXJIT_TEST_PLUGIN;
    return new Engine(options);
  }();
  return *engine;
}

namespace {

constexpr int64_t width = 256;  // of a tile

int size_of(Elem elem) { return elem == Elem::f4e2m1 ? 8 : bits(elem); }

Elem container(Elem elem) {
  if (elem == Elem::b1) return Elem::b1;
  return size_of(elem) == 8 ? Elem::u8 : size_of(elem) == 16 ? Elem::u16 : size_of(elem) == 32 ? Elem::u32 : Elem::u64;
}

Tile contained(const Tile& x) { return x.elem() == container(x.elem()) ? x : bitcast(x, container(x.elem())); }
Tile uncontained(const Tile& x, Elem elem) { return x.elem() == elem ? x : bitcast(x, elem); }

/// Memory of codes as a tensor of their container type.
struct Memory {
  Elem elem;
  std::vector<uint8_t> bytes_of;
  Memory(Elem e, size_t n) : elem(e), bytes_of(n * static_cast<size_t>(bytes(e)), 0xff) {}
  TensorArg arg() const { return tensor(elem, bytes_of.data(), {static_cast<int64_t>(bytes_of.size()) / bytes(elem)}); }
  void put(const Codes& codes) {
    for (size_t i = 0; i < codes.size(); ++i) std::memcpy(&bytes_of[i * size()], &codes[i], size());
  }
  Codes get() const {
    Codes codes(bytes_of.size() / size());
    for (size_t i = 0; i < codes.size(); ++i) std::memcpy(&codes[i], &bytes_of[i * size()], size());
    return codes;
  }
  size_t size() const { return static_cast<size_t>(bytes(elem)); }
};

void launch(const Kernel& k, const std::vector<Argument>& arguments) {
  const auto device = engine().device("cpu");
  ASSERT_TRUE(device.ok()) << to_string(device.error());
  const auto exe = engine().compile(k, *device);
  ASSERT_TRUE(exe.ok()) << to_string(exe.error()) << exe.error().log;
  const auto done = exe->launch(Stream(), std::span<const Argument>(arguments));
  ASSERT_TRUE(done.ok()) << to_string(done.error());
}

/// 64 well mixed bits of each index.
Tile mixed(const Tile& index) {
  Tile x = index * uint64_t{0x9e3779b97f4a7c15};
  x = (x ^ (x >> 32)) * uint64_t{0xd6e8feb86659fd93};
  x = (x ^ (x >> 29)) * uint64_t{0x9fb21c651e98df25};
  return x ^ (x >> 32);
}

/// An element of `elem` out of mixed bits.
Tile drawn(const Tile& h, Elem elem) {
  if (elem == Elem::b1) return (h & 1) != 0;
  Tile x = h;
  if (is_int(elem)) {
    const int n = bits(elem);
    x = (x << (64 - n)) >> (h >> 13 & (n - 1));
    if (is_signed_int(elem)) x = select((h & 64) == 0, x, 0 - x);
    x = x >> (64 - n);
  } else if (elem == Elem::f64) {
    const Tile near = (h & uint64_t{0x800fffffffffffff}) | ((h >> 52 & 63) + (1023 - 32)) << 52;
    x = select((h & 64) == 0, x, near);
  } else if (elem == Elem::f32 || elem == Elem::bf16) {
    const Tile near = (h & 0x807fffff) | ((h >> 40 & 63) + (127 - 32)) << 23;
    x = select((h >> 50 & 1) == 0, x, near);
    if (elem == Elem::bf16) x = x >> 16;
  }
  return uncontained(cast(x, container(elem)), elem);
}

}  // namespace

Draw draw(const std::vector<Elem>& in, Elem out, const Expression& fn, uint64_t seed, int64_t count, MathMode mode) {
  Kernel k{"draw"};
  if (mode != MathMode::fast) k.math(mode);
  const Index n = k.dim("N");
  std::vector<Tensor> x;
  for (size_t i = 0; i < in.size(); ++i) x.push_back(k.tensor(container(in[i]), "x" + std::to_string(i), {n}));
  const Tensor y = k.tensor(container(out), "y", {n});
  const Scalar first = k.scalar<uint64_t>("seed");
  k.grid(1);
  k.task("main").body([&](Task& t) {
    k.range(ceil_div(n, width)).each([&](Index i) {
      const Tile index = (t.iota({width}, 0) + i * width).to<uint64_t>() * static_cast<int>(in.size()) + first;
      std::vector<Tile> values;
      for (size_t o = 0; o < in.size(); ++o) {
        values.push_back(drawn(mixed(index + static_cast<int>(o)), in[o]));
        x[o].store({i * width}, contained(values.back()));
      }
      y.store({i * width}, contained(fn(values)));
    });
  });
  Draw run;
  std::vector<Memory> memory;
  for (Elem e : in) memory.emplace_back(container(e), static_cast<size_t>(count));
  memory.emplace_back(container(out), static_cast<size_t>(count));
  std::vector<Argument> arguments;
  for (const Memory& m : memory) arguments.push_back(m.arg());
  arguments.push_back(seed << 20);
  launch(k, arguments);
  for (size_t o = 0; o < in.size(); ++o) run.in.push_back(memory[o].get());
  run.out = memory.back().get();
  return run;
}

Codes apply(const std::vector<Elem>& in, Elem out, const Expression& fn, const std::vector<Codes>& values) {
  constexpr int64_t lanes = 16;
  Kernel k{"apply"};
  const Index n = k.dim("N"), wide = k.dim("W");
  std::vector<Tensor> x;
  for (size_t i = 0; i < in.size(); ++i) x.push_back(k.tensor(container(in[i]), "x" + std::to_string(i), {n}));
  const Tensor y = k.tensor(container(out), "y", {n}), z = k.tensor(container(out), "z", {wide});
  k.grid(1);
  k.task("main").body([&](Task& t) {
    k.range(n).each([&](Index i) {
      std::vector<Tile> scalars, tiles;
      for (size_t o = 0; o < in.size(); ++o) {
        scalars.push_back(uncontained(x[o].load({i}), in[o]));
        tiles.push_back(t.full({lanes}, in[o], scalars.back()));
      }
      y.store({i}, t.full({1}, container(out), contained(fn(scalars))));
      z.store({i * lanes}, contained(fn(tiles)));
    });
  });
  const size_t count = values[0].size();
  std::vector<Memory> memory;
  for (size_t o = 0; o < in.size(); ++o) {
    memory.emplace_back(container(in[o]), count);
    memory.back().put(values[o]);
  }
  memory.emplace_back(container(out), count);
  memory.emplace_back(container(out), count * lanes);
  std::vector<Argument> arguments;
  for (const Memory& m : memory) arguments.push_back(m.arg());
  launch(k, arguments);
  const Codes in_tiles = memory.back().get(), as_scalars = memory[memory.size() - 2].get();
  for (size_t i = 0; i < in_tiles.size(); ++i) {
    const uint64_t scalar = as_scalars[i / lanes];
    if (in_tiles[i] != scalar && !(is_nan(out, scalar) && is_nan(out, in_tiles[i])))
      ADD_FAILURE() << "element " << i / lanes << " is " << scalar << " as a scalar and " << in_tiles[i]
                    << " in a tile";
  }
  return as_scalars;
}

double value_of(Elem elem, uint64_t code) {
  if (elem == Elem::f32) return std::bit_cast<float>(static_cast<uint32_t>(code));
  if (elem == Elem::f64) return std::bit_cast<double>(code);
  if (elem == Elem::e8m0) return reference::e8m0_value(static_cast<uint32_t>(code));
  if (is_float(elem)) return reference::small_float(to_string(elem)).value(static_cast<uint32_t>(code));
  return static_cast<double>(integer_of(elem, code));
}

int64_t integer_of(Elem elem, uint64_t code) {
  const int n = bits(elem);
  if (elem == Elem::b1) return code != 0;
  return is_signed_int(elem) ? static_cast<int64_t>(code << (64 - n)) >> (64 - n) : static_cast<int64_t>(code);
}

uint64_t code_of(float x) { return std::bit_cast<uint32_t>(x); }
uint64_t code_of(double x) { return std::bit_cast<uint64_t>(x); }
bool is_nan(Elem elem, uint64_t code) { return is_float(elem) && std::isnan(value_of(elem, code)); }

}  // namespace numbers_test

// tests/unit/runtime/jit_fixture.h — functions over a kernel that says which version ran.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/runtime/engine_fixture.h"

namespace tlxjit::runtime_test {

/// out[i] = 2 · in[i] + n for i < N, of f32.
inline Kernel doubled(const Signature& signature, const Config&) {
  Kernel k{"doubled"};
  const Index size = k.dim("N");
  const Elem elem = signature.arguments.empty() ? Elem::f32 : signature.arguments[0].elem;
  const Tensor in = k.tensor(elem, "in", {size}), out = k.tensor(elem, "out", {size});
  const Scalar n = k.scalar<int32_t>("n");
  const Tiles tiles = k.tiles(ceil_div(size, 64), 1);
  k.task("main").body([&](Task&) {
    tiles.each([&](Index i, Index) {
      const Tile x = in.load_tile({i * 64}, {64});
      out.store({i * 64}, x * 2 + n.to(elem));
    });
  });
  return k;
}

/// What the engine's callback uses. It owns it: the callback may come a moment after the engine has ended.
struct Log {
  std::mutex mutex;
  std::vector<std::string> told;

  void tell(std::string_view text) {
    std::lock_guard lock(mutex);
    told.emplace_back(text);
  }
  /// A copy, for a reader that nothing else brings behind the last tell().
  std::vector<std::string> texts() {
    std::lock_guard lock(mutex);
    return told;
  }
};

struct JitTest : ::testing::Test {
  const std::shared_ptr<Log> log = std::make_shared<Log>();
  std::vector<std::string>& told = log->told;
  Engine engine{[this] {
    EngineOptions o = options();
    o.log = [own = log](std::string_view text) { own->tell(text); };
    return o;
  }()};
  Device device = *engine.device("cpu");
  std::atomic<int> generated{0};

  JitFunction function(JitOptions o = {}) {
    return {engine, device, "doubled",
            [this](const Signature& s, const Config& c) {
              ++generated;
              return doubled(s, c);
            },
            std::move(o)};
  }

  /// Runs a call of N = n, and compares its numbers.
  static void call(const JitFunction& f, int64_t n, int32_t number = 3) {
    std::vector<float> in(static_cast<size_t>(n) + 16), out(in.size(), -7.f);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 97);
    const auto done = f.launch({tensor<float>(in.data(), {n}), tensor<float>(out.data(), {n}), number});
    TLXJIT_MUST(done);
    for (size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(out[i], i < static_cast<size_t>(n) ? 2 * in[i] + static_cast<float>(number) : -7.f) << i << " of " << n;
  }
};

}  // namespace tlxjit::runtime_test

// bench/gpu/data.cpp — random numbers from a counter: 16 bits of a hash choose a quantile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/gpu/data.h"

#include <algorithm>
#include <cmath>

namespace tlxjit::bench {
namespace {

uint64_t mix(uint64_t x) {  // SplitMix64 (Steele, Lea and Flood, 2014)
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

NormalData::NormalData() : quantiles_(65536) {
  const auto below = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  double x = -5;
  for (int i = 0; i < 32768; ++i) {
    // Newton from the former quantile; the lower half, where the density grows, converges from below.
    const double wanted = (i + 0.5) / 65536;
    for (int step = 0; step < 60; ++step) {
      const double density = std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
      const double move = std::clamp((wanted - below(x)) / density, -0.3, 0.3);
      x += move;
      if (std::abs(move) < 1e-10) break;
    }
    quantiles_[static_cast<size_t>(i)] = static_cast<float>(x);
    quantiles_[static_cast<size_t>(65535 - i)] = static_cast<float>(-x);
  }
}

void NormalData::fill(std::span<bf16> out, uint64_t seed, uint64_t first) const {
  const uint64_t key = mix(seed);
  for (size_t i = 0; i < out.size();) {
    const uint64_t at = first + i;
    uint64_t word = mix(key ^ (at / 4)) >> (at % 4 * 16);
    for (uint64_t lane = at % 4; lane < 4 && i < out.size(); ++lane, word >>= 16) out[i++] = quantiles_[word & 0xffff];
  }
}

Result<void> NormalData::upload(const Buffer& buffer, uint64_t seed) const {
  const size_t count = buffer.size() / sizeof(bf16);
  std::vector<bf16> chunk(std::min<size_t>(count, size_t{8} << 20));
  for (size_t at = 0; at < count; at += chunk.size()) {
    const std::span<bf16> part(chunk.data(), std::min(chunk.size(), count - at));
    fill(part, seed, at);
    TLXJIT_TRY(buffer.upload(part.data(), part.size_bytes(), at * sizeof(bf16)));
  }
  return {};
}

int ordered(bf16 value) { return value.bits & 0x8000 ? 0x8000 - value.bits : value.bits; }

bool is_nan(bf16 value) { return (value.bits & 0x7fff) > 0x7f80; }

}  // namespace tlxjit::bench

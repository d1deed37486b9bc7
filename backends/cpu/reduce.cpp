// backends/cpu/reduce.cpp — stores that combine with what is there, each element atomically.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/reduce_p.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "tlxjit/core/numeric.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

/// f16 and bf16 are computed in f32 and rounded once.
template <class T>
using Wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

template <class T>
T combine(CopyReduction how, T old, T x) {
  const auto a = static_cast<Wide<T>>(old), b = static_cast<Wide<T>>(x);
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    switch (how) {
      case CopyReduction::add: return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
      case CopyReduction::bit_and: return a & b;
      case CopyReduction::bit_or: return a | b;
      case CopyReduction::bit_xor: return a ^ b;
      case CopyReduction::min: return b < a ? b : a;
      default: return a < b ? b : a;
    }
  } else {
    switch (how) {
      case CopyReduction::add: return static_cast<T>(a + b);
      case CopyReduction::min: return static_cast<T>(std::fmin(a, b));  // a number wins over NaN
      default: return static_cast<T>(std::fmax(a, b));
    }
  }
}

template <class T>
void all(CopyReduction how, void* to, const void* from, int64_t n) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
  for (int64_t i = 0; i < n; ++i) {
    T x;
    std::memcpy(&x, static_cast<const T*>(from) + i, sizeof x);
    std::atomic_ref<Bits> word(static_cast<Bits*>(to)[i]);
    Bits old = word.load(std::memory_order_relaxed);
    while (!word.compare_exchange_weak(old, std::bit_cast<Bits>(combine<T>(how, std::bit_cast<T>(old), x)),
                                       std::memory_order_relaxed)) {
    }
  }
}

}  // namespace

void reduce(Elem elem, CopyReduction how, void* to, const void* from, int64_t n) {
  switch (elem) {
    case Elem::i32: return all<int32_t>(how, to, from, n);
    case Elem::u32: return all<uint32_t>(how, to, from, n);
    case Elem::i64: return all<int64_t>(how, to, from, n);
    case Elem::u64: return all<uint64_t>(how, to, from, n);
    case Elem::f16: return all<f16>(how, to, from, n);
    case Elem::bf16: return all<bf16>(how, to, from, n);
    case Elem::f32: return all<float>(how, to, from, n);
    default: return;  // the verifier knows no other
  }
}

}  // namespace cpu
TLXJIT_NAMESPACE_END

// src/ir/words_p.h — what attributes say by a word: enumerations, each with one list of its words.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// The words of an enumeration, in its order.
template <class E>
inline constexpr std::array<std::string_view, 0> words{};

/// `pred`: how two numbers compare.
enum class Predicate : uint8_t { eq, ne, lt, le, gt, ge };
template <>
inline constexpr std::array<std::string_view, 6> words<Predicate>{"eq", "ne", "lt", "le", "gt", "ge"};

template <class T>
constexpr bool holds(Predicate p, T a, T b) {
  switch (p) {
    case Predicate::eq: return a == b;
    case Predicate::ne: return a != b;
    case Predicate::lt: return a < b;
    case Predicate::le: return a <= b;
    case Predicate::gt: return a > b;
    case Predicate::ge: break;
  }
  return a >= b;
}

/// `kind` of reductions and scans. The first ones are the builder's `Reduction`.
enum class ReductionKind : uint8_t { sum, prod, max, min, bit_and, bit_or, bit_xor, argmax, argmin };
template <>
inline constexpr std::array<std::string_view, 9> words<ReductionKind>{"sum", "prod", "max",    "min",   "and",
                                                                      "or",  "xor",  "argmax", "argmin"};

/// `kind` of atomics. The first ones are the builder's `Atomic`.
enum class AtomicKind : uint8_t { add, min, max, bit_and, bit_or, bit_xor, exchange, cas };
template <>
inline constexpr std::array<std::string_view, 8> words<AtomicKind>{"add", "min", "max",      "and",
                                                                   "or",  "xor", "exchange", "cas"};

/// `order` of atomics: the builder's `Order`.
enum class MemoryOrder : uint8_t { relaxed, acquire, release, acq_rel };
template <>
inline constexpr std::array<std::string_view, 4> words<MemoryOrder>{"relaxed", "acquire", "release", "acq_rel"};

/// `reduce` of copies: the builder's `Reduce` but its None.
enum class CopyReduction : uint8_t { add, min, max, bit_and, bit_or, bit_xor };
template <>
inline constexpr std::array<std::string_view, 6> words<CopyReduction>{"add", "min", "max", "and", "or", "xor"};

/// The word of an enumerator, or of an enumeration of the builder that begins as E does.
template <class E, class Same = E>
std::string word(Same e) {
  const auto i = static_cast<size_t>(e);
  return std::string(i < words<E>.size() ? words<E>[i] : "?");
}

/// The enumerator that a text says; nothing if none.
template <class E>
constexpr std::optional<E> from_word(std::string_view text) {
  for (size_t i = 0; i < words<E>.size(); ++i)
    if (words<E>[i] == text) return static_cast<E>(i);
  return std::nullopt;
}

/// What the op's attribute says, which the op's rules have seen to.
template <class E>
E word_of(const Op& op, std::string_view attribute) {
  return from_word<E>(op.attrs.text(attribute)).value_or(E{});
}

/// `eq, ne, lt, le, gt or ge`.
template <class E>
std::string all_words() {
  std::string text(words<E>[0]);
  for (size_t i = 1; i < words<E>.size(); ++i) text.append(i + 1 < words<E>.size() ? ", " : " or ").append(words<E>[i]);
  return text;
}

TLXJIT_NAMESPACE_END

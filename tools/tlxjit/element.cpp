// tools/tlxjit/element.cpp — elements to numbers and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/element.h"

#include <charconv>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "tlxjit/core/numeric.h"

namespace tlxjit::cli {

namespace {

/// Calls `fn` with a value of the C++ type of `elem`; b1 is a bool of one byte. False if there is none.
template <class Fn>
bool with_type(Elem elem, Fn&& fn) {
  switch (elem) {
    case Elem::b1: return fn(bool()), true;
    case Elem::i8: return fn(int8_t()), true;
    case Elem::i16: return fn(int16_t()), true;
    case Elem::i32: return fn(int32_t()), true;
    case Elem::i64: return fn(int64_t()), true;
    case Elem::u8: return fn(uint8_t()), true;
    case Elem::u16: return fn(uint16_t()), true;
    case Elem::u32: return fn(uint32_t()), true;
    case Elem::u64: return fn(uint64_t()), true;
    case Elem::f16: return fn(f16()), true;
    case Elem::bf16: return fn(bf16()), true;
    case Elem::f32: return fn(float()), true;
    case Elem::f64: return fn(double()), true;
    case Elem::f8e4m3: return fn(f8e4m3()), true;
    case Elem::f8e5m2: return fn(f8e5m2()), true;
    default: return false;
  }
}

template <class T, class From>
std::optional<T> integer_as(From value) {
  if (!std::in_range<T>(value)) return std::nullopt;
  return static_cast<T>(value);
}

template <class T>
std::optional<T> converted(const Number& number) {
  if constexpr (std::is_same_v<T, bool>) {
    const double value = real_of(number);
    return value == 0 || value == 1 ? std::optional(value == 1) : std::nullopt;
  } else if constexpr (std::is_integral_v<T>) {
    if (const auto* i = std::get_if<int64_t>(&number)) return integer_as<T>(*i);
    if (const auto* u = std::get_if<uint64_t>(&number)) return integer_as<T>(*u);
    return std::nullopt;
  } else if constexpr (std::is_same_v<T, double>) {
    return real_of(number);
  } else {
    return T(static_cast<float>(real_of(number)));
  }
}

}  // namespace

double real_of(const Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

bool has_numbers(Elem elem) {
  return with_type(elem, [](auto) {});
}

bool put(Elem elem, const Number& number, void* to) {
  bool done = false;
  with_type(elem, [&](auto type) {
    const auto value = converted<decltype(type)>(number);
    if (!value) return;
    std::memcpy(to, &*value, sizeof type);
    done = true;
  });
  return done;
}

Number get(Elem elem, const void* from) {
  Number number = int64_t{0};
  with_type(elem, [&](auto value) {
    using T = decltype(value);
    if constexpr (std::is_same_v<T, bool>) {
      number = int64_t{*static_cast<const unsigned char*>(from) != 0};
      return;
    }
    std::memcpy(&value, from, sizeof value);
    if constexpr (std::is_same_v<T, uint64_t>)
      number = value;
    else if constexpr (std::is_integral_v<T>)
      number = static_cast<int64_t>(value);
    else if constexpr (std::is_same_v<T, double>)
      number = value;
    else
      number = static_cast<double>(static_cast<float>(value));
  });
  return number;
}

std::optional<Number> parse_number(std::string_view text) {
  if (text == "true") return int64_t{1};
  if (text == "false") return int64_t{0};
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  const char *first = text.data(), *last = first + text.size();
  const auto whole = [&](auto value, int base, const char* from) -> std::optional<Number> {
    const auto [end, error] = std::from_chars(from, last, value, base);
    if (error != std::errc() || end != last || from == last) return std::nullopt;
    return value;
  };
  if (text.starts_with("0x")) return whole(uint64_t(), 16, first + 2);
  if (auto value = whole(int64_t(), 10, first)) return value;
  if (auto value = whole(uint64_t(), 10, first)) return value;
  double real = 0;
  const auto [end, error] = std::from_chars(first, last, real);
  if (error != std::errc() || end != last || text.empty()) return std::nullopt;
  return real;
}

}  // namespace tlxjit::cli

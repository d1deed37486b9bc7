// include/tlxjit/builder/tile.h — values of a kernel under construction: tiles and scalars.
//
//     Tile p = max(x * scale - m.expand(1), 0);   // each operator appends an op to the kernel
//     m = max(m, row);                          // assigning writes the variable m
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <concepts>
#include <memory>
#include <optional>
#include <source_location>
#include <type_traits>

#include "tlxjit/core/numeric.h"
#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

struct BuilderState;

namespace detail {
template <class T>
constexpr Elem integer_elem() {
  constexpr bool is_character = std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
                                std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;
  if constexpr (std::is_integral_v<T> && !is_character) {
    constexpr Elem of_size[] = {Elem::i8, Elem::i16, Elem::i32, Elem::i64, Elem::u8, Elem::u16, Elem::u32, Elem::u64};
    return of_size[std::bit_width(sizeof(T)) - 1 + (std::is_signed_v<T> ? 0 : 4)];
  }
  return Elem::none;
}
}  // namespace detail

/// The element type of a C++ type; none where it is the type of no element.
template <class T>
constexpr Elem elem_of = detail::integer_elem<T>();
template <>
inline constexpr Elem elem_of<bool> = Elem::b1;
template <>
inline constexpr Elem elem_of<f16> = Elem::f16;
template <>
inline constexpr Elem elem_of<bf16> = Elem::bf16;
template <>
inline constexpr Elem elem_of<float> = Elem::f32;
template <>
inline constexpr Elem elem_of<double> = Elem::f64;
template <>
inline constexpr Elem elem_of<f8e4m3> = Elem::f8e4m3;
template <>
inline constexpr Elem elem_of<f8e5m2> = Elem::f8e5m2;

/// A C++ type that elements may have.
template <class T>
concept Element = elem_of<T> != Elem::none;

/// What a Tile stands for; a copy of it makes no new variable.
struct TileRef {
  std::shared_ptr<BuilderState> state;  ///< none: of no kernel
  Value value = no_value;               ///< a variable inside tasks, else a plain value
  uint8_t expanded = 0;                 ///< bit a: repeats along axis a, as far as what it is combined with
  const char* fault = nullptr;          ///< of no kernel: what the first kernel that meets it is told,
  std::source_location at;              ///< and where that happened
  bool astray = false;                  ///< its variable, of an outer region, was moved to another Tile
};

/// A tile or, with rank 0, a scalar (uniform over the instance). Inside a task every Tile is a mutable
/// variable: copying makes a new variable with the present value, assigning writes the variable, also from
/// inside loops and branches. Loop indices, and scalars made outside of tasks, are fixed inside of them, and so are
/// their copies: Kernel::variable makes a variable of one. Outside tasks an assignment replaces the handle.
///
/// A call that failed returns a poison Tile; its fault is in Kernel::faults(), and ops on it say nothing. A Tile that
/// was never given a value, or was moved away, is a fault where a kernel meets it; so is what was made of numbers
/// alone, `exp2(0.5)`, as nothing says its element type.
class TLXJIT_API Tile {
 public:
  Tile();
  ~Tile();
  Tile(const Tile& other);
  Tile(Tile&& other) noexcept;
  Tile& operator=(const Tile& other);
  Tile& operator=(Tile&& other);
  /// Exchanges values, also inside loops and branches. Moves cannot do that: a tile of an outer region that was moved
  /// away and is assigned again is a fault.
  friend TLXJIT_API void swap(Tile& a, Tile& b);

  /// Converts to another element type: to nearest even; float to integer truncates and saturates. Other ways: cast().
  Tile to(Elem elem, std::source_location at = std::source_location::current()) const;
  template <Element T>
  Tile to(std::source_location at = std::source_location::current()) const {
    return to(elem_of<T>, at);
  }
  /// Adds an axis, number `axis` of the result (0 to rank), along which the tile repeats as far as what it is combined
  /// with: a row maximum m of x goes as `x - m.expand(1)`, and `r.expand(1) + c.expand(0)` is every sum of two. Until
  /// an op brings the extent, shape() is without the axis, and what has to know it is a fault. A scalar repeats anyway.
  Tile expand(int axis, std::source_location at = std::source_location::current()) const;

  bool valid() const { return ref_.value != no_value; }
  Type type() const;
  Elem elem() const { return type().elem; }
  Shape shape() const { return type().shape; }

 private:
  friend struct BuilderState;
  friend struct Access;
  friend struct Operand;
  TileRef ref_;
};

using Scalar = Tile;
using Index = Tile;  ///< a scalar of i32

/// What operators take: a tile, or a number that takes the type of the other side. One that is kept stands for the same
/// variable as its tile, and outlives it.
struct Operand {
  TileRef tile;
  bool is_tile = false;
  bool is_real = false;
  bool is_large = false;  ///< an integer of 2^63 or more; `integer` has its bits
  int64_t integer = 0;
  double real = 0;
  std::source_location at;

  Operand(const Tile& t, std::source_location where = std::source_location::current())
      : tile(t.ref_), is_tile(true), at(where) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T number, std::source_location where = std::source_location::current()) : at(where) {
    is_real = std::is_floating_point_v<T>;
    if constexpr (std::is_floating_point_v<T>) {
      real = static_cast<double>(number);
    } else {
      integer = static_cast<int64_t>(number);
      is_large = std::is_unsigned_v<T> && integer < 0;
    }
  }
};

/// An operand that may be left out. A std::optional would know a line of its own instead of the caller's.
struct OptionalOperand {
  std::optional<Operand> given;

  OptionalOperand() = default;
  OptionalOperand(const Operand& operand) : given(operand) {}
  template <class T>
    requires std::is_arithmetic_v<T> || std::is_same_v<T, Tile>
  OptionalOperand(const T& operand, std::source_location where = std::source_location::current())
      : given(std::in_place, operand, where) {}
};

TLXJIT_API Tile operator+(Operand a, Operand b);
TLXJIT_API Tile operator-(Operand a, Operand b);
TLXJIT_API Tile operator*(Operand a, Operand b);
TLXJIT_API Tile operator/(Operand a, Operand b);  ///< integers truncate towards zero; floor_div rounds down
TLXJIT_API Tile operator%(Operand a, Operand b);  ///< goes with /: has the sign of a; floor_mod that of b
TLXJIT_API Tile operator&(Operand a, Operand b);  ///< bitwise; logical on b1
TLXJIT_API Tile operator|(Operand a, Operand b);
TLXJIT_API Tile operator^(Operand a, Operand b);
TLXJIT_API Tile operator<<(Operand a, Operand b);
TLXJIT_API Tile operator>>(Operand a, Operand b);
TLXJIT_API Tile operator==(Operand a, Operand b);
TLXJIT_API Tile operator!=(Operand a, Operand b);
TLXJIT_API Tile operator<(Operand a, Operand b);
TLXJIT_API Tile operator<=(Operand a, Operand b);
TLXJIT_API Tile operator>(Operand a, Operand b);
TLXJIT_API Tile operator>=(Operand a, Operand b);
TLXJIT_API Tile operator-(Operand a);
TLXJIT_API Tile operator!(Operand a);  ///< of b1
TLXJIT_API Tile operator~(Operand a);  ///< of integers

TLXJIT_API Tile min(Operand a, Operand b);       ///< a number wins over NaN
TLXJIT_API Tile max(Operand a, Operand b);       ///< a number wins over NaN
TLXJIT_API Tile ceil_div(Operand a, Operand b);  ///< ⌈a / b⌉ of integers, a ≥ 0, b > 0
TLXJIT_API Tile abs(Operand a);
TLXJIT_API Tile select(Operand condition, Operand yes, Operand no);

TLXJIT_NAMESPACE_END

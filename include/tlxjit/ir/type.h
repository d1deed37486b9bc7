// include/tlxjit/ir/type.h — element types and the types of IR values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN

/// Element types of scalars, tiles, buffers and tensors.
enum class Elem : uint8_t {
  none,
  b1,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64,
  f8e4m3,
  f8e5m2,
  f4e2m1,
  e8m0,
};

/// Whether it is one of the list, and not none.
inline bool known(Elem e) { return e > Elem::none && e <= Elem::e8m0; }
TLXJIT_API const char* to_string(Elem elem);
TLXJIT_API std::optional<Elem> parse_elem(std::string_view text);
/// Size in bits; 4 for f4e2m1, 8 for b1 (as stored).
TLXJIT_API int bits(Elem elem);
/// Size in bytes of a byte-sized element; f4e2m1 has none and gives 0.
inline int bytes(Elem elem) { return bits(elem) / 8; }
inline bool is_float(Elem e) { return e >= Elem::f16; }
inline bool is_signed_int(Elem e) { return e >= Elem::i8 && e <= Elem::i64; }
inline bool is_unsigned_int(Elem e) { return e >= Elem::u8 && e <= Elem::u64; }
inline bool is_int(Elem e) { return is_signed_int(e) || is_unsigned_int(e); }

/// Extents of a tile, buffer or view: rank 0 to 5, each extent at least 1.
struct TLXJIT_API Shape {
  static constexpr int max_rank = 5;
  uint8_t rank = 0;
  std::array<int64_t, max_rank> dim{};

  Shape() = default;
  /// Extents beyond `max_rank` are counted in `rank` but not kept: `valid()` is false then.
  Shape(std::initializer_list<int64_t> extents);

  int64_t operator[](int i) const { return dim[static_cast<size_t>(i)]; }
  int64_t& operator[](int i) { return dim[static_cast<size_t>(i)]; }
  int64_t elements() const;  ///< their product; INT64_MAX where it overflows
  bool valid() const;
  bool operator==(const Shape&) const = default;
};

enum class TypeKind : uint8_t {
  none,
  scalar,       ///< uniform over an instance
  tile,         ///< a pure value; shape × elem
  buffer,       ///< slots × shape × elem in shared memory
  view,         ///< a window into one slot of a buffer or of a ring's field
  barrier,      ///< slots counting barriers
  tensor,       ///< a global-memory parameter (or a view of one); `slots` is its rank
  ring,         ///< slots of named fields
  slot,         ///< one slot of a ring, held between acquire/wait and publish/release
  accumulator,  ///< shape × elem, with identity
  schedule,     ///< a sequence of tiles; `slots` is the number of indices it yields
};

struct Type {
  TypeKind kind = TypeKind::none;
  Elem elem = Elem::none;
  bool variable = false;  ///< a mutable variable that holds this type
  int32_t slots = 0;
  Shape shape;

  static Type scalar(Elem e) { return {TypeKind::scalar, e, false, 0, {}}; }
  static Type tile(Shape s, Elem e) { return {TypeKind::tile, e, false, 0, s}; }
  static Type buffer(int32_t n, Shape s, Elem e) { return {TypeKind::buffer, e, false, n, s}; }
  static Type view(Shape s, Elem e) { return {TypeKind::view, e, false, 0, s}; }
  static Type barrier(int32_t n) { return {TypeKind::barrier, Elem::none, false, n, {}}; }
  static Type tensor(int32_t rank, Elem e) { return {TypeKind::tensor, e, false, rank, {}}; }
  static Type ring(int32_t n) { return {TypeKind::ring, Elem::none, false, n, {}}; }
  static Type slot() { return {TypeKind::slot, Elem::none, false, 0, {}}; }
  static Type accumulator(Shape s, Elem e) { return {TypeKind::accumulator, e, false, 0, s}; }
  static Type schedule(int32_t n) { return {TypeKind::schedule, Elem::none, false, n, {}}; }

  Type as_variable() const {
    Type t = *this;
    t.variable = true;
    return t;
  }
  Type as_value() const {
    Type t = *this;
    t.variable = false;
    return t;
  }
  Type with_elem(Elem e) const {
    Type t = *this;
    t.elem = e;
    return t;
  }
  /// Whether it is of elements: a scalar, tile, buffer, view, tensor or accumulator.
  bool has_elements() const {
    return kind != TypeKind::none && kind != TypeKind::barrier && kind != TypeKind::ring && kind != TypeKind::slot &&
           kind != TypeKind::schedule;
  }
  bool is_scalar() const { return kind == TypeKind::scalar && !variable; }
  bool is_tile() const { return kind == TypeKind::tile && !variable; }
  bool operator==(const Type&) const = default;
};

/// `i32`, `tile<64x128xf32>`, `buffer<4, 128x64xbf16>`, `tensor<3xbf16>`, `var<f32>`, …
TLXJIT_API std::string to_string(const Type& type);
/// The inverse of to_string; nothing when the text is no type.
TLXJIT_API std::optional<Type> parse_type(std::string_view text);

TLXJIT_NAMESPACE_END

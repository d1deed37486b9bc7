// src/ir/type.cpp — names of types, and reading them back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/ir/type.h"

#include <algorithm>
#include <charconv>

TLXJIT_NAMESPACE_BEGIN

namespace {

constexpr const char* elem_names[] = {"none", "b1",  "i8",   "i16", "i32", "i64",    "u8",     "u16",    "u32",
                                      "u64",  "f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2", "f4e2m1", "e8m0"};
constexpr int elem_bits[] = {0, 8, 8, 16, 32, 64, 8, 16, 32, 64, 16, 16, 32, 64, 8, 8, 4, 8};

std::string shaped(const Shape& shape, Elem elem) {
  std::string text;
  for (int i = 0; i < shape.rank; ++i) text += (i < Shape::max_rank ? std::to_string(shape[i]) : "?") + "x";
  return text + to_string(elem);
}

/// Reads `64x128xf32` into shape and element type.
bool parse_shaped(std::string_view text, Shape& shape, Elem& elem) {
  while (true) {
    const size_t x = text.find('x');
    if (x == std::string_view::npos || text.empty() || text[0] < '0' || text[0] > '9') break;
    int64_t extent = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + x, extent);
    if (error != std::errc() || end != text.data() + x || shape.rank == Shape::max_rank || extent < 1) return false;
    shape.dim[shape.rank++] = extent;
    text.remove_prefix(x + 1);
  }
  auto e = parse_elem(text);
  if (!e) return false;
  elem = *e;
  return true;
}

bool parse_count(std::string_view text, int32_t& count) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size() && count >= 0;
}

}  // namespace

Shape::Shape(std::initializer_list<int64_t> extents)
    : rank(static_cast<uint8_t>(std::min<size_t>(extents.size(), UINT8_MAX))) {
  size_t i = 0;
  for (int64_t extent : extents)
    if (i < max_rank) dim[i++] = extent;
}

int64_t Shape::elements() const {
  int64_t n = 1;
  bool huge = false;
  for (int i = 0; i < std::min<int>(rank, max_rank); ++i)
    huge |= __builtin_mul_overflow(n, dim[static_cast<size_t>(i)], &n);
  return huge ? INT64_MAX : n;
}

bool Shape::valid() const {
  if (rank > max_rank) return false;
  for (int i = 0; i < rank; ++i)
    if (dim[static_cast<size_t>(i)] < 1 || dim[static_cast<size_t>(i)] > (int64_t{1} << 20)) return false;
  return elements() <= (int64_t{1} << 24);
}

const char* to_string(Elem elem) { return elem_names[known(elem) ? static_cast<size_t>(elem) : 0]; }
int bits(Elem elem) { return elem_bits[known(elem) ? static_cast<size_t>(elem) : 0]; }

std::optional<Elem> parse_elem(std::string_view text) {
  for (size_t i = 1; i < std::size(elem_names); ++i)
    if (text == elem_names[i]) return static_cast<Elem>(i);
  return std::nullopt;
}

std::string to_string(const Type& type) {
  if (type.variable) return "var<" + to_string(type.as_value()) + ">";
  switch (type.kind) {
    case TypeKind::none: return "none";
    case TypeKind::scalar: return to_string(type.elem);
    case TypeKind::tile: return "tile<" + shaped(type.shape, type.elem) + ">";
    case TypeKind::buffer: return "buffer<" + std::to_string(type.slots) + ", " + shaped(type.shape, type.elem) + ">";
    case TypeKind::view: return "view<" + shaped(type.shape, type.elem) + ">";
    case TypeKind::barrier: return "barrier<" + std::to_string(type.slots) + ">";
    case TypeKind::tensor: return "tensor<" + std::to_string(type.slots) + "x" + to_string(type.elem) + ">";
    case TypeKind::ring: return "ring<" + std::to_string(type.slots) + ">";
    case TypeKind::slot: return "slot";
    case TypeKind::accumulator: return "accumulator<" + shaped(type.shape, type.elem) + ">";
    case TypeKind::schedule: return "schedule<" + std::to_string(type.slots) + ">";
  }
  return "none";
}

std::optional<Type> parse_type(std::string_view text) {
  if (text == "slot") return Type::slot();
  if (text == "none") return Type{};
  if (auto e = parse_elem(text)) return Type::scalar(*e);
  const size_t open = text.find('<');
  if (open == std::string_view::npos || text.back() != '>') return std::nullopt;
  const std::string_view name = text.substr(0, open);
  std::string_view inner = text.substr(open + 1, text.size() - open - 2);

  if (name == "var") {
    if (inner.starts_with("var<")) return std::nullopt;  // asked here, so that nothing nests
    auto t = parse_type(inner);
    if (!t) return std::nullopt;
    return t->as_variable();
  }
  Type type;
  if (name == "barrier" || name == "ring" || name == "schedule") {
    type.kind = name == "barrier" ? TypeKind::barrier : name == "ring" ? TypeKind::ring : TypeKind::schedule;
    if (!parse_count(inner, type.slots)) return std::nullopt;
    return type;
  }
  if (name == "tensor") {
    const size_t x = inner.find('x');
    if (x == std::string_view::npos || !parse_count(inner.substr(0, x), type.slots)) return std::nullopt;
    auto e = parse_elem(inner.substr(x + 1));
    if (!e) return std::nullopt;
    return Type::tensor(type.slots, *e);
  }
  if (name == "buffer") {
    const size_t comma = inner.find(", ");
    if (comma == std::string_view::npos || !parse_count(inner.substr(0, comma), type.slots)) return std::nullopt;
    inner.remove_prefix(comma + 2);
    type.kind = TypeKind::buffer;
  } else if (name == "tile") {
    type.kind = TypeKind::tile;
  } else if (name == "view") {
    type.kind = TypeKind::view;
  } else if (name == "accumulator") {
    type.kind = TypeKind::accumulator;
  } else {
    return std::nullopt;
  }
  if (!parse_shaped(inner, type.shape, type.elem)) return std::nullopt;
  return type;
}

TLXJIT_NAMESPACE_END

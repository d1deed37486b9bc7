// tools/tlxjit/npy.cpp — reads and writes headers of .npy files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/npy.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "src/runtime/guard_p.h"

namespace tlxjit::cli {

namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct NpyType {
  std::string_view text;
  Elem elem;
};
constexpr NpyType types[] = {{"|b1", Elem::b1},  {"|i1", Elem::i8},  {"<i2", Elem::i16}, {"<i4", Elem::i32},
                             {"<i8", Elem::i64}, {"|u1", Elem::u8},  {"<u2", Elem::u16}, {"<u4", Elem::u32},
                             {"<u8", Elem::u64}, {"<f2", Elem::f16}, {"<f4", Elem::f32}, {"<f8", Elem::f64}};

/// The text of a member of the header's dictionary, from behind its colon on.
std::optional<std::string_view> member(std::string_view header, std::string_view name) {
  for (const char quote : {'\'', '"'}) {
    const std::string key = quote + std::string(name) + quote;
    size_t at = header.find(key);
    if (at == std::string_view::npos) continue;
    at = header.find_first_not_of(" \t", at + key.size());
    if (at == std::string_view::npos || header[at] != ':') return std::nullopt;
    at = header.find_first_not_of(" \t", at + 1);
    if (at == std::string_view::npos) return std::nullopt;
    return header.substr(at);
  }
  return std::nullopt;
}

std::optional<std::string_view> quoted(std::string_view text) {
  if (text.empty() || (text[0] != '\'' && text[0] != '"')) return std::nullopt;
  const size_t end = text.find(text[0], 1);
  if (end == std::string_view::npos) return std::nullopt;
  return text.substr(1, end - 1);
}

/// `(3, 4)`, `(3,)`, `()`.
std::optional<std::vector<int64_t>> tuple(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  std::vector<int64_t> numbers;
  for (size_t at = 1;;) {
    at = text.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) return std::nullopt;
    if (text[at] == ')') return numbers;
    int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), n);
    if (error != std::errc() || n < 0) return std::nullopt;
    numbers.push_back(n);
    at = text.find_first_not_of(" \tL", static_cast<size_t>(end - text.data()));
    if (at == std::string_view::npos || (text[at] != ',' && text[at] != ')')) return std::nullopt;
    if (text[at] == ',') ++at;
  }
}

size_t little_endian(std::string_view bytes) {
  size_t n = 0;
  for (size_t i = bytes.size(); i-- > 0;) n = n << 8 | static_cast<unsigned char>(bytes[i]);
  return n;
}

}  // namespace

Result<Npy> parse_npy(std::string_view bytes, const std::string& name) {
  const auto bad = [&](std::string what) {
    return runtime::error_of(ErrorKind::user, Stage::load, ErrorCode::bad_argument, name + " " + std::move(what));
  };
  if (!bytes.starts_with(magic) || bytes.size() < 10) return bad("is no file of NumPy's format");
  const int version = static_cast<unsigned char>(bytes[6]);
  const size_t digits = version == 1 ? 2 : 4;
  if (version < 1 || version > 3) return bad(fmt::format("has version {} of NumPy's format; 1 to 3 are read", version));
  if (bytes.size() < 8 + digits) return bad("ends within its header");
  const size_t length = little_endian(bytes.substr(8, digits));
  Npy npy;
  npy.data = 8 + digits + length;
  if (npy.data > bytes.size()) return bad("ends within its header");
  const std::string_view header = bytes.substr(8 + digits, length);

  const auto descr = member(header, "descr"), order = member(header, "fortran_order"), shape = member(header, "shape");
  const auto type = descr ? quoted(*descr) : std::nullopt;
  const auto dims = shape ? tuple(*shape) : std::nullopt;
  if (!type || !order || !dims) return bad("has a header that is not understood: a plain array was expected");
  if (order->starts_with("True")) return bad("is column-major: save it with numpy.ascontiguousarray");
  npy.dims = *dims;
  for (const NpyType& known : types)
    if (known.text == *type) npy.elem = known.elem;
  npy.width = tlxjit::bytes(npy.elem);
  if (npy.elem == Elem::none && type->size() > 2 && (*type)[1] == 'V')
    std::from_chars(type->data() + 2, type->data() + type->size(), npy.width);
  if (npy.width < 1 || npy.width > 8) return bad(fmt::format("has elements of type {}, which are not read", *type));

  unsigned __int128 wanted = static_cast<unsigned>(npy.width);
  for (const int64_t d : npy.dims)
    if (wanted <= bytes.size() || d == 0) wanted *= static_cast<uint64_t>(d);
  if (wanted != bytes.size() - npy.data)
    return bad(fmt::format("holds {} bytes of elements, which are not those of its shape", bytes.size() - npy.data));
  return npy;
}

std::string npy_header(Elem elem, std::span<const int64_t> dims) {
  std::string shape;
  for (const int64_t d : dims) shape += fmt::format("{},", d);
  std::string_view type;
  for (const NpyType& known : types)
    if (known.elem == elem) type = known.text;
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape);
  // Elements begin at a multiple of 64.
  header.append(63 - (magic.size() + 4 + header.size()) % 64, ' ');
  header += '\n';
  std::string out(magic);
  out += {'\x01', '\x00'};
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  return out + header;
}

Elem npy_elem(Elem elem) {
  return elem == Elem::bf16 || elem == Elem::f8e4m3 || elem == Elem::f8e5m2 ? Elem::f32 : elem;
}

}  // namespace tlxjit::cli

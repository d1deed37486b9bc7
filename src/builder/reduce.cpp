// src/builder/reduce.cpp — reductions and scans of tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/reduce.h"

#include "src/builder/state_p.h"
#include "src/ir/check_p.h"
#include "src/ir/words_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

Attrs with_axis(const char* kind, int axis) {
  Attrs attrs;
  if (kind) attrs.set("kind", std::string(kind));
  attrs.set("axis", int64_t{axis});
  return attrs;
}

constexpr const char* not_tiles = "works on tiles, not on numbers";

/// The kernel of a tile and its present value.
std::pair<BuilderState*, Value> read_tile(const Operand& x) {
  BuilderState* s = x.tile.state.get();
  return {s, s ? s->read(x.tile, x.at) : no_value};
}

Tile reduction(const char* kind, const Operand& x, int axis, ReduceOptions options = {},
               std::optional<Elem> gives = {}) {
  const auto [s, v] = read_tile(x);
  if (v == no_value) return s ? s->poison() : of_no_kernel({&x}, not_tiles, x.at);
  Type type = without_axis(s->module.type(v), axis);
  if (gives) type.elem = *gives;
  Attrs attrs = with_axis(kind, axis);
  attrs.set("partial", int64_t{options.partial});
  return s->handle(s->emit(OpCode::reduce, {v}, {type}, std::move(attrs), x.at), x.at);
}

/// The kernel of x where this is no Reduction, after a fault in it.
BuilderState* refuses(Reduction kind, const Operand& x) {
  BuilderState* s = x.tile.state.get();
  return s && !s->knows(kind, Reduction::bit_xor, "Reduction", x.at) ? s : nullptr;
}

/// reduce.custom and scan.custom: runs `join` once to write the region.
std::vector<Tile> custom(OpCode code, std::initializer_list<Operand> xs, int axis, Attrs attrs, const JoinMany& join) {
  BuilderState* kernel = kernel_of(pointers(xs));
  if (!kernel) return {of_no_kernel(pointers(xs), not_tiles, xs.size() ? xs.begin()->at : std::source_location())};
  BuilderState& s = *kernel;
  const Location at = xs.begin()->at;
  std::vector<Tile> failed(xs.size(), s.poison());
  if (!join) {
    s.fault(std::string(info(code).text) + ": the function is empty", at);
    return failed;
  }
  std::vector<Value> operands;
  std::vector<Type> results, elements;
  for (const Operand& x : xs) {
    if (!x.is_tile) {
      s.fault(std::string(info(code).text) + ": works on tiles, not on a number", x.at);
      return failed;
    }
    operands.push_back(s.read(x.tile, x.at));
    if (operands.back() == no_value) return failed;
    const Type type = s.module.type(operands.back());
    results.push_back(code == OpCode::reduce_custom ? without_axis(type, axis) : type);
    elements.push_back(Type::scalar(type.elem));
  }
  auto op = s.module.make(code, std::move(operands), results, std::move(attrs), s.add_location(at));
  const ForgetUnlessKept guard{s, op};
  Block& region = op->regions[0];
  std::vector<Tile> sides[2];
  for (auto& side : sides)
    for (const Type& type : elements) {
      region.args.push_back(s.module.new_value(type));
      side.push_back(s.constant_handle(region.args.back()));
    }
  struct Leave {
    BuilderState& state;
    bool before;
    ~Leave() { state.elements = before; }
  } leave{s, s.elements};
  s.elements = true;
  bool poison = false;
  s.inside(region, [&] {
    std::vector<Value> yielded;
    for (const Tile& tile : join(sides[0], sides[1])) {
      yielded.push_back(s.read(tile, at));
      poison |= yielded.back() == no_value;
    }
    if (!poison) s.emit(OpCode::yield, std::move(yielded), {}, {}, at);
  });
  s.elements = leave.before;
  if (poison || !s.check(op, at)) return failed;
  const std::vector<Value> made = op->results;
  s.blocks.back()->ops.push_back(std::move(op));
  std::vector<Tile> tiles;
  for (Value v : made) tiles.push_back(s.handle(v, at));
  return tiles;
}

JoinMany many(const Join& join) {
  if (!join) return {};
  return
      [&join](const std::vector<Tile>& a, const std::vector<Tile>& b) { return std::vector<Tile>{join(a[0], b[0])}; };
}

Attrs scan_attrs(const char* kind, int axis, ScanOptions options) {
  Attrs attrs = with_axis(kind, axis);
  if (kind) attrs.set("exclusive", int64_t{options.exclusive});
  attrs.set("reverse", int64_t{options.reverse});
  return attrs;
}

}  // namespace

Tile reduce(Operand x, int axis, Reduction kind) {
  if (BuilderState* s = refuses(kind, x)) return s->poison();
  return reduction(word<ReductionKind>(kind).c_str(), x, axis);
}
Tile sum(Operand x, int axis, ReduceOptions options) { return reduction("sum", x, axis, options); }
Tile prod(Operand x, int axis) { return reduction("prod", x, axis); }
Tile maximum(Operand x, int axis, ReduceOptions options) { return reduction("max", x, axis, options); }
Tile minimum(Operand x, int axis) { return reduction("min", x, axis); }
Tile any(Operand x, int axis) { return reduction("or", x, axis); }
Tile all(Operand x, int axis) { return reduction("and", x, axis); }
Tile argmax(Operand x, int axis) { return reduction("argmax", x, axis, {}, Elem::i32); }
Tile argmin(Operand x, int axis) { return reduction("argmin", x, axis, {}, Elem::i32); }

Tile finish(Operand x) {
  const auto [s, v] = read_tile(x);
  if (v == no_value) return s ? s->poison() : of_no_kernel({&x}, not_tiles, x.at);
  const std::string_view kind = s->unfinished(v);
  if (kind.empty()) {
    s->fault("finish: this is no unfinished sum or maximum", x.at);
    return s->poison();
  }
  Attrs attrs;
  attrs.set("kind", std::string(kind));
  return s->handle(s->emit(OpCode::finish, {v}, {s->module.type(v)}, std::move(attrs), x.at), x.at);
}

Tile reduce(Operand x, int axis, const Join& join) { return first(reduce({x}, axis, many(join))); }
std::vector<Tile> reduce(std::initializer_list<Operand> xs, int axis, const JoinMany& join) {
  return custom(OpCode::reduce_custom, xs, axis, with_axis(nullptr, axis), join);
}

Tile scan(Operand x, int axis, Reduction kind, ScanOptions options) {
  if (BuilderState* s = refuses(kind, x)) return s->poison();
  const auto [s, v] = read_tile(x);
  if (v == no_value) return s ? s->poison() : of_no_kernel({&x}, not_tiles, x.at);
  const Type type = s->module.type(v);
  return s->handle(
      s->emit(OpCode::scan, {v}, {type}, scan_attrs(word<ReductionKind>(kind).c_str(), axis, options), x.at), x.at);
}
Tile cumsum(Operand x, int axis, ScanOptions options) { return scan(x, axis, Reduction::sum, options); }
Tile cumprod(Operand x, int axis, ScanOptions options) { return scan(x, axis, Reduction::prod, options); }

Tile scan(Operand x, int axis, const Join& join, ScanOptions options) {
  return first(scan({x}, axis, many(join), options));
}
std::vector<Tile> scan(std::initializer_list<Operand> xs, int axis, const JoinMany& join, ScanOptions options) {
  if (BuilderState* kernel = kernel_of(pointers(xs)); kernel && options.exclusive) {
    kernel->fault("scan.custom: is never exclusive: a function has no element to begin with", xs.begin()->at);
    return std::vector<Tile>(xs.size(), kernel->poison());
  }
  return custom(OpCode::scan_custom, xs, axis, scan_attrs(nullptr, axis, options), join);
}

TLXJIT_NAMESPACE_END

// src/ir/check_p.h — the rules of single ops, shared by the builder and the verifier.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// A field of a ring: its name and the view that a slot gives of it.
struct RingField {
  std::string name;
  Type view;
};

/// Fields in the form of the `fields` attribute: `a 128x64xbf16, b 256x64xbf16`.
std::string format_fields(const std::vector<RingField>& fields);
/// The inverse; nothing when the text is malformed.
std::optional<std::vector<RingField>> parse_fields(std::string_view text);

/// Whether a name has a control character, which would break the lines it is told in.
bool has_control(std::string_view name);

/// Whether an op maps scalars to a scalar and tiles of one shape to a tile of that shape, element by element.
bool is_elementwise(OpCode code);

/// Whether an op gives a view of its first operand, a view: part, trans, view.slice and the like.
bool is_view_step(OpCode code);
/// What a view was taken from: the slot (of field) or the buffer (of view) at the end of its chain, for a buffer the
/// one that owns the storage. no_value where v is no view.
Value source_of(const Module& module, Value v);
/// Whether a cast gives the nearest finite number for what its result's type cannot hold.
bool cast_saturates(const Op& op, Elem from, Elem to);

/// What is wrong with the op's operands, attributes and result types, or an empty string. Looks at this op
/// alone (and at the declarations its operands come from), not at where it stands.
std::string check_op(const Module& module, const Op& op);

/// The size of a box, 0 where an extent is below 1 or the product is beyond that of any tile.
int64_t box_elements(const std::vector<int64_t>& box);
/// The `box` and `ragged` attributes of an access to a box of a tensor; `other`, null for none, is the name of what the
/// box fills or comes from, and has so many elements.
std::string check_box(const Op& op, const Type& tensor, const char* other, int64_t elements);
/// The tile that an access `reads` from a tensor or else writes to it: of its element type, and of its rank or, in
/// lowered IR, of the size of the op's box.
std::string check_boxed_tile(const Op& op, const Type& tensor, const Type& tile, bool reads);
/// Offsets into tensors are i32.
std::string check_offsets(const Module& module, std::span<const Value> offsets);
/// Operands from `first` on to the last: one coordinate per axis of the box, and a bound if ragged.
std::string check_coordinates(const Module& module, const Op& op, size_t first);
inline bool is_i32(const Type& t) { return t == Type::scalar(Elem::i32); }
/// A scalar or a tile.
inline bool is_value(const Type& t) { return t.is_scalar() || t.is_tile(); }
/// Whether there is arithmetic on it; fp8 and fp4 only convert.
inline bool computes(Elem e) { return is_float(e) && e <= Elem::f64; }
/// An integer of 32 or 64 bits: what atomics, flags and copies that reduce work on.
inline bool is_wide_int(Elem e) { return is_int(e) && bits(e) >= 32; }
/// The type of a reduction along `axis`: a scalar if the tile has no other; the type itself if it has none of that
/// number.
Type without_axis(Type type, int axis);
/// The type of a tile with one more axis, the last, of 2.
Type with_pairs(Type type);
/// `no tile (…)` unless the type is a tile of a shape that tiles may have.
std::string check_tile_type(const Type& type);
/// Refuses a number of something (`what`) that is a constant below 0.
std::string check_count(const Module& module, Value count, const char* what);
/// Refuses an index (`what`) that is no i32, or a constant and not one of n; any other is for the back end.
std::string check_index(const Module& module, Value index, int64_t n, const char* what);
/// The `offset` attribute, where there is one: aligned, and all of `bytes` below 2^31.
std::string check_shared_offset(const Op& op, int64_t bytes, int64_t alignment);

/// Operands from `first` on are i32 scalars.
std::string check_indices(const Module& module, const Op& op, size_t first);

// One function per family; check_op dispatches. Each assumes counts as in the op table.
std::string check_signature(const Module& module, const Op& op);  // dim, scalar, tensor
std::string check_scalar(const Module& module, const Op& op);
std::string check_shape(const Module& module, const Op& op);
std::string check_reduce(const Module& module, const Op& op);
std::string check_control(const Module& module, const Op& op);
std::string check_memory(const Module& module, const Op& op);
std::string check_ring(const Module& module, const Op& op);
std::string check_local(const Module& module, const Op& op);
std::string check_dot(const Module& module, const Op& op);
std::string check_sync(const Module& module, const Op& op);
std::string check_launch(const Module& module, const Op& op);
std::string check_access(const Module& module, const Op& op);
std::string check_debug(const Module& module, const Op& op);

TLXJIT_NAMESPACE_END

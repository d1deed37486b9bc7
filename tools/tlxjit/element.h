// tools/tlxjit/element.h — single elements of tensors in memory, by their type.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "tlxjit/ir/type.h"

namespace tlxjit::cli {

/// An element's value: exact for every type that there is.
using Number = std::variant<int64_t, uint64_t, double>;

double real_of(const Number& number);

/// Whether elements of this type can be made and read here: all but those of less than a byte and bare exponents.
bool has_numbers(Elem elem);

/// Writes `number` at `to`: integers exactly, or not at all (false) where the type has no such number; floats rounded
/// to nearest. A float is none of an integer type's.
bool put(Elem elem, const Number& number, void* to);

Number get(Elem elem, const void* from);

/// `-3`, `0x1f`, `1e-3`, `inf`, `true`; nothing when it is no number. Integers are u64 from 2^63 on.
std::optional<Number> parse_number(std::string_view text);

}  // namespace tlxjit::cli

// include/tlxjit/ir/op.h — op codes, attributes and what the op table says of each op.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN

enum class OpCode : uint8_t {
#define TLX_OP(family, id, ...) id,
#define TLX_LATER(...)
#include "tlxjit/ir/ops.def"
#undef TLX_LATER
#undef TLX_OP
};

/// Ops whose rules stand together.
enum class Family : uint8_t {
  program,
  constant,
  arith,
  math,
  compare,
  cast,
  shape,
  reduce,
  control,
  global,
  ring,
  local,
  dot,
  sync,
  copy,
  workspace,
  launch,
  flag,
  cluster,
  tmem,
  debug,
  inline_text,
};

enum class Level : uint8_t { portable, lowered, both };
enum class Scope : uint8_t { pure, once, all, control, declare };
enum class Effect : uint8_t { none, read, write, update, sync, async };

/// One row of the op table.
struct OpInfo {
  Family family;
  OpCode code;
  std::string_view text;
  Level level;
  Scope scope;
  int min_operands;
  int max_operands;  ///< -1: any number
  int results;       ///< -1: one or more
  int regions;
  std::string_view attributes;
  std::string_view needs;
  Effect effect;
  double bound;  ///< ulps of the result's type, beyond rounding to nearest
  std::string_view meaning;
};

/// A name that the table keeps for an op that is not there yet.
struct LaterOp {
  Family family;
  std::string_view text;
  std::string_view types;  ///< of operands → results
  std::string_view needs;
  std::string_view meaning;
};

TLXJIT_API const char* to_string(Family family);
TLXJIT_API const OpInfo& info(OpCode code);
TLXJIT_API std::span<const LaterOp> later_ops();
TLXJIT_API std::optional<OpCode> parse_op_code(std::string_view text);
TLXJIT_API int op_count();

/// An attribute's value.
struct TLXJIT_API Attr : std::variant<int64_t, double, std::string, std::vector<int64_t>> {
  using variant::variant;
  // libstdc++ takes a variant of these for one that always has a value, and destroys what is not there when a copy in
  // place has no memory.
  Attr() = default;
  Attr(const Attr& other);
  Attr& operator=(const Attr& other) { return *this = Attr(other); }
  Attr(Attr&&) noexcept = default;
  Attr& operator=(Attr&&) noexcept = default;
  ~Attr() = default;
};

/// Few named attributes, in the order in which they were set.
class TLXJIT_API Attrs {
 public:
  const Attr* find(std::string_view name) const;
  void set(std::string_view name, Attr value);
  /// The value, or a default when the attribute is absent or of another kind.
  int64_t integer(std::string_view name, int64_t otherwise = 0) const;
  std::string_view text(std::string_view name) const;
  const std::vector<int64_t>& list(std::string_view name) const;
  const std::vector<std::pair<std::string, Attr>>& all() const { return items_; }
  bool operator==(const Attrs&) const = default;

 private:
  std::vector<std::pair<std::string, Attr>> items_;
};

TLXJIT_NAMESPACE_END

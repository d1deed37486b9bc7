// include/tlxjit/ir/module.h — a kernel as IR: values, ops in nested blocks, source locations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tlxjit/core/export.h"
#include "tlxjit/core/location.h"
#include "tlxjit/ir/op.h"
#include "tlxjit/ir/type.h"

TLXJIT_NAMESPACE_BEGIN

/// How deep regions nest: a task's is the first. Lowering adds a few to what a portable module may have.
inline constexpr int max_nesting = 64, max_lowered_nesting = 128;

/// Names a value of a module; values are numbered from 0.
using Value = uint32_t;
inline constexpr Value no_value = UINT32_MAX;

struct Op;

/// A list of ops with arguments: the body of a module, or a region of an op.
struct TLXJIT_API Block {
  std::vector<Value> args;
  std::vector<std::unique_ptr<Op>> ops;

  Block();
  ~Block();
  Block(Block&&) noexcept;
  Block& operator=(Block&&) noexcept;
};

struct Op {
  OpCode code{};
  std::vector<Value> operands;
  std::vector<Value> results;
  Attrs attrs;
  std::vector<Block> regions;
  uint32_t location = 0;  ///< index into Module::locations

  Value result(size_t i = 0) const { return results[i]; }
  Value operand(size_t i) const { return operands[i]; }
};

/// What is known of a value.
struct ValueInfo {
  Type type;
  Op* def = nullptr;  ///< null for block arguments
};

/// One kernel. `level` says which ops it may contain, `target` (lowered only) for whom.
class TLXJIT_API Module {
 public:
  Module();
  ~Module();
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;

  std::string name = "kernel";
  Level level = Level::portable;
  std::string target;
  Attrs attrs;  ///< lowered: threads, shared_bytes
  Block body;
  std::vector<Location> locations;  ///< entry 0 is "unknown"

  const Type& type(Value v) const { return values_[v].type; }
  Op* def(Value v) const { return values_[v].def; }
  size_t value_count() const { return values_.size(); }
  const Location& location(const Op& op) const { return locations[op.location]; }

  Value new_value(const Type& type, Op* def = nullptr);
  void set_type(Value v, const Type& type) { values_[v].type = type; }
  void set_def(Value v, Op* def) { values_[v].def = def; }
  uint32_t add_location(const Location& location);

  /// A new op, in no block yet, with one new value per result type.
  std::unique_ptr<Op> make(OpCode code, std::vector<Value> operands, const std::vector<Type>& results = {},
                           Attrs attrs = {}, uint32_t location = 0);
  /// A deep copy; values keep their numbers.
  Module clone() const;

 private:
  std::vector<ValueInfo> values_;
};

/// Calls `fn` for every op of the block and of all regions below, in program order, an op before its regions.
TLXJIT_API void walk(Block& block, const std::function<void(Op&)>& fn);
TLXJIT_API void walk(const Block& block, const std::function<void(const Op&)>& fn);

/// Ops in the order of `walk`: the numbers by which compiled code names ops.
TLXJIT_API std::vector<const Op*> numbered_ops(const Module& module);

TLXJIT_NAMESPACE_END

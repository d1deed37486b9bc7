// src/codegen/emitter_p.h — lowered IR to C-family source, shared by the GPU back ends.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/codegen/abi_p.h"
#include "src/codegen/aliases_p.h"
#include "src/codegen/target_p.h"
#include "src/codegen/writer_p.h"
#include "src/ir/ranges_p.h"
#include "src/layout/assign_p.h"
#include "src/passes/place_tasks_p.h"
#include "tlxjit/core/result.h"

TLXJIT_NAMESPACE_BEGIN

/// Writes one kernel. Scalars become locals `v<value>`; a tile becomes one local per register, `v<value>_<register>`:
/// the device compiler then has no arrays to take apart and no loops to unroll, which is most of its time.
class Emitter {
 public:
  Emitter(const Module& module, const Abi& abi, const Placement& placement, const TileLayouts& layouts,
          GpuTarget& target);

  /// The whole source, or the first fault.
  Result<std::string> run(const std::string& entry);

  // --- for targets ---------------------------------------------------------------------------------------
  const Module& module() const { return module_; }
  const Abi& abi() const { return abi_; }
  const Placement& placement() const { return placement_; }
  const TileLayouts& layouts() const { return layouts_; }
  const TaskPlace& place() const { return *place_; }
  Writer& out() { return *out_; }

  void fail(const Op& op, const std::string& message, ErrorCode code = ErrorCode::unsupported);
  bool failed() const { return failed_; }

  /// C expression of a scalar: a name or a literal.
  std::string scalar(Value v) const;
  bool is_constant(Value v, int64_t& value) const;
  /// Names of the registers of a tile, tile variable or accumulator, written by now.
  const std::vector<std::string>& registers(Value v);
  /// Whether a `get` had to be written as a copy: its registers are then written where the `get` stands.
  bool is_copy(Value v) const { return copies_.count(v) != 0; }
  /// Declares the result of a hardware op and gives its name.
  std::string declare(Value v);
  /// A statement of the thread that issues for the instance.
  void issue(const std::string& statement);

  // Names of what a thread knows of itself; declared at the top of the task when asked for.
  std::string thread() { return ask(Context::thread, "tid"); }  ///< in the instance
  std::string lane() { return ask(Context::lane, "lane"); }
  std::string warp() { return ask(Context::warp, "iwarp"); }  ///< in the instance
  std::string replica() { return place_->replicas == 1 ? "0" : ask(Context::replica, "replica"); }
  std::string row() { return ask(Context::row, "frow"); }  ///< first row of the thread's fragment
  std::string col() { return ask(Context::col, "fcol"); }  ///< first column of the thread's fragment

 private:
  enum class Context : uint8_t { thread, lane, warp, replica, row, col, count };
  struct Group {  ///< elementwise ops on tiles of one size, not yet written
    int elements = 0;
    std::vector<const Op*> ops;
  };

  // emit_kernel.cpp
  void module_scalars();
  void roles();
  void task(const TaskPlace& place);
  void context_lines(Writer& w);
  std::string ask(Context what, const char* name);

  // emit_control.cpp
  void block(const Block& block);
  void op(const Op& op, const Block& block, size_t index);
  void loop(const Op& op);
  void while_loop(const Op& op);
  void branch(const Op& op);
  void variable(const Op& op);
  void assign(const Op& op, Value variable, Value value);

  // emit_scalar.cpp
  void scalar_op(const Op& op);
  std::string element(const Op& op, Elem in, const std::string& dest, const std::string* args);
  std::string integer_binary(const Op& op, const std::string& a, const std::string& b);
  std::string convert(const Op& op, Elem in, Elem out, const std::string& dest, const std::string& a);

  // emit_tile.cpp
  void tile_op(const Op& op, const Block& block, size_t index);
  void pend(const Op& op);
  std::string pending_element(const Op& op, int element);
  void flush(Group& group);
  void flush_all();
  void flush_value(Value v);
  void alias(Value v, std::vector<std::string> names, Value root);
  void copy_registers(Value v, const std::vector<std::string>& from);
  std::vector<std::string> register_names(Value v) const;
  void declare_registers(Value v, const std::vector<std::string>* init);
  void accumulator_columns(const Op& op, std::vector<std::string>& names);

  // emit_reduce.cpp
  void reduce(const Op& op);
  void finish(const Op& op);
  std::string combine(const std::string& kind, const std::string& dest, const std::string& a, const std::string& b);

  bool is_tile(Value v) const { return module_.type(v).kind == TypeKind::tile; }

  const Module& module_;
  const Abi& abi_;
  const Placement& placement_;
  const TileLayouts& layouts_;
  GpuTarget& target_;
  Ranges ranges_;
  const Aliases aliases_;
  Writer* out_ = nullptr;
  const TaskPlace* place_ = nullptr;
  bool asked_[static_cast<size_t>(Context::count)] = {};
  std::vector<std::string> names_;                                 ///< of scalars, by value
  std::unordered_map<Value, std::vector<std::string>> registers_;  ///< of tiles
  std::unordered_map<Value, Value> roots_;                         ///< the value whose registers an alias shares
  std::unordered_set<Value> copies_;        ///< gets that do not share their variable's registers
  std::unordered_map<Value, int> pending_;  ///< value → elements of its group
  std::vector<Group> groups_;
  bool failed_ = false;
  Error error_;
};

/// C name of an element type: `i32`, `f32`, `bool`, …
const char* c_type(Elem elem);
/// What is said of casts with attributes.
inline constexpr const char* own_rounding =
    "with a rounding or saturation of its own is not supported by this back end";
/// C type of a tile's register: `u32` for packed pairs.
const char* register_type(Elem elem);
/// `text` as a part of a C identifier.
std::string identifier(std::string_view text);
/// A parameter in C: `d_N`. The value's number keeps apart what C cannot, or what a stride is called: `d3_B_1` of
/// `B+1`.
std::string parameter_name(char kind, Value value, std::string_view name);
std::string name_of(const AbiTensor& tensor);
std::string stride_name(const AbiTensor& tensor, size_t axis);
/// A constant op's value as a C literal.
std::string literal(const Op& constant, Elem elem);
std::string literal(int64_t number, Elem elem);  // of an integer type or b1

TLXJIT_NAMESPACE_END

// backends/cpu/emit/emitter_p.h — lowered IR to LLVM IR, one function per task; a source per family of ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backends/cpu/lane_p.h"
#include "src/ir/access_p.h"
#include "src/ir/check_p.h"
#include "src/ir/words_p.h"
#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

using Node = llvm::Value*;  // `Value` is a value of our IR

/// Thrown inside the plug-in only: an op or type that the emitter lacks.
struct Unsupported {
  const Op* op;
  std::string what;
};

/// Likewise: inline text that LLVM would refuse.
struct BadInlineText {
  const Op* op;
  std::string what;
};

/// What the functions of one kernel share.
struct Unit {
  const Module& module;
  llvm::Module& code;
  int vector_bits = 256;  // of the host's widest registers
  std::unordered_map<const Op*, uint32_t> number;
  std::vector<std::vector<const Op*>> users;  // by value
  std::vector<const Op*> death;               // by value: the last op of its block that needs it; null: the block's end
  std::unordered_map<Value, uint32_t> index;  // of dims, scalars, tensors, and first slots of barriers
  std::unordered_map<Value, int64_t> buffer_offset;
  std::vector<int32_t> barrier_counts;
  size_t shared_bytes = 0;
  std::vector<Gap> shared_gaps;  // watched by AddressSanitizer
  int32_t words = 0;
  int32_t cluster = 1;  // programs of a cluster
  bool resident = false;
  bool precise = false;  // products and sums do not contract
  bool fences = false;   // of global memory are somewhere in it
  std::map<std::string, llvm::Function*> dots;

  Unit(const Module& module, llvm::Module& code);
  llvm::LLVMContext& context() const { return code.getContext(); }
  llvm::Function* function(const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> args, bool local);

 private:
  void place_buffer(const Op& op);
  void spread_buffers();
};

/// A view: where element (0, …) lies, and the strides in elements.
struct View {
  Node base = nullptr;
  Elem elem = Elem::none;
  Shape shape;
  std::array<int64_t, Shape::max_rank> stride{};
};

/// Storage of tile values at offsets that are known when compiling; freed space is used again.
class Arena {
 public:
  int64_t take(int64_t bytes);
  void give(int64_t offset);
  int64_t size() const { return size_; }
  const std::vector<Gap>& gaps() const { return gaps_; }

 private:
  std::map<int64_t, int64_t> used_;  // offset → bytes
  std::vector<Gap> gaps_;            // watched by AddressSanitizer
  int64_t size_ = 0;
};

/// How a cast rounds, and what becomes of numbers that its type cannot hold.
struct CastMode {
  enum Rounding { nearest, to_zero, stochastic } rounding = nearest;
  bool saturate = false;
  Node random = nullptr;  // u32, for stochastic rounding
};

/// Builds elementwise code on scalars (lanes = 1) and on vectors alike. f16 and bf16 are held as f32 values
/// that are exactly representable in their type, and every op rounds once; smaller floats, which only convert, are
/// held as their codes.
class Elements {
 public:
  explicit Elements(llvm::LLVMContext& context) : b(context) { b.setFastMathFlags(contract()); }

  static llvm::FastMathFlags contract();
  llvm::Type* wide(llvm::Type* type, unsigned lanes) const;
  llvm::Type* reg(Elem elem, unsigned lanes) const;
  llvm::Type* mem(Elem elem, unsigned lanes) const;
  static int64_t size(Elem elem) { return elem == Elem::f4e2m1 ? 1 : bytes(elem); }
  Node load(Node at, Elem elem, unsigned lanes);
  void store(Node value, Node at, Elem elem);
  Node splat(Node value, unsigned lanes);
  Node round(Node value, Elem elem);
  /// An f32 to nearest even without the last `bits` of its mantissa.
  Node shortened(Node value, unsigned bits);
  Node constant(const Op& op, Elem elem, unsigned lanes);
  Node real(llvm::Type* type, double value) const;
  /// A cast without attributes.
  Node cast(Node value, Elem from, Elem to);
  Node cast(Node value, Elem from, Elem to, const CastMode& mode);
  /// The op `cast`, whose operands are `in`.
  Node cast(const Op& op, llvm::ArrayRef<Node> in, Elem from, Elem to);
  Node bitcast(Node value, Elem from, Elem to);
  /// An elementwise op of the table; `elem` is the operands' element type.
  Node compute(const Op& op, llvm::ArrayRef<Node> in, Elem elem);
  /// The same with casts and selects.
  Node apply(const Op& op, llvm::ArrayRef<Node> in, Elem from, Elem to);
  /// Joins two elements as a reduction of this kind does. Sums and products of f16 and bf16 are not rounded.
  Node join(ReductionKind kind, Node a, Node b, Elem elem);
  /// What a reduction starts from. A number wins over NaN, so NaN is what changes no maximum and no minimum.
  llvm::Constant* identity(ReductionKind kind, Elem elem, unsigned lanes) const;
  Node larger(Node a, Node b, Elem elem);
  Node smaller(Node a, Node b, Elem elem);
  Node add(Node a, Node b, Elem elem);
  /// base + bytes, either constant or not.
  Node at(Node base, Node bytes);
  Node at(Node base, int64_t bytes);
  Node i64(int64_t value) { return b.getInt64(static_cast<uint64_t>(value)); }
  /// for (i = 0; i < n; i += step); n ≥ 1 is a multiple of step.
  void loop(int64_t n, int64_t step, const std::function<void(Node)>& body);

  llvm::IRBuilder<> b;

 private:
  Node divide(Node a, Node b, bool is_signed, bool remainder);
  Node floor_divide(Node a, Node b, bool is_signed, bool remainder);
  Node multiply_high(Node a, Node b, bool is_signed);
  Node from_memory(Node raw, Elem elem);
  Node to_memory(Node value, Elem elem);
  Node odd_f32(Node value);
  Node encode(Node value, Elem to, const CastMode& mode);
  Node encode_e8m0(Node value, const CastMode& mode);
  Node decode(Node code, Elem from);
  llvm::Type* like(Node value, llvm::Type* type) const { return value->getType()->getWithNewType(type); }
};

/// LLVM's comparison of elements of this type.
llvm::CmpInst::Predicate predicate(Predicate pred, Elem elem);

/// The widest vector of at most 16 lanes that divides a row.
unsigned lanes_for(int64_t columns);

class Emitter : public Elements {
 public:
  Emitter(Unit& unit, const Op& task);
  /// Emits the task; gives the arena that an instance needs.
  Arena run(const std::string& name);

 private:
  struct Group {  // elementwise ops over one shape, not yet emitted
    Shape domain;
    std::vector<const Op*> ops;
    std::unordered_set<const Op*> has;  // the same
  };
  struct Position;  // of a loop over a group's elements

  // emitter.cpp
  void block(const Block& block);
  void op(const Op& op);
  [[noreturn]] void unsupported(const Op& op, const char* what) const { throw Unsupported{&op, what}; }
  const Type& type(Value v) const { return unit_.module.type(v); }
  Node scalar(Value v);
  Node index64(Value v) { return b.CreateSExt(scalar(v), b.getInt64Ty()); }
  Node outer_scalar(const Op& op);
  Node field(size_t offset, llvm::Type* type);
  Node entry_alloca(llvm::Type* type);
  void at_entry(const std::function<void()>& fn);

  // scalar ops that read the context or the instance
  Node scalar_op(const Op& op);
  Node param(Value v);

  // control.cpp
  void demand(Node holds, const char* function, llvm::ArrayRef<Node> details, const Op& op);
  void for_loop(const Op& op);
  void while_loop(const Op& op);
  void if_else(const Op& op);
  void declare(const Op& op);
  void set(const Op& op);

  // memory.cpp
  Node bounded(Value index, int64_t n, const Op& op);
  Node bounded(Node index, Node n, const Op& op);
  Node slot_address(Value buffer, Value slot, const Op& op);
  Node tensor_address(Value tensor);
  Node tensor_stride(Value tensor, size_t axis);
  Node load_scalar(const Op& op);
  Node tensor_element(const Op& op, Node& number);
  void copy(const Op& op);
  void copy_box(const Op& op, size_t first_coordinate, BoxMode mode, Node local);
  View view(Value v);
  Node element_address(const Op& op);
  void workspace(const Op& op);

  // sync.cpp
  Node barrier_address(Value barrier, Value slot, const Op& op);
  void wait(const Op& op);
  void meet(const Op& op);
  void arrive(const Op& op);
  int64_t arrivals(const Op& op) const;
  void settle(Node barrier, Node arrivals, Node bytes);

  // flag.cpp
  void flag(const Op& op);

  // cluster.cpp
  void cluster_op(const Op& op);
  Node remote_barrier(Value barrier, Value slot, Value rank, const Op& op);
  Node remote_slot(Value buffer, Value slot, Value rank, const Op& op);

  // dot.cpp, dot_pack.cpp
  void dot(const Op& op);
  int64_t dot_scratch_bytes() const;

  // tile.cpp: groups and storage
  static bool is_tile_op(const Op& op, const Module& module);
  Shape domain(const Op& op) const;
  void tile_op(const Op& op);
  void flush(Group group);
  void flush_all();
  bool read_in_place(const Block& block, size_t at) const;
  bool pending(Value v, size_t& group) const;
  int64_t take(Value v);
  Node tile_address(Value v);
  Node arena_address(int64_t offset);
  void died(const Op& op);
  void close_scope();

  // tile_loop.cpp: one group as a loop
  void emit_group(const Group& group);
  void emit_element(const Op& op, Position& p);
  bool sink_element(const Op& op, Position& p, Node flat);
  void reduce_element(const Op& op, Position& p);
  Node iota_element(int axis, Position& p);
  Node value_element(const Op& op, Position& p, Node flat);
  void finish_row(const Op& op, Position& p);
  void begin_reduce(const Op& op, Position& p);
  void end_reduce(const Op& op, Position& p);
  Node lane(Value v, Position& p);
  Node without_axis(const Position& p, int axis);
  bool stored(Value v, const Group& group) const;
  Node view_offset(const View& view, Position& p, int axis, Node index);
  Node view_index(const Op& op, const View& view, Position& p);
  Node load_view(const Op& op, Position& p);
  void store_view(const Op& op, Position& p);

  // stored.cpp: ops that work on tiles as they are stored, each in loops of its own
  static bool is_stored_op(const Op& op);
  void stored_op(const Op& op);
  void flush_operands(const Op& op);
  Node element(Value tile, Node index, unsigned lanes = 1);
  Node element_address(Value tile, Node index);

  // shape.cpp
  struct Strided;  // elements of a tile at strides
  Strided strided(Value tile);
  void rearrange(const Op& op);
  void copy_elements(Shape shape, Strided from, Strided to, Elem elem);

  // fold.cpp
  struct Fold;
  static bool finds(const Op& op);
  void fold(const Op& op);
  void fold_axis(const Fold& f, const std::function<Node(Node)>& place, Node result);
  std::vector<Node> fold_step(const Fold& f, std::vector<Node> carried, const std::vector<Node>& met, Node k);
  std::vector<Node> better_of(const Fold& f, const std::vector<Node>& carried, Node met, Node k);
  std::vector<Node> region(const Block& region, llvm::ArrayRef<Node> args, unsigned lanes);

  // access.cpp
  struct Element;  // of an access: its number in the tile, and where in the tensor
  void access(const Op& op);
  void each_element(const Op& op, const ElementAccess& access, const std::function<void(const Element&)>& fn);
  void if_inside(const Element& e, const std::function<void()>& fn);
  Node atomic(const Op& op, const ElementAccess& access, const Element& e);
  /// The same as one atomicrmw, of ops that ThreadSanitizer sees.
  Node exchange_until(llvm::AtomicRMWInst::BinOp what, Node address, Node value, llvm::Align align,
                      llvm::AtomicOrdering ordering);

  // debug.cpp
  void print(const Op& op);
  void assertion(const Op& op);

  // inline_text.cpp
  void inline_text(const Op& op);

  Unit& unit_;
  const Op& task_;
  llvm::Function* fn_ = nullptr;
  Node context_ = nullptr;
  Node replica_ = nullptr;
  Node copy_at_ = nullptr;  // where copies put their coordinates
  llvm::Instruction* entry_end_ = nullptr;
  std::unordered_map<Value, Node> scalars_;
  std::unordered_map<Value, Node> variables_;  // scalar variables
  std::unordered_map<Value, int64_t> tiles_;   // arena offsets of tiles, tile variables, accumulators
  std::unordered_map<Value, Value> in_place_;  // values of variables that are read where the variable lies
  std::unordered_map<size_t, Node> fields_;
  std::vector<Group> groups_;
  std::vector<std::vector<Value>> scopes_;  // storage to free at the end of each open block
  std::vector<Value> dead_;                 // to free once no group is pending
  std::unordered_map<const Op*, std::vector<Value>> deaths_;
  Arena arena_;
};

}  // namespace cpu
TLXJIT_NAMESPACE_END

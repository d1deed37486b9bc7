// backends/cpu/emit/unit.cpp — what the emitter must know of a module before it starts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "backends/cpu/emit/emitter_p.h"
#include "backends/cpu/instrument_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

/// Finds users and deaths, and refuses a value that is used where it is not defined.
class Uses {
 public:
  explicit Uses(Unit& unit) : unit_(unit), home_(unit.module.value_count(), nullptr) {
    unit.users.resize(unit.module.value_count());
    unit.death.resize(unit.module.value_count(), nullptr);
    escaped_.resize(unit.module.value_count(), false);
  }

  void visit(const Block& block, const Op* parent) {
    const size_t depth = frames_.size();
    frames_.push_back({&block, nullptr});
    for (Value v : block.args) home_[v] = &block;
    for (const auto& op : block.ops) {
      frames_[depth].op = op.get();
      const OpInfo& row = info(op->code);
      const int operands = static_cast<int>(op->operands.size());
      if (row.level == Level::portable) throw Unsupported{op.get(), "an op of portable IR"};
      if (operands < row.min_operands || (row.max_operands >= 0 && operands > row.max_operands) ||
          (row.results >= 0 && static_cast<int>(op->results.size()) != row.results) ||
          static_cast<int>(op->regions.size()) != row.regions)
        throw Unsupported{op.get(), "a wrong number of operands, results or regions"};
      for (Value v : op->operands) use(v, *op);
      for (const Block& region : op->regions) visit(region, op.get());
      for (Value v : op->results) home_[v] = &block;
    }
    // Region 1 of a while sees what region 0 defines, no other region sees its neighbour.
    const bool seen_on = parent && parent->code == OpCode::while_ && &block == &parent->regions[0];
    frames_.pop_back();
    if (!seen_on) leave(block);
    if (parent && parent->code == OpCode::while_ && &block == &parent->regions[1]) leave(parent->regions[0]);
  }

 private:
  struct Frame {
    const Block* block;
    const Op* op;
  };

  void use(Value v, const Op& op) {
    if (!home_[v]) throw Unsupported{&op, "a value that is not defined here"};
    unit_.users[v].push_back(&op);
    if (escaped_[v]) return;
    for (const Frame& frame : frames_)
      if (frame.block == home_[v]) {
        unit_.death[v] = frame.op;
        return;
      }
    escaped_[v] = true;
    unit_.death[v] = nullptr;
  }

  void leave(const Block& block) {
    for (Value v : block.args) home_[v] = nullptr;
    for (const auto& op : block.ops)
      for (Value v : op->results) home_[v] = nullptr;
  }

  Unit& unit_;
  std::vector<const Block*> home_;  // the block that defines a value, while it is in sight
  std::vector<bool> escaped_;
  std::vector<Frame> frames_;
};

int64_t buffer_bytes(const Type& type) { return type.slots * type.shape.elements() * bytes(type.elem); }

}  // namespace

Unit::Unit(const Module& m, llvm::Module& c) : module(m), code(c) {
  const auto ops = numbered_ops(module);
  for (uint32_t i = 0; i < ops.size(); ++i) {
    number[ops[i]] = i;
    fences |= ops[i]->code == OpCode::fence && ops[i]->attrs.find("scope");
  }
  Uses(*this).visit(module.body, nullptr);

  uint32_t dims = 0, scalars = 0, tensors = 0;
  for (const auto& op : module.body.ops) {
    const Value v = op->results.empty() ? no_value : op->result();
    switch (op->code) {
      case OpCode::dim: index[v] = dims++; break;
      case OpCode::scalar: index[v] = scalars++; break;
      case OpCode::tensor: index[v] = tensors++; break;
      case OpCode::workspace: words = static_cast<int32_t>(op->attrs.integer("words")); break;
      case OpCode::barrier: {
        const Type& type = module.type(v);
        const int64_t count = op->attrs.integer("count");
        if (type.kind != TypeKind::barrier || type.slots < 1 || count < 1)
          throw Unsupported{op.get(), "a barrier without slots or arrivals"};
        index[v] = static_cast<uint32_t>(barrier_counts.size());
        barrier_counts.insert(barrier_counts.end(), static_cast<size_t>(type.slots), static_cast<int32_t>(count));
        break;
      }
      case OpCode::cluster: cluster = static_cast<int32_t>(op->attrs.integer("size", 1)); break;
      case OpCode::resident: resident = true; break;
      case OpCode::math: precise = op->attrs.text("mode") == "precise"; break;
      case OpCode::buffer: place_buffer(*op); break;
      default: break;
    }
  }
  shared_bytes = std::max(shared_bytes, static_cast<size_t>(module.attrs.integer("shared_bytes")));
  if (asan) spread_buffers();
}

void Unit::place_buffer(const Op& op) {
  const Type& type = module.type(op.result());
  if (type.kind != TypeKind::buffer || type.slots < 1 || !type.shape.valid() || bytes(type.elem) == 0)
    throw Unsupported{&op, "this buffer"};
  int64_t free = static_cast<int64_t>((shared_bytes + 127) / 128 * 128);
  if (!op.operands.empty()) free = buffer_offset.at(op.operand(0)) + op.attrs.integer("at", 0);
  const int64_t at = op.attrs.integer("offset", free);
  if (at < 0) throw Unsupported{&op, "a buffer at a negative offset"};
  buffer_offset[op.result()] = at;
  shared_bytes = std::max(shared_bytes, static_cast<size_t>(at + buffer_bytes(type)));
}

/// Moves the buffers apart, with a red zone behind each; those that overlap stay as they lie to each other.
void Unit::spread_buffers() {
  struct Place {
    int64_t begin, end;
    Value buffer;
  };
  std::vector<Place> places;
  for (const auto& [buffer, at] : buffer_offset) places.push_back({at, at + buffer_bytes(module.type(buffer)), buffer});
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.begin < b.begin; });
  int64_t moved = 0, end = 0;  // end: of the buffers so far, where they stood
  auto gap = [&] {
    const int64_t next = (end + moved + red_zone + 1023) / 1024 * 1024;
    shared_gaps.push_back({static_cast<size_t>(end + moved), static_cast<size_t>(next)});
    return next;
  };
  for (const Place& place : places) {
    if (place.begin >= end && end > 0) moved = gap() - place.begin;
    buffer_offset[place.buffer] = place.begin + moved;
    end = std::max(end, place.end);
  }
  if (end > 0) shared_bytes = static_cast<size_t>(gap());
}

llvm::Function* Unit::function(const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> args,
                               bool local) {
  auto linkage = local ? llvm::Function::InternalLinkage : llvm::Function::ExternalLinkage;
  auto* fn = llvm::Function::Create(llvm::FunctionType::get(result, args, false), linkage, name, code);
  fn->addFnAttr(llvm::Attribute::NoUnwind);
  mark_for_sanitizer(*fn);
  fn->addFnAttr("warn-stack-size", "0");  // LLVM tells every frame's size
  // Vectors are written with their width on purpose: let the widest registers be used.
  fn->addFnAttr("prefer-vector-width", std::to_string(vector_bits));
  fn->addFnAttr("min-legal-vector-width", std::to_string(vector_bits));
  return fn;
}

}  // namespace cpu
TLXJIT_NAMESPACE_END

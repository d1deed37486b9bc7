// src/builder/kernel.cpp — declarations, variables and branches; the finished kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/kernel.h"

#include <cstdint>
#include <new>

#include "src/builder/state_p.h"
#include "tlxjit/ir/verify.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

Error no_memory() {
  Error error;
  error.kind = ErrorKind::environment;
  error.stage = Stage::verify;
  error.code = ErrorCode::out_of_resources;
  error.message = "no memory";  // short enough to need none
  return error;
}

}  // namespace

Kernel::Kernel(std::string name, std::source_location at)
    : state_(std::make_shared<BuilderState>(std::move(name), at)) {}
Kernel Kernel::generated(std::string name, std::source_location caller) {
  Kernel kernel(std::move(name), caller);
  kernel.state_->caller = caller;
  return kernel;
}
Kernel::Kernel(std::shared_ptr<BuilderState> state) : state_(std::move(state)) {}
Kernel::~Kernel() = default;
// What was moved away keeps the state, to tell it where it is used all the same.
// NOLINTNEXTLINE(performance-move-constructor-init)
Kernel::Kernel(Kernel&& other) noexcept : state_(other.state_), moved_(other.moved_) { other.moved_ = true; }
Kernel& Kernel::operator=(Kernel&& other) noexcept {
  if (this == &other) return *this;
  state_ = other.state_;
  moved_ = std::exchange(other.moved_, true);
  return *this;
}

BuilderState& Kernel::use(const std::source_location& at) {
  if (!moved_) return *state_;
  state_->fault("a kernel that was moved away is used here", at);
  if (!state_->leftovers) {
    state_->leftovers = std::make_shared<BuilderState>(state_->module.name, state_->at);
    state_->leftovers->discarded = true;
  }
  return *state_->leftovers;
}

Index Kernel::dim(std::string_view name, int64_t at_least, std::source_location at) {
  return dim(name, at_least, INT32_MAX, at);
}

Index Kernel::dim(std::string_view name, int64_t at_least, int64_t at_most, std::source_location at) {
  BuilderState& s = use(at);
  Attrs attrs = named(name);
  if (at_least != 0) attrs.set("min", at_least);
  if (at_most != INT32_MAX) attrs.set("max", at_most);
  return s.constant_handle(s.emit(OpCode::dim, {}, {Type::scalar(Elem::i32)}, std::move(attrs), at));
}

Tensor Kernel::tensor(Elem elem, std::string_view name, std::initializer_list<Operand> extents,
                      std::source_location at) {
  BuilderState& s = use(at);
  Tensor tensor;
  tensor.state_ = s.shared_from_this();
  tensor.value_ = s.emit(OpCode::tensor, s.indices(extents), {Type::tensor(static_cast<int32_t>(extents.size()), elem)},
                         named(name), at);
  return tensor;
}

Scalar Kernel::scalar(Elem elem, std::string_view name, std::optional<double> above, std::source_location at) {
  BuilderState& s = use(at);
  Attrs attrs = named(name);
  if (above) attrs.set("above", *above);
  return s.constant_handle(s.emit(OpCode::scalar, {}, {Type::scalar(elem)}, std::move(attrs), at));
}

void Kernel::fault(std::string message, std::source_location at) { use(at).fault(std::move(message), at); }

Tile Kernel::variable(Operand value) {
  BuilderState& s = use(value.at);
  if (value.is_tile) return value.tile.state ? s.copy(value.tile, value.at) : of_no_kernel({&value}, no_tile, value.at);
  return s.handle(s.literal(value, Elem::i32), value.at);
}

void Kernel::when(Operand condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  BuilderState& s = use(condition.at);
  if (!condition.is_tile) return s.fault("when: the condition is a value of the kernel, not a number", condition.at);
  if (!then) return s.fault("when: the function is empty", condition.at);
  s.emit_with_regions(OpCode::if_, {s.read(condition.tile, condition.at)}, {}, condition.at, [&](Op& op) {
    s.inside(op.regions[0], then);
    if (otherwise) s.inside(op.regions[1], otherwise);
  });
}

void Kernel::loop(const std::function<Tile()>& condition, const std::function<void()>& body, std::source_location at) {
  BuilderState& s = use(at);
  if (!condition || !body) return s.fault("loop: the function is empty", at);
  s.emit_with_regions(OpCode::while_, {}, {}, at, [&](Op& op) {
    Value holds = no_value;
    s.inside(op.regions[0], [&] {
      holds = s.read(condition(), at);
      s.emit(OpCode::yield, {holds}, {}, {}, at);
    });
    s.inside(op.regions[1], body);
    return holds != no_value;
  });
}

const std::string& Kernel::name() const { return state_->module.name; }
const std::vector<Error>& Kernel::faults() const { return state_->faults; }

/// Whether regions nest deeper than `most`, which the verifier refuses.
static bool nests_deeper(const Block& block, int most) {
  for (const auto& op : block.ops)
    for (const Block& region : op->regions)
      if (most == 0 || nests_deeper(region, most - 1)) return true;
  return false;
}

std::vector<Error> BuilderState::finished(Module& out) const {
  std::vector<Error> all = faults;
  for (const DeclaredTask& task : tasks) {
    if (task.has_body) continue;
    all.push_back(fault_of("task: '" + task.name + "' has no body", told_at(task.at)));
  }
  // What the verifier would say of a kernel with pieces missing repeats the builder's faults.
  if (!all.empty()) return all;
  out = module.clone();
  if (!nests_deeper(out.body, max_nesting)) promote_variables(out);  // its time is that of ops times depth
  all = tlxjit::verify(out);
  for (Error& fault : all)
    if (!fault.location.known()) fault.location = at;
  return all;
}

std::vector<Error> Kernel::verify() const {
  std::vector<Error> none;
  try {
    none.reserve(1);  // for what is told of a lack of memory
    if (moved_) return {BuilderState::fault_of("the kernel was moved away", state_->at)};
    Module module;
    return state_->finished(module);
  } catch (const std::bad_alloc&) {
    if (none.capacity() > 0) none.push_back(no_memory());
    return none;
  }
}

Result<Module> Kernel::module() const try {
  if (moved_) return BuilderState::fault_of("the kernel was moved away", state_->at);
  Module module;
  if (auto ok = first_of(state_->finished(module)); !ok) return std::move(ok).error();
  return module;
} catch (const std::bad_alloc&) {
  return no_memory();
}

TLXJIT_NAMESPACE_END

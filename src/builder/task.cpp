// src/builder/task.cpp — tasks and their instances.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/task.h"

#include "src/builder/state_p.h"
#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

TaskBuilder Kernel::task(std::string_view name, std::source_location at) {
  BuilderState& s = use(at);
  TaskBuilder task;
  task.state_ = s.shared_from_this();
  s.tasks.push_back({std::string(name), at, false});
  task.number_ = static_cast<int>(s.tasks.size());
  return task;
}

void TaskBuilder::run(const std::function<void(Task&)>& fn) {
  BuilderState& s = *state_;
  DeclaredTask& declared = s.tasks[static_cast<size_t>(number_) - 1];
  const Location at = declared.at;
  declared.has_body = true;
  if (s.in_task()) return s.fault("task: a task stands in no other task", at);
  if (!fn) return s.fault("task: the function is empty", at);
  Attrs attrs = named(declared.name);
  attrs.set("warps", int64_t{warps_});
  attrs.set("replicas", int64_t{replicas_});
  if (registers_ != 0) attrs.set("registers", int64_t{registers_});
  if (staggered_) attrs.set("staggered", int64_t{1});
  struct Leave {
    BuilderState& state;
    ~Leave() {
      state.task = 0;
      state.at_task_end.clear();
    }
  } leave{s};
  s.task = number_;
  s.task_warps = warps_ > 0 ? warps_ : 1;
  s.emit_with_regions(OpCode::task, {}, std::move(attrs), at, [&](Op& op) {
    s.inside(op.regions[0], [&] {
      Task task;
      task.state_ = state_;
      task.number_ = number_;
      task.replicas_ = replicas_ > 0 ? replicas_ : 1;
      fn(task);
      for (const auto& end : s.at_task_end) end();
    });
  });
}

bool Task::is_here(const std::source_location& at) const {
  if (!state_) return false;
  if (state_->task == number_) return true;
  state_->fault("a Task is used outside of its body", at);
  return false;
}

Index Task::replica(std::source_location at) const {
  if (!is_here(at)) return nothing(at);
  return state_->constant_handle(state_->emit(OpCode::replica, {}, {Type::scalar(Elem::i32)}, {}, at));
}

Tile Task::nothing(const std::source_location& at) const {
  return state_ ? state_->poison() : of_no_kernel({}, no_handle, at);
}

Index Task::offset(int64_t total, std::source_location at) const {
  if (!is_here(at)) return nothing(at);
  if (total % replicas_) {
    state_->fault(
        "offset: " + std::to_string(total) + " does not divide among " + std::to_string(replicas_) + " replicas", at);
    return nothing(at);
  }
  return Operand(replica(at), at) * Operand(total / replicas_, at);
}

Accumulator Task::accumulator(Elem elem, Shape shape, std::source_location at) const {
  Accumulator acc;
  acc.state_ = state_;
  if (is_here(at)) acc.value_ = state_->emit(OpCode::accumulator, {}, {Type::accumulator(shape, elem)}, {}, at);
  return acc;
}

Tile Task::full(Shape shape, Elem elem, Operand number) const {
  const auto& at = number.at;
  if (!is_here(at)) return nothing(at);
  return state_->handle(state_->emit(OpCode::splat, {state_->value(number, elem)}, {Type::tile(shape, elem)}, {}, at),
                        at);
}

Tile Task::iota(Shape shape, int axis, std::source_location at) const {
  if (!is_here(at)) return nothing(at);
  return state_->handle(state_->emit(OpCode::iota, {}, {Type::tile(shape, Elem::i32)}, with_axis(axis), at), at);
}

void Task::sync(std::source_location at) const {
  if (is_here(at)) state_->emit(OpCode::sync, {}, {}, {}, at);
}

void Task::stage(std::string_view name, int priority, std::source_location at) const {
  if (!is_here(at)) return;
  Attrs attrs;
  attrs.set("name", std::string(name));
  attrs.set("priority", int64_t{priority});
  state_->emit(OpCode::stage, {}, {}, std::move(attrs), at);
}

TLXJIT_NAMESPACE_END

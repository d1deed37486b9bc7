// backends/cpu/lane.cpp — programs as fibers that take turns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/lane_p.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

constexpr size_t alignment = tsan ? 4096 : 1024;  // as shared memory on a GPU; whole pages for `forget`
constexpr size_t rounded(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

TLXJIT_UNSEEN_BY_TSAN void run(void* data) {
  auto* context = static_cast<Context*>(data);
  context->entry(context, context->replica);
  released(context->launch);
  context->done = true;
}

void give_stacks(StackPool& stacks, const std::vector<Context>& contexts) {
  for (const Context& context : contexts) stacks.give(context.fiber.stack(), context.fiber.stack_bytes());
}

}  // namespace

Memory::Memory(size_t bytes, std::vector<Gap> gaps) : bytes_(bytes), gaps_(std::move(gaps)) {
  if (bytes == 0) return;
  void* data = nullptr;
  if (tsan) {
    data = mmap(nullptr, rounded(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) data = nullptr;
  } else {
    data = std::aligned_alloc(alignment, rounded(bytes));
  }
  if (!data) throw std::bad_alloc();
  data_ = {static_cast<uint8_t*>(data), Free{rounded(bytes)}};
  watch(true);
}

void Memory::Free::operator()(uint8_t* p) const {
  if (tsan)
    munmap(p, bytes);
  else
    std::free(p);
}

void Memory::watch(bool on) {
  const size_t end = rounded(bytes_);
  unpoison(data(), end);
  if (!on) return;
  for (const Gap& gap : gaps_) poison(data() + gap.begin, gap.end - gap.begin);
  poison(data() + bytes_, end - bytes_);
}

void Memory::fill(uint8_t byte) {
  if (bytes_ == 0) return;
  watch(false);
  std::memset(data(), byte, bytes_);
  watch(true);
}

void Memory::forget() { forget_accesses(data(), bytes_ ? rounded(bytes_) : 0); }

size_t Program::instances() const {
  size_t n = 0;
  for (const TaskCode& task : tasks) n += static_cast<size_t>(task.replicas);
  return n * static_cast<size_t>(cluster);
}

Lane::Lane(const Program& program, StackPool& stacks) : program_(program), stacks_(stacks) {
  const auto cluster = static_cast<size_t>(program.cluster);
  const size_t stride = shared_stride(program.shared_bytes), slots = program.barrier_counts.size();
  std::vector<Gap> gaps;
  for (size_t rank = 0; rank < cluster; ++rank) {
    for (const Gap& gap : program.shared_gaps) gaps.push_back({rank * stride + gap.begin, rank * stride + gap.end});
    if (rank + 1 < cluster) gaps.push_back({rank * stride + program.shared_bytes, (rank + 1) * stride});
  }
  shared_ = Memory((cluster - 1) * stride + program.shared_bytes, std::move(gaps));
  shared_.fill(0xff);
  barriers_.resize(cluster * slots);
  contexts.reserve(program.instances());
  arenas_.reserve(program.instances());
  for (size_t rank = 0; rank < cluster; ++rank)
    for (const TaskCode& task : program.tasks)
      for (int32_t replica = 0; replica < task.replicas; ++replica)
        arenas_.emplace_back(task.arena_bytes, task.arena_gaps);
  for (size_t rank = 0; rank < cluster; ++rank)
    for (const TaskCode& task : program.tasks)
      for (int32_t replica = 0; replica < task.replicas; ++replica) {
        Context& context = contexts.emplace_back();
        context.cluster_shared = shared_.data();
        context.cluster_barriers = barriers_.data();
        context.shared = shared_.data() + (shared_.data() ? rank * stride : 0);
        context.barriers = barriers_.data() + rank * slots;
        context.together = &together_;
        context.arena = arenas_[contexts.size() - 1].data();
        context.entry = task.entry;
        context.task_op = task.op;
        context.replica = replica;
        context.rank = static_cast<int32_t>(rank);
        try {
          context.fiber.use_stack(stacks_.take(task.stack_bytes), task.stack_bytes);
        } catch (...) {  // no destructor will run
          contexts.pop_back();
          give_stacks(stacks_, contexts);
          throw;
        }
      }
}

Lane::~Lane() {
  for (Context& context : contexts) context.fiber.forget();
  give_stacks(stacks_, contexts);
}

TLXJIT_UNSEEN_BY_TSAN void Lane::begin(const tlxjit_cpu_launch& launch, const void* joined, int32_t first) {
  shared_.forget();
  for (Memory& arena : arenas_) arena.forget();
#ifndef NDEBUG
  shared_.fill(0xff);  // what a program before this one left must not help it: all ones are NaN
#endif
  const std::vector<int32_t>& counts = program_.barrier_counts;
  // All of the cluster's, before any of its programs can arrive.
  for (size_t i = 0; i < barriers_.size(); ++i) {
    const int32_t count = counts[i % counts.size()];
    barriers_[i] = {count, count, 0, 0, 0};
    forget_releases(&barriers_[i]);
  }
  const auto all = static_cast<int32_t>(contexts.size());
  together_ = {all, all, 0, 0, 0};
  forget_releases(&together_);
  for (Context& context : contexts) {
    context.dims = launch.dims;
    context.tensors = launch.tensors;
    context.scalars = launch.scalars;
    context.workspace = launch.workspace;
    context.programs = launch.grid;
    context.program = first + context.rank;
    context.launch = joined;
    context.done = false;
    context.waiting = {};
    context.stopped = {};
    context.printing = {};
    context.fiber.start(run, &context);
  }
  launch_ = &launch;
  left_ = contexts.size();
}

TLXJIT_UNSEEN_BY_TSAN void Lane::print(Context& context) const {
  acquired(&context.printing);
  const tlxjit_cpu_place at = {context.program, context.task_op, context.replica, -1};
  if (launch_->print) launch_->print(launch_->print_data, context.printing.op, &at, context.printing.values);
  context.printing = {};
  released(&context.printing);  // the fiber may write the values again
}

TLXJIT_UNSEEN_BY_TSAN Lane::State Lane::advance(bool& moved) {
  while (left_ > 0) {
    bool now = false;
    for (Context& context : contexts) {
      if (context.done || !context.waiting.over()) continue;
      context.waiting = {};
      context.fiber.resume();
      if (context.stopped.status != TLXJIT_CPU_OK) return State::stopped;
      if (context.printing.values) print(context);
      now = moved = true;
      if (!context.done) continue;
      context.fiber.forget();
      --left_;
    }
    if (!now) return State::blocked;
  }
  return uneven().ring ? State::uneven : State::done;
}

TLXJIT_UNSEEN_BY_TSAN Lane::Uneven Lane::uneven() const {
  const size_t slots = program_.barrier_counts.size();
  for (size_t rank = 0; rank < static_cast<size_t>(program_.cluster); ++rank)
    for (const RingCode& ring : program_.rings) {
      const Barrier* const full = barriers_.data() + rank * slots + ring.full;
      const Barrier* const empty = barriers_.data() + rank * slots + ring.empty;
      Uneven found;
      for (uint32_t i = 0; i < ring.slots; ++i) {
        if (full[i].phase != empty[i].phase)
          ++found.undrained;
        else if (full[i].missing != full[i].count || full[i].bytes != 0 || empty[i].missing != empty[i].count)
          ++found.partial;
      }
      if (found.undrained + found.partial == 0) continue;
      found.ring = &ring;
      found.program = contexts[0].program + static_cast<int32_t>(rank);
      return found;
    }
  return {};
}

}  // namespace cpu
TLXJIT_NAMESPACE_END

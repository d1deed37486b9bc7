// backends/cpu/image.cpp — a compiled kernel as bytes, which load without a compiler.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/image_p.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string_view>

#include "backends/cpu/executor_p.h"
#include "backends/cpu/link_p.h"
#include "backends/cpu/llvm_guard_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

constexpr std::string_view magic = "tlxcpu 1";
constexpr size_t object_alignment = 16;
constexpr uint64_t most_bytes = uint64_t{1} << 40;  // of a program's memory; what is less and not there is told later

constexpr size_t padding(size_t at) { return (object_alignment - at % object_alignment) % object_alignment; }

class Writer {
 public:
  void number(uint64_t x) {
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(x >> 8 * i));
  }
  void gaps(const std::vector<Gap>& gaps) {
    number(gaps.size());
    for (const Gap& gap : gaps) number(gap.begin), number(gap.end);
  }
  std::vector<char> bytes{magic.begin(), magic.end()};
};

/// What is out of bounds makes it bad, and reads as 0 from there on.
class Reader {
 public:
  explicit Reader(std::span<const char> bytes) : bytes_(bytes) {}

  uint64_t number(uint64_t least, uint64_t most) {
    uint64_t x = 0;
    if (left() < 8) good_ = false;
    if (!good_) return 0;
    for (size_t i = 0; i < 8; ++i) x |= uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << 8 * i;
    at_ += 8;
    good_ = x >= least && x <= most;
    return good_ ? x : 0;
  }
  template <class T>
  T number(T least = 0, T most = std::numeric_limits<T>::max()) {
    return static_cast<T>(number(static_cast<uint64_t>(least), static_cast<uint64_t>(most)));
  }
  /// Of things that take so many numbers each.
  size_t count(size_t numbers) { return number<size_t>(0, left() / (8 * numbers)); }
  std::vector<Gap> gaps(size_t bytes) {
    std::vector<Gap> gaps(count(2));
    size_t at = 0;
    for (Gap& gap : gaps) {
      gap.begin = number<size_t>(at, bytes);
      gap.end = at = number<size_t>(gap.begin, bytes);
    }
    return gaps;
  }
  std::span<const char> rest() const { return good_ ? bytes_.subspan(at_) : std::span<const char>(); }
  void skip(size_t n) {
    good_ = good_ && n <= left();
    if (good_) at_ += n;
  }
  void require(bool holds) { good_ = good_ && holds; }
  bool good() const { return good_; }
  size_t at() const { return at_; }

 private:
  size_t left() const { return bytes_.size() - at_; }
  std::span<const char> bytes_;
  size_t at_ = 0;
  bool good_ = true;
};

struct Load {
  std::span<const char> object;
  Program& program;
  std::string fault;
};

}  // namespace

std::vector<char> write_image(const Program& program, std::span<const char> object) {
  Writer out;
  out.number(static_cast<uint64_t>(program.words));
  out.number(static_cast<uint64_t>(program.cluster));
  out.number(program.resident);
  out.number(program.shared_bytes);
  out.gaps(program.shared_gaps);
  out.number(program.tasks.size());
  for (const TaskCode& task : program.tasks) {
    out.number(task.op);
    out.number(static_cast<uint64_t>(task.replicas));
    out.number(task.stack_bytes);
    out.number(task.arena_bytes);
    out.gaps(task.arena_gaps);
  }
  out.number(program.barrier_counts.size());
  for (const int32_t arrivals : program.barrier_counts) out.number(static_cast<uint64_t>(arrivals));
  out.number(program.rings.size());
  for (const RingCode& ring : program.rings)
    for (const uint32_t x : {ring.op, ring.full, ring.empty, ring.slots}) out.number(x);
  out.number(object.size());
  out.bytes.resize(out.bytes.size() + padding(out.bytes.size()));
  out.bytes.insert(out.bytes.end(), object.begin(), object.end());
  return std::move(out.bytes);
}

std::span<const char> read_image(std::span<const char> image, Program& program) {
  if (!std::string_view(image.data(), image.size()).starts_with(magic)) return {};
  Reader in(image);
  in.skip(magic.size());
  program.words = in.number<int32_t>();
  program.cluster = in.number<int32_t>(1, static_cast<int32_t>(most_fibers));
  program.resident = in.number<uint64_t>(0, 1) != 0;
  program.shared_bytes = in.number<size_t>(0, most_bytes);
  program.shared_gaps = in.gaps(program.shared_bytes);
  program.tasks.resize(in.count(5));
  size_t instances = 0;
  for (TaskCode& task : program.tasks) {
    task.op = in.number<uint32_t>();
    task.replicas = in.number<int32_t>(1);
    task.stack_bytes = in.number<size_t>();
    task.arena_bytes = in.number<size_t>(0, most_bytes);
    task.arena_gaps = in.gaps(task.arena_bytes);
    in.require(StackPool::is_size(task.stack_bytes));
    instances += static_cast<size_t>(task.replicas);
  }
  in.require(instances > 0 && instances <= std::numeric_limits<uint32_t>::max());
  program.barrier_counts.resize(in.count(1));
  for (int32_t& arrivals : program.barrier_counts) arrivals = in.number<int32_t>(1);
  const size_t slots = program.barrier_counts.size();
  program.rings.resize(in.count(4));
  for (RingCode& ring : program.rings) {
    ring.op = in.number<uint32_t>();
    ring.full = in.number<uint32_t>();
    ring.empty = in.number<uint32_t>();
    ring.slots = in.number<uint32_t>();
    in.require(size_t{ring.full} + ring.slots <= slots && size_t{ring.empty} + ring.slots <= slots);
  }
  const auto bytes = in.number<size_t>(1);
  in.skip(padding(in.at()));
  in.require(in.rest().size() == bytes);
  return in.rest();
}

tlxjit_cpu_status load_image(std::span<const char> image, Program& program, tlxjit_cpu_failure& failure) {
  const std::span<const char> object = read_image(image, program);
  if (object.empty()) return fail(failure, TLXJIT_CPU_BAD_IMAGE, "the bytes are no image of a kernel for the CPU");
  // LLVM reads objects where they are.
  std::unique_ptr<char, decltype(&std::free)> aligned(nullptr, &std::free);
  Load load{object, program, {}};
  if (reinterpret_cast<uintptr_t>(object.data()) % object_alignment != 0) {
    const size_t bytes = object.size() + padding(object.size());
    aligned.reset(static_cast<char*>(std::aligned_alloc(object_alignment, bytes)));
    if (!aligned) throw std::bad_alloc();
    std::memcpy(aligned.get(), object.data(), object.size());
    load.object = {aligned.get(), object.size()};
  }
  const auto run = [](void* data) {
    auto& l = *static_cast<Load*>(data);
    if (auto error = link(l.object, l.program)) l.fault = llvm::toString(std::move(error));
  };
  std::string gave_up;
  if (!guarded(run, &load, gave_up)) load.fault = "LLVM gave up: " + gave_up;
  if (load.fault.empty()) return TLXJIT_CPU_OK;
  std::string why;
  if (!may_make_code(why)) return fail(failure, TLXJIT_CPU_POLICY, why.c_str());
  return fail(failure, TLXJIT_CPU_BAD_IMAGE, ("the code of an image cannot be linked: " + load.fault).c_str());
}

}  // namespace cpu
TLXJIT_NAMESPACE_END

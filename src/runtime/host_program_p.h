// src/runtime/host_program_p.h — a kernel's module-level integer expressions, flattened for launches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <vector>

#include "src/codegen/abi_p.h"
#include "src/ir/evaluate_p.h"
#include "src/ir/signature_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// The expressions of a module that a launch needs (extents and grid), in order of evaluation: const, dim, scalar,
/// sms and integer arithmetic, exact. A run does not allocate.
class HostProgram {
 public:
  static constexpr size_t max_steps = max_host_ops;

  /// Adds a value and all that it needs; gives its place.
  Result<uint16_t> add(const Module& module, const Abi& abi, Value value);

  /// Why a step has no value. The steps that use it have none either, for the same reason, so that only what is used
  /// matters.
  using Lack = tlxjit::Lack;
  struct Number {
    int64_t value = 0;
    Lack lack = Lack::none;
    uint16_t place = 0;  // of the step that lacked it first
    bool ok() const { return lack == Lack::none; }
  };
  /// Evaluates into `values`, which has size() places.
  void run(std::span<const int32_t> dims, std::span<const uint64_t> scalars, int64_t sms,
           std::span<Number> values) const;
  size_t size() const { return steps_.size(); }
  /// The op that a place stands for.
  const Op* op(uint16_t place) const { return steps_[place].op; }

 private:
  struct Step {
    OpCode code{};
    Elem elem = Elem::none;
    uint8_t operands = 0;
    uint16_t a = 0, b = 0, c = 0;
    int64_t number = 0;  // a constant; the index of a dim or scalar; a comparison
    const Op* op = nullptr;
  };
  /// `above`: how many ops wait for this value.
  Result<uint16_t> add(const Module& module, const Abi& abi, Value value, size_t above);
  Number compute(uint16_t place, std::span<const int32_t> dims, std::span<const uint64_t> scalars, int64_t sms,
                 std::span<const Number> values) const;
  std::vector<Step> steps_;
  std::vector<std::pair<Value, uint16_t>> places_;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END

// src/runtime/call_plan_p.h — the checks of a call, prepared when a kernel is compiled.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/ir/signature_p.h"
#include "src/runtime/backend_p.h"
#include "src/runtime/host_program_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Storage of a bound call.
struct CallFrame {
  std::array<int32_t, max_dims> dims;
  std::array<BoundTensor, max_tensors> tensors;
  std::array<uint64_t, max_scalars> scalars;
  int32_t grid = 0;  ///< 0: nothing to run
};

class CallPlan {
 public:
  /// `abi` and `module`, which is verified, outlive the plan.
  static Result<CallPlan> make(const Module& module, const Abi& abi);

  /// Checks the arguments and writes the frame.
  Result<void> bind(std::span<const Argument> arguments, int64_t sms, CallFrame& frame) const;
  BoundCall view(const CallFrame& frame) const;

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::string& signature() const { return signature_; }
  /// What `bind` asks of a call, a sentence each, for people.
  std::vector<std::string> checks() const;

 private:
  struct Extent {
    int dim = -1;        // the dim that stands there alone
    uint16_t place = 0;  // else a place of the host program
  };
  struct TensorPlan {
    Elem elem = Elem::none;
    std::vector<Extent> extents;
    bool mapped = false;  // copied by tensor maps
    bool stored = false;  // written by one
    int ragged = -1;      // an axis with a moving bound
    // What the kernel is promised.
    std::vector<int64_t> strides;
    uintptr_t align = 1;
    bool narrow = false;
  };
  struct DimPlan {
    std::string name;
    int64_t least = 0, most = 0, multiple = 1;
  };
  /// A scalar of which the kernel is promised something.
  struct ScalarPlan {
    std::optional<double> above;
    bool is_number = false;  // an integer with the following
    int64_t least = INT64_MIN, most = INT64_MAX, multiple = 1;
  };

  Result<void> match(std::span<const Argument> arguments, std::span<const Argument*> by_parameter) const;
  Result<void> bind_extents(std::span<const Argument*> given, CallFrame& frame) const;
  Result<void> check_expressions(std::span<const Argument*> given, int64_t sms, CallFrame& frame) const;
  Result<void> bind_memory(size_t index, const TensorArg& tensor, BoundTensor& bound) const;
  Result<void> check_map(size_t index, const TensorArg& tensor) const;
  Result<void> check_scalar(size_t index, const Argument& given) const;
  Result<void> check_promises(size_t index, const TensorArg& tensor, const BoundTensor& bound) const;
  Result<void> check_capacity(size_t index, const TensorArg& tensor) const;
  Error fault(size_t parameter, const std::string& what) const;

  const Module* module_ = nullptr;
  HostProgram program_;
  int grid_ = -1;  // its place; -1: one program
  std::string grid_text_;
  const Op* cluster_ = nullptr;
  std::vector<TensorPlan> tensors_;
  std::vector<DimPlan> dims_;
  std::vector<Parameter> parameters_;
  std::vector<ScalarPlan> scalars_;
  std::string signature_;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END

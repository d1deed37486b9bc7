// src/runtime/call_plan_p.h — the checks of a call, prepared when a kernel is compiled.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/ir/ranges_p.h"
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

/// Where a call runs.
struct CallPlace {
  int64_t programs_at_once = 1;
  std::array<char, 16> device{};  ///< as TensorArg::device
};

/// What a kernel takes: its tensors, then its scalars.
struct ParameterList {
  ParameterList() = default;
  explicit ParameterList(const Module& module);

  /// Which argument each gets, by place or by name; an Error unless each gets one of its type and rank.
  Result<void> match(std::span<const Argument> arguments, std::span<const Argument*> by_parameter) const;
  Error fault(size_t parameter, const std::string& what) const;

  std::string kernel;
  std::vector<Parameter> all;
  std::string text;  // `scaled(x: f32[N], y: f32[N], factor: f32)`
};

class CallPlan {
 public:
  /// `abi` and `module`, which is verified, outlive the plan.
  static Result<CallPlan> make(const Module& module, const Abi& abi);

  /// Checks the arguments and writes the frame.
  Result<void> bind(std::span<const Argument> arguments, const CallPlace& place, CallFrame& frame) const;
  BoundCall view(const CallFrame& frame) const;

  const std::vector<Parameter>& parameters() const { return parameters_.all; }
  const std::string& signature() const { return parameters_.text; }
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
    Bound least = 0, most = 0;
    int64_t multiple = 1;
  };

  Result<void> bind_extents(std::span<const Argument*> given, CallFrame& frame) const;
  Result<void> check_expressions(std::span<const Argument*> given, int64_t sms, CallFrame& frame) const;
  Result<void> bind_memory(size_t index, const TensorArg& tensor, const CallPlace& place, BoundTensor& bound) const;
  Result<void> check_map(size_t index, const TensorArg& tensor) const;
  Result<void> check_scalar(size_t index, const Argument& given) const;
  Result<void> check_promises(size_t index, const TensorArg& tensor, const BoundTensor& bound) const;
  Result<void> check_device(size_t index, const TensorArg& tensor, const CallPlace& place) const;
  Result<void> check_capacity(size_t index, const TensorArg& tensor) const;
  Error fault(size_t parameter, const std::string& what) const { return parameters_.fault(parameter, what); }

  const Module* module_ = nullptr;
  HostProgram program_;
  int grid_ = -1;  // its place; -1: one program
  std::string grid_text_;
  const Op* cluster_ = nullptr;
  std::vector<TensorPlan> tensors_;
  std::vector<DimPlan> dims_;
  ParameterList parameters_;
  std::vector<ScalarPlan> scalars_;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END

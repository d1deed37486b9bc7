// bench/gpu/pack.h — a call's arguments as the parameter buffer that abi_p.h describes. Needs no device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/gpu/parameters.h"
#include "src/codegen/abi_p.h"

namespace tlxjit::bench {

struct TensorArgument {
  nvidia::CuDevicePtr address = 0;
  std::vector<int64_t> strides;  ///< elements, outermost axis first, without the innermost, which is 1
};

/// Arguments by the names that the kernel gives them.
struct Call {
  std::map<std::string, TensorArgument> tensors;
  std::map<std::string, int64_t> dims;
  std::map<std::string, double> scalars;
  nvidia::CuDevicePtr workspace = 0;  ///< Abi::workspace_words zeroed words, if there are any
  int sms = 1;
};

struct Packed {
  Parameters params;
  unsigned grid = 0;
};

/// `encode_tensor_map`, or a recorder in tests.
using Encode = std::function<Result<void>(const nvidia::TensorMapSpec&, nvidia::CuTensorMap&)>;

Result<Packed> pack(const Module& lowered, const Abi& abi, const Call& call, const Encode& encode);

}  // namespace tlxjit::bench

// tools/tlxjit/call.h — the arguments of a call as the command line gives them: sizes, scalars, where tensors come
// from.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/tlxjit/kernel_file.h"
#include "tools/tlxjit/npy.h"
#include "tools/tlxjit/options.h"
#include "tools/tlxjit/tensor_use.h"

namespace tlxjit::cli {

struct TensorInput {
  std::string name;
  Elem elem = Elem::none;
  TensorUse use;
  std::string source;  ///< zeros, ones, random, arange, a number, or a file; empty: nothing was said
  std::string file;    ///< the bytes of `source` where it is a file
  std::optional<Npy> npy;
  std::vector<int64_t> dims;
  uint64_t bytes = 0;

  bool from_file() const;
};

struct ScalarInput {
  std::string name;
  Elem elem = Elem::none;
  uint64_t bits = 0;
};

struct Call {
  std::vector<TensorInput> tensors;  ///< in the order of the ABI
  std::vector<ScalarInput> scalars;
  std::vector<std::pair<std::string, int32_t>> dims;
};

/// Reads files, binds dims to --dim and to the shapes of .npy files, computes extents. `sms`: programs at once.
Result<Call> make_call(const RunCommand& command, const Lowered& kernel, int sms);

/// The elements of a tensor, packed.
Result<std::vector<char>> elements_of(const TensorInput& tensor, uint64_t seed);

/// An error of what a call was given.
Error bad_argument(std::string message);

}  // namespace tlxjit::cli

// bench/gpu/parameters.h — a kernel's parameters, and a launch that leaves their places to the driver.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

#include "backends/nvidia/launch_p.h"

namespace tlxjit::bench {

/// Values in the order of the kernel's signature, with the offset of each.
class Parameters {
 public:
  template <class T>
  bool push(const T& value) {
    if (!buffer_.push(value)) return false;
    offsets_.push_back(buffer_.bytes().size() - sizeof value);
    return true;
  }
  const nvidia::ParamBuffer& buffer() const { return buffer_; }
  const std::vector<size_t>& offsets() const { return offsets_; }

 private:
  nvidia::ParamBuffer buffer_;
  std::vector<size_t> offsets_;
};

/// Queues blocks of `threads` by pointers to the parameters, so that the driver puts each where the cubin wants it.
/// ptxas (13.0, sm_90a) declares a first parameter aligned to 64 at offset 48, not 0: the parameter space begins at
/// 0x210 of the constant bank. With TLXJIT_BENCH_BUFFER=1 the parameters go as one buffer, as nvidia::launch sends
/// them.
Result<void> launch_kernel(const nvidia::Function& function, unsigned grid, unsigned threads, nvidia::CuStream stream,
                           const Parameters& parameters);

/// A parameter as the cubin declares it.
struct DeclaredParameter {
  size_t offset = 0, size = 0;
};

/// In the order of the signature; empty if the cubin does not say.
std::vector<DeclaredParameter> declared_parameters(const std::vector<char>& cubin, const std::string& entry);

/// Whether the packed parameters have the number, sizes and distances that the cubin declares.
Result<void> check_parameters(const Parameters& parameters, const std::vector<DeclaredParameter>& declared);

}  // namespace tlxjit::bench

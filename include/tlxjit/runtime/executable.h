// include/tlxjit/runtime/executable.h — a compiled kernel: what it is, and its launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <initializer_list>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "tlxjit/runtime/device.h"

TLXJIT_NAMESPACE_BEGIN

namespace runtime {
struct ExecutableState;
}

/// Milliseconds that each stage of a compile took.
struct StageTimes {
  double verify = 0;   ///< the builder's module copied and verified
  double lower = 0;    ///< portable IR to lowered IR
  double emit = 0;     ///< lowered IR to source (GPU) or to text (CPU)
  double compile = 0;  ///< NVRTC, or LLVM
  double load = 0;     ///< binary onto the device
  double look_up = 0;  ///< found in the disk cache and read; lower, emit and compile are 0 then
  double ours() const { return verify + lower + emit; }
  double total() const { return ours() + compile + load + look_up; }
};

/// What the compiler of the target said. Figures are 0 where it says nothing (CPU).
struct CompileReport {
  int registers = 0;  ///< per thread, as compiled
  int spill_store_bytes = 0, spill_load_bytes = 0;
  int stack_bytes = 0;  ///< per thread
  int barriers = 0;     ///< named barriers
  /// Whatever makes the kernel slower than it was written to be: spills, a stack, serialised dots, register
  /// hints that were ignored. One sentence each; empty is good.
  std::vector<std::string> diagnostics;
  std::vector<std::string> remarks;  ///< the compiler's own remarks, in order
  std::string log;                   ///< all that it printed
};

/// A parameter of a kernel, as a call has to bring it.
struct Parameter {
  std::string name;
  bool is_tensor = false;
  Elem elem = Elem::none;
  std::vector<std::string> extents;     ///< of a tensor: a dim's name, a number, or an expression of them
  TLXJIT_API std::string text() const;  ///< `a: bf16[M, K]`, `scale: f32`
};

/// What a program of a launch takes.
struct Resources {
  int threads = 0;              ///< per program; 0 on the CPU
  int64_t shared_bytes = 0;     ///< shared memory per program
  int64_t workspace_words = 0;  ///< hidden i32 words per stream
  int tensor_maps = 0;          ///< encoded per launch
  int programs_at_once = 0;     ///< what a persistent grid is filled to
  int ops = 0;                  ///< of the lowered module
};

/// A compiled kernel. A handle: copies share the code; it is thread safe and stays valid when the engine ends. One that
/// was moved from has nothing to tell of, and its launch is an error.
class TLXJIT_API Executable {
 public:
  const std::string& name() const;
  const Device& device() const;
  const std::string& target() const;  ///< what it was lowered for; differs from the device's with CompileOptions::as
  const std::vector<Parameter>& parameters() const;  ///< tensors, then scalars: the order of positional arguments
  std::string signature() const;                     ///< `gemm(a: bf16[M, K], b: bf16[N, K], d: bf16[M, N])`
  const Resources& resources() const;
  const StageTimes& times() const;
  const CompileReport& report() const;
  const std::string& source() const;     ///< the generated source; empty on the CPU
  std::span<const char> binary() const;  ///< the cubin; empty on the CPU
  std::string lowered_text(bool with_locations = false) const;

  /// Queues the kernel on `stream`. Before that the arguments are compared with the signature: element types,
  /// ranks, extents (a dim has one size in all tensors; promises hold; below 2^31), unit inner stride, addresses
  /// and strides of tensors that are copied by tensor maps (multiples of 16 bytes), null addresses, buffers of
  /// another device (Buffer::tensor says whose it is). Errors name the argument and carry the line of the call. A call
  /// without programs to run does nothing and succeeds.
  ///
  /// After a first call on a stream, a call allocates nothing. The CPU's call returns when the kernel is done, with
  /// ErrorCode::deadlock when it cannot end; a GPU's errors come with Device::synchronize.
  ///
  /// A launch into a stream that is captured allocates nothing on the device (and a little on the host), and what the
  /// graph holds addresses of, the kernel's code and workspace, stays loaded until Device::release_captured, or until
  /// the engine has ended with all devices, executables and functions of it, whenever this executable ends. A graph is
  /// not replayed after that. It keeps the call as it was: addresses, extents, strides, scalars and the grid that they
  /// gave. What stands in the tensors each replay reads anew.
  ///
  /// A tensor that the kernel writes overlaps no other tensor of the call; those that are only read may overlap.
  ///
  /// Kernels with a workspace (Resources::workspace_words: those with dynamic tiles) have one per stream handle. Each
  /// launch finds it zero and leaves it zero, so launches that share it must follow one another, as those on one
  /// stream do. A graph keeps the workspace of the stream it was captured on, wherever it is replayed: no two replays
  /// of it, nor a replay and a launch on that stream, may overlap. After a launch that failed the workspace is zeroed
  /// again if the stream can still be waited for; otherwise compile anew. Executables of equal kernels share
  /// code and workspace (Engine::compile); CompileOptions::reuse = false makes one of its own.
  Result<void> launch(const Stream& stream, std::initializer_list<Argument> arguments,
                      std::source_location at = std::source_location::current()) const {
    return launch(stream, std::span<const Argument>(arguments.begin(), arguments.size()), at);
  }
  Result<void> launch(const Stream& stream, std::span<const Argument> arguments,
                      std::source_location at = std::source_location::current()) const;
  /// On the default stream.
  Result<void> launch(std::initializer_list<Argument> arguments,
                      std::source_location at = std::source_location::current()) const {
    return launch(Stream(), arguments, at);
  }
  Result<void> launch(std::span<const Argument> arguments,
                      std::source_location at = std::source_location::current()) const {
    return launch(Stream(), arguments, at);
  }

 private:
  friend class Engine;
  friend struct runtime::ExecutableState;
  explicit Executable(std::shared_ptr<runtime::ExecutableState> state);
  std::shared_ptr<runtime::ExecutableState> state_;
};

TLXJIT_NAMESPACE_END

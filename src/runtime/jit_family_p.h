// src/runtime/jit_family_p.h — calls of one signature: the generic kernel, and which class a call is of.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <span>

#include "src/ir/signature_p.h"
#include "src/passes/specialize_p.h"
#include "tlxjit/runtime/jit_function.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// What is looked at of a call, one number each: classes of its dims, integers and tensors, in the order of the
/// module's declarations. Numbers whose policy is any() are left out.
struct CallClass {
  static constexpr size_t most = max_dims + max_scalars + max_tensors * (1 + MemoryPromise::outer_axes);
  std::array<int64_t, most> codes;  // the first `size`
  size_t size = 0;
  uint64_t hash = 0;  // never 0

  std::span<const int64_t> view() const { return {codes.data(), size}; }
  /// To be called when all codes are there; `salt` tells families apart.
  void finish(uint64_t salt) {
    hash = salt;
    for (size_t i = 0; i < size; ++i) {
      const auto product = static_cast<unsigned __int128>(hash ^ static_cast<uint64_t>(codes[i])) * 0x9e3779b97f4a7c15u;
      hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ (i + 1);
    }
    if (hash == 0) hash = 1;
  }
};

/// The most arguments that a kernel can have.
inline constexpr size_t max_arguments = max_tensors + max_scalars;

/// Never changes after make(), but for `next`.
class Family {
 public:
  /// `generic` is the verified kernel of the signature.
  static Result<std::unique_ptr<Family>> make(Signature signature, Module generic, const JitOptions& options,
                                              uint64_t salt);

  /// Whether the arguments have the types and names of the signature.
  bool matches(std::span<const Argument> arguments) const;
  /// The class of a call that matches.
  void classify(std::span<const Argument> arguments, CallClass& c) const;
  /// Completes a class whose codes are there.
  void finish(CallClass& c) const { c.finish(salt_); }
  /// What calls of a class keep.
  Promises promises(std::span<const int64_t> codes) const;
  /// Whether such a call keeps the promises.
  bool keeps(std::span<const Argument> arguments, const Promises& promises) const;
  /// `M % 16 = 0, K = 4096, a aligned`.
  std::string text(std::span<const int64_t> codes) const;
  /// Whether a call can have these codes.
  bool accepts(std::span<const int64_t> codes) const;

  const Signature& signature() const { return signature_; }
  const Module& generic() const { return generic_; }
  /// Of the IR, 32 hexadecimal digits.
  const std::string& ir_hash() const { return ir_hash_; }
  /// Of how numbers and tensors are classed, in words.
  const std::string& policies() const { return policies_; }

  const Family* next = nullptr;  // set before it is published

 private:
  struct Number {
    std::string name;
    Policy policy;
    size_t argument = 0;
    int axis = -1;  // of a tensor; -1: a scalar
    Elem elem = Elem::none;
    int64_t of(std::span<const Argument> arguments) const;
    /// Numbers of u64 that int64_t has not: policies do not know them.
    bool beyond(int64_t number) const { return elem == Elem::u64 && number < 0; }
    int64_t code_of(std::span<const Argument> arguments) const {
      const int64_t number = of(arguments);
      return beyond(number) ? -1 : policy.class_of(number);  // no number from 0 on has this class
    }
    /// Whether a number of this type is of the class.
    bool has_class(int64_t code) const;
    NumberPromise promise(int64_t code) const {
      if (beyond(code)) return {};
      const Policy::Class c = policy.class_at(code);
      return {c.least, c.most, c.multiple};
    }
    bool keeps(std::span<const Argument> arguments, const NumberPromise& promised) const {
      const int64_t number = of(arguments);
      return beyond(number) ? promised == NumberPromise() : promised.keeps(number);
    }
  };
  struct Memory {
    std::string name;
    TensorPolicy policy;
    size_t argument = 0;
    int rank = 0;
  };
  Family() = default;
  Result<std::vector<size_t>> places() const;
  Result<void> plan(const JitOptions& options);

  Signature signature_;
  std::vector<uint32_t> kinds_;  // of the arguments
  bool named_ = false;
  Module generic_;
  std::string ir_hash_, policies_;
  std::vector<std::optional<Number>> dims_, scalars_;  // none: no argument has it
  std::vector<std::optional<Memory>> tensors_;
  size_t code_count_ = 0;
  uint64_t salt_ = 0;
};

/// Types and names of the arguments; an Error for a rank that no tensor has.
Result<Signature> signature_of(std::span<const Argument> arguments, std::string target);
/// `bf16[2]`, `scale: f32`.
std::string text_of(const Signature::Argument& argument);

}  // namespace runtime
TLXJIT_NAMESPACE_END

// include/tlxjit/core/throwing.h — the layer that throws, for programs that want exceptions; not part of tlxjit.h.
//
//     #include "tlxjit/core/throwing.h"
//     Executable exe = tlxjit::unwrap(engine.compile(kernel, device));
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#if defined(__cpp_exceptions)

#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include "tlxjit/core/result.h"

TLXJIT_NAMESPACE_BEGIN

/// An Error as an exception.
class Failure : public std::exception {
 public:
  explicit Failure(Error error) : error_(std::move(error)), text_(to_string(error_)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
  std::string text_;
};

/// The value; throws Failure if there is none.
template <class T>
T unwrap(Result<T> result) {
  if (!result.ok()) throw Failure(std::move(result).error());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

TLXJIT_NAMESPACE_END

#endif

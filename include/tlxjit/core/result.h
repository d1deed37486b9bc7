// include/tlxjit/core/result.h — a value or an Error.
//
//     Result<Executable> exe = engine.compile(kernel, device);
//     if (!exe) return fail(exe.error());
//     exe->launch(stream, {a, b, d});
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "tlxjit/core/error.h"

TLXJIT_NAMESPACE_BEGIN

/// Either a `T` or an `Error`. Reading the one that is not there is undefined, as with std::optional.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an `Error`.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

TLXJIT_NAMESPACE_END

/// Returns the error of `expr` from the enclosing function, if it has one.
#define TLXJIT_TRY(expr)                                                               \
  do {                                                                                 \
    if (auto tlxjit_r_ = (expr); !tlxjit_r_.ok()) return std::move(tlxjit_r_).error(); \
  } while (0)

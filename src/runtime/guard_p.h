// src/runtime/guard_p.h — no exception leaves the library.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <type_traits>

#include "tlxjit/core/result.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

inline Error error_of(ErrorKind kind, Stage stage, ErrorCode code, std::string message) {
  Error error;
  error.kind = kind;
  error.stage = stage;
  error.code = code;
  error.message = std::move(message);
  return error;
}

/// The exception that is being handled as an Error; with too little memory for its text, without it.
Error caught(Stage stage) noexcept;

/// Runs `fn`, which gives a Result; what it throws becomes an Error.
template <class Fn>
std::invoke_result_t<Fn&> guarded(Stage stage, Fn&& fn) {
  try {
    return fn();
  } catch (...) {
    return caught(stage);
  }
}

/// The same of a function that the program gave: `whose` threw what it throws.
Error caught_of_host(Stage stage, std::string_view whose) noexcept;

/// `guarded` for a function that the program gave.
template <class Fn>
std::invoke_result_t<Fn&> call_host(Stage stage, std::string_view whose, Fn&& fn) {
  try {
    return fn();
  } catch (...) {
    return caught_of_host(stage, whose);
  }
}

/// Milliseconds since it was made or last read.
class StopWatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace runtime
TLXJIT_NAMESPACE_END

// src/runtime/guard.cpp — exceptions as errors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/guard_p.h"

#include <exception>
#include <new>

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

Error caught(Stage stage) noexcept {
  Error error;
  error.stage = stage;
  try {
    throw;
  } catch (const std::bad_alloc&) {
    error.kind = ErrorKind::environment;
    error.code = ErrorCode::out_of_resources;
    error.message = "no memory";  // short enough to need none
  } catch (const std::exception& e) {
    try {
      error.message = e.what();
    } catch (...) {  // no memory for it
    }
  } catch (...) {
    error.message = "an exception";
  }
  return error;
}

Error caught_of_host(Stage stage, std::string_view whose) noexcept {
  Error error = caught(stage);
  if (error.code != ErrorCode::internal_error) return error;
  error.kind = ErrorKind::user;
  error.code = ErrorCode::host_threw;
  try {
    error.message = std::string(whose).append(" threw: ").append(error.message);
  } catch (...) {  // no memory for it
  }
  return error;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END

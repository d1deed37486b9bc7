// include/tlxjit/core/error.h — errors as values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>

#include "tlxjit/core/export.h"
#include "tlxjit/core/location.h"

TLXJIT_NAMESPACE_BEGIN

/// Whose fault an error is.
enum class ErrorKind : uint8_t {
  user,         ///< the kernel or the call is wrong; the location is the user's line
  environment,  ///< driver, disk or compiler: nothing that the kernel's author wrote
  internal,     ///< a fault of tlxjit itself
};

/// The stage that noticed it.
enum class Stage : uint8_t { build, verify, parse, lower, emit, compile, load, launch, run, cache };

/// Stable codes; a program may test them. New ones are added at the end.
enum class ErrorCode : uint16_t {
  invalid_kernel,    ///< the verifier or the builder found faults; `log` lists those after the first
  invalid_text,      ///< a text module does not parse
  unsupported,       ///< the target, the device, the store or the CPU has no way to do what is asked
  bad_argument,      ///< an argument of a call does not fit the kernel's signature
  out_of_resources,  ///< memory, threads, what a GPU's multiprocessor has, or a bound that an option sets
  compiler_failed,   ///< NVRTC or LLVM refused the generated code
  library_missing,   ///< libcuda, NVRTC or the CPU plug-in could not be loaded
  driver_failed,     ///< a driver call failed; `message` has its name and code
  deadlock,          ///< every task of a program waits; `log` lists them
  internal_error,    ///< a broken invariant of tlxjit
  timed_out,         ///< a compile took longer than CompileOptions::time_limit
  assertion_failed,  ///< an assertion of the kernel's author does not hold
  disk_failed,       ///< a call to the file system failed; `message` has its name, the path and why
  untrusted,         ///< a file or directory that another user could have written
  bad_content,       ///< bytes of a cache that are no whole entry, or not the one asked for
  not_compiled,      ///< a JitFunction is sealed, and has no version for the call's key
  cancelled,         ///< a compile, by CompileOptions::stop
  forked,            ///< a child uses a GPU that its parent opened, or a compiler that ran when it was forked
  capturing,         ///< the stream is captured, and something that the call needs is not loaded or allocated
  host_threw,        ///< a function that the program gave, say a generator, threw
};

/// What went wrong, where, and what to do about it.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  Stage stage = Stage::run;
  ErrorCode code = ErrorCode::internal_error;
  std::string message;  ///< one sentence: what is wrong and the way out
  Location location;    ///< the user's line, where there is one
  std::string log;      ///< a compiler's log, or what is to be said beside the message, one a line
  /// Of a compile: of the kernel, device and options, 32 hexadecimal digits, as entries of caches have them. Of a call
  /// of a JitFunction that was refused, and of a key that could not be warmed: the key as JSON, as in a manifest.
  std::string key;
};

TLXJIT_API const char* to_string(ErrorKind kind);
TLXJIT_API const char* to_string(Stage stage);
TLXJIT_API const char* to_string(ErrorCode code);
/// `file:line: user error in verify: message` and, on the lines after it, the log.
TLXJIT_API std::string to_string(const Error& error);

TLXJIT_NAMESPACE_END

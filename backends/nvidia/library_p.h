// backends/nvidia/library_p.h — a vendor library opened at run time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "tlxjit/core/result.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

/// A handle from dlopen. It is never closed: vendor libraries keep threads and atexit handlers
/// that point into their own code, so unmapping them while the process lives is a crash.
struct Library {
  void* handle = nullptr;
  std::string path;  ///< the file that the loader mapped

  explicit operator bool() const { return handle != nullptr; }
  void* symbol(const char* name) const;
  /// The GNU build-id in hexadecimal, or "" if the file has none. Part of the cache key.
  std::string build_id() const;
};

/// Opens `name` (a soname or a path). A copy that the process has already loaded under that name
/// is used before a new one. On failure the handle is null and `why` has the loader's words.
Library open_library(const std::string& name, std::string& why);

/// The Error of a library that is missing or too old.
Error missing(std::string message, std::string log = {});

/// The folder part of `path`, without the trailing slash; "" if it has none.
std::string folder_of(const std::string& path);

}  // namespace nvidia
TLXJIT_NAMESPACE_END

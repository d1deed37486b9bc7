// include/tlxjit/runtime/store.h — where compiled kernels are kept between processes.
//
//     auto store = directory_store({.path = "/var/cache/service"});
//     for (const StoredEntry& entry : *(*store)->list()) std::cout << entry.key << ' ' << entry.bytes << '\n';
//
// What a store gives is executed: who can write to it runs code in the programs that read it.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tlxjit/core/result.h"

TLXJIT_NAMESPACE_BEGIN

/// An entry as a store lists it.
struct StoredEntry {
  std::string key;
  uint64_t bytes = 0;
  std::chrono::system_clock::time_point last_use;  ///< within an hour; the epoch where the store does not know
};

/// What Store::trim took away.
struct Trimmed {
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t left_behind = 0;  ///< files of writers that died before they published them
};

/// A place for entries: bytes under a key of 32 hexadecimal digits in lower case. A service that keeps them elsewhere
/// derives from it. Threads may share one. An Error is of the place (ErrorCode::disk_failed, untrusted), and fails no
/// compile; whether the bytes are a whole entry is checked by who gets them.
class TLXJIT_API Store {
 public:
  virtual ~Store();

  /// What was put under the key; nothing if there is none.
  virtual Result<std::optional<std::vector<char>>> get(std::string_view key) = 0;
  /// Keeps the bytes, or the ones that are there: readers see all or nothing of them.
  virtual Result<void> put(std::string_view key, std::span<const char> bytes) = 0;
  /// Takes the entry away; one that is not there is no error.
  virtual Result<void> remove(std::string_view key) = 0;
  virtual Result<std::vector<StoredEntry>> list() = 0;
  /// What it is, for messages: `the directory /var/cache/service`.
  virtual std::string describe() const = 0;

  /// Takes away the entries that were used longest ago until the others have at most so many bytes; 0: all.
  virtual Result<Trimmed> trim(uint64_t most_bytes);
};

struct DirectoryOptions {
  /// An absolute path. What is missing of it is made, mode 0700, when the first entry is put.
  std::string path;
  /// Nothing is written, no time of use either.
  bool read_only = false;
  /// A directory of the system: read only, and root's with all that is in it.
  bool system = false;
};

/// A store of files in a directory, which processes may share. Refused (ErrorCode::untrusted) is a directory in which,
/// or above which, another user could have written: each step of the path must belong to the user or root, the
/// directory itself and its files to the user, and no one else may write to them; a sticky directory such as /tmp may
/// stand above it. Symbolic links are followed in the path alone, one by one, under the same rules. A directory that is
/// not there is empty. The path is walked anew by each call, and no descriptor is kept.
TLXJIT_API Result<std::shared_ptr<Store>> directory_store(DirectoryOptions options);

/// The directory of the user's own store: TLXJIT_CACHE_DIR; $XDG_CACHE_HOME/tlxjit; $HOME/.cache/tlxjit. An Error where
/// none of these is an absolute path, where HOME is `/` or no directory, and in a program with raised rights
/// (AT_SECURE), which reads no environment. No place that users share stands in for it.
TLXJIT_API Result<std::string> default_cache_directory();

TLXJIT_NAMESPACE_END

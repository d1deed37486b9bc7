// include/tlxjit/runtime/store.h — where compiled kernels are kept between processes.
//
//     Result<std::shared_ptr<Store>> store = directory_store({.path = "/var/cache/service"});
//     Result<std::vector<StoredEntry>> entries = (*store)->list();
//     for (const StoredEntry& entry : *entries) std::cout << entry.key << ' ' << entry.bytes << '\n';
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

/// What the tiers of an engine's disk cache have done.
struct CacheCounters {
  uint64_t store_hits = 0;   ///< of the service's own Store
  uint64_t user_hits = 0;    ///< of the user's directory
  uint64_t system_hits = 0;  ///< of the system's directory
  uint64_t bundle_hits = 0;
  uint64_t misses = 0;         ///< found in no tier
  uint64_t published = 0;      ///< entries that were new to a tier, or there already
  uint64_t bytes_read = 0;     ///< of entries, bad ones included
  uint64_t bytes_written = 0;  ///< of entries published
  uint64_t bad_entries = 0;    ///< that were not whole, or under a wrong key
  uint64_t errors = 0;         ///< of stores: calls to the file system, places that are not trusted
  uint64_t evictions = 0;      ///< entries that sweeps took away
  uint64_t evicted_bytes = 0;
  uint64_t waits = 0;  ///< compiles that waited for another process which made the same
};

/// A place for entries: bytes under a key of 32 hexadecimal digits in lower case. A service that keeps them elsewhere
/// derives from it. Threads may share one. An Error is of the place (ErrorCode::disk_failed, untrusted), and fails no
/// compile; whether the bytes are a whole entry is checked by who gets them.
class TLXJIT_API Store {
 public:
  virtual ~Store();

  /// What was put under the key; nothing if there is none. Called by the thread that compiles or launches, once or
  /// twice for a kernel that is nowhere, and not cut short by a time limit: a place that may be slow bounds its own
  /// waits. What it throws is an error of the place.
  virtual Result<std::optional<std::vector<char>>> get(std::string_view key) = 0;
  /// Keeps the bytes, or the ones that are there: readers see all or nothing of them.
  virtual Result<void> put(std::string_view key, std::span<const char> bytes) = 0;
  /// Takes the entry away; one that is not there is no error.
  virtual Result<void> remove(std::string_view key) = 0;
  /// All entries, in any order.
  virtual Result<std::vector<StoredEntry>> list() = 0;
  /// Whether what it has is good whichever compiler made it, as in a bundle: its keys are then those that write_bundle
  /// gives, and an Engine reads it and puts nothing into it. Asked once, by each Engine; where it throws, the Engine
  /// goes without the store.
  virtual bool any_compiler() const { return false; }
  /// What it is, for messages: `the directory /var/cache/service`. Asked once, by each Engine.
  virtual std::string describe() const = 0;

  /// Takes away the entries that were used longest ago until the others have at most so many bytes; 0: all.
  /// What cannot be taken away is passed over; the Error is then the first of them.
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

/// What stands in an entry, for people.
struct EntryFacts {
  std::string kernel;
  std::string target;
  uint64_t image_bytes = 0;
  std::string report;
};

/// Whether the bytes are a whole entry of this key; ErrorCode::bad_content if not. An Engine looks at more: it also
/// compares all that a kernel depends on, from its IR to the compiler's build.
TLXJIT_API Result<EntryFacts> check_entry(std::string_view key, std::span<const char> bytes);

/// A store that is one file, made by write_bundle, which is only read. It must be trusted as a directory_store is, but
/// may be root's as well as the user's. It stays open; entries have no time of use.
TLXJIT_API Result<std::shared_ptr<Store>> bundle_store(const std::string& file);

struct BundledEntry {
  std::string key;
  std::vector<char> bytes;
};

/// Writes a file for bundle_store, in place of one that is there; who has that one open keeps reading it. What is no
/// whole entry of its key is an Error, and nothing is written. Equal entries give equal bytes, in any order.
///
/// An entry gets a new key, in which the compiler is not: a service finds it whatever compiler it has, or none. Of
/// entries that differ in their compilers alone the first is kept. Gives how many there are.
TLXJIT_API Result<size_t> write_bundle(const std::string& file, std::span<const BundledEntry> entries);

/// The directory of the user's own store: TLXJIT_CACHE_DIR; $XDG_CACHE_HOME/tlxjit; $HOME/.cache/tlxjit. An Error where
/// none of these is an absolute path, where HOME is `/` or no directory, and in a program with raised rights
/// (AT_SECURE), which reads no environment. No place that users share stands in for it.
TLXJIT_API Result<std::string> default_cache_directory();

TLXJIT_NAMESPACE_END

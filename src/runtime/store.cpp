// src/runtime/store.cpp — what all stores do alike, and where the user's is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/runtime/store.h"

#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "src/runtime/directory_store_p.h"
#include "src/runtime/options_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace runtime {

Result<void> remove_oldest(Store& store, std::vector<StoredEntry> entries, uint64_t most_bytes,
                           const std::atomic<bool>& stop, Trimmed& trimmed) {
  uint64_t all = 0;
  for (const StoredEntry& entry : entries) all += entry.bytes;
  if (all <= most_bytes && most_bytes > 0) return {};
  std::sort(entries.begin(), entries.end(),
            [](const StoredEntry& a, const StoredEntry& b) { return a.last_use < b.last_use; });
  Result<void> done;
  for (const StoredEntry& entry : entries) {
    if ((all <= most_bytes && most_bytes > 0) || stop.load(std::memory_order_relaxed)) break;
    auto removed = guarded(Stage::cache, [&] { return store.remove(entry.key); });
    if (!removed) {
      if (done) done = std::move(removed);
      continue;
    }
    all -= entry.bytes;
    ++trimmed.entries;
    trimmed.bytes += entry.bytes;
  }
  return done;
}

}  // namespace runtime

Store::~Store() = default;

Result<Trimmed> Store::trim(uint64_t most_bytes) {
  return runtime::guarded(Stage::cache, [&]() -> Result<Trimmed> {
    auto entries = list();
    if (!entries) return entries.error();
    Trimmed trimmed;
    TLXJIT_TRY(runtime::remove_oldest(*this, std::move(*entries), most_bytes, std::atomic<bool>(false), trimmed));
    return trimmed;
  });
}

namespace {

Error nowhere(const std::string& why) {
  return runtime::error_of(ErrorKind::environment, Stage::cache, ErrorCode::disk_failed,
                           "there is no directory for compiled kernels: " + why);
}

}  // namespace

Result<std::string> default_cache_directory() {
  return runtime::guarded(Stage::cache, []() -> Result<std::string> {
    if (getauxval(AT_SECURE) != 0) return nowhere("the program has raised rights, and reads no environment");
    const auto absolute = [](const char* name) -> const char* {
      const char* value = std::getenv(name);
      return value && *value == '/' ? value : nullptr;
    };
    constexpr const char* name = runtime::environment::cache_directory;
    if (const char* own = std::getenv(name); own && *own) {
      if (*own != '/') return nowhere(std::string(name) + " is no absolute path");
      return std::string(own);
    }
    if (const char* caches = absolute("XDG_CACHE_HOME")) return std::string(caches) + "/tlxjit";
    const char* home = absolute("HOME");
    if (!home) return nowhere("HOME is not set, or no absolute path");
    struct stat facts;
    if (std::string_view(home).find_first_not_of('/') == std::string_view::npos || stat(home, &facts) != 0 ||
        !S_ISDIR(facts.st_mode))
      return nowhere("HOME is `/`, or no directory");
    return std::string(home) + "/.cache/tlxjit";
  });
}

TLXJIT_NAMESPACE_END

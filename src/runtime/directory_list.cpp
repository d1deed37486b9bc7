// src/runtime/directory_list.cpp — what there is in a directory of entries, and what is taken away.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "src/runtime/directory_files_p.h"
#include "src/runtime/directory_store_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

/// Calls `one(name)` for each name in the directory.
template <class One>
Result<void> for_names(const Descriptor& directory, const std::string& path, One one) {
  const int fd = again([&] { return openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) return disk_error("open", path);
  DIR* names = fdopendir(fd);
  if (!names) {
    const Descriptor closed(fd);
    return disk_error("fdopendir", path);
  }
  struct Close {
    DIR* names;
    ~Close() { closedir(names); }
  } const close{names};
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(names);
    if (!entry && errno != 0) return disk_error("readdir", path);
    if (!entry) return {};
    if (!one(std::string(entry->d_name))) return {};
  }
}

bool is_folder(std::string_view name) { return name.size() == 2 && is_key(std::string(name) + std::string(30, '0')); }

/// Calls `one(folder, name, its facts)` for each regular file and link in the folders, until it gives false. What goes
/// away meanwhile is left out; a folder that cannot be read is passed over, and the first Error is given.
template <class One>
Result<void> for_files(const DirectoryStore& store, Trust trust, One one) {
  auto top = store.open(false);
  if (!top) return top.error();
  if (!*top) return {};
  std::vector<std::string> folders;
  auto done = for_names(**top, store.path(), [&](std::string name) {
    if (is_folder(name)) folders.push_back(std::move(name));
    return true;
  });
  for (const std::string& name : folders) {
    const std::string path = store.path() + "/" + name;
    auto folder = open_trusted_below(**top, name, trust, false, path);
    if (!folder && done) done = folder.error();
    if (!folder || !*folder) continue;
    bool go_on = true;
    auto read = for_names(**folder, path, [&](const std::string& file) {
      struct stat facts;
      if (fstatat((*folder)->get(), file.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
          (S_ISREG(facts.st_mode) || S_ISLNK(facts.st_mode)))
        go_on = one(**folder, file, facts);
      return go_on;
    });
    if (!read && done) done = std::move(read);
    if (!go_on) break;
  }
  return done;
}

/// File systems know times that the clock does not: these are its first and last whole second.
std::chrono::system_clock::time_point time_of(const struct stat& facts) {
  using Clock = std::chrono::system_clock;
  using std::chrono::seconds;
  constexpr auto span = std::chrono::duration_cast<seconds>(Clock::duration::max()) - seconds(1);
  const auto since_1970 = std::clamp(seconds(facts.st_mtim.tv_sec), -span, span);
  return Clock::time_point(
      std::chrono::duration_cast<Clock::duration>(since_1970 + std::chrono::nanoseconds(facts.st_mtim.tv_nsec)));
}

/// Of a writer that is no more. A writer locks its file as soon as it has made it; where there are no locks, as on some
/// network disks, a day is longer than any writer takes.
bool left_behind(const Descriptor& folder, const std::string& name, const struct stat& facts) {
  const time_t age = std::time(nullptr) - facts.st_mtime;
  if (age < 60) return false;
  const Descriptor file(again(
      [&] { return openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }));
  if (!file) return false;
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return true;
  return errno != EWOULDBLOCK && age > 24 * 3600;
}

}  // namespace

Result<std::vector<StoredEntry>> DirectoryStore::list() {
  return guarded(Stage::cache, [&]() -> Result<std::vector<StoredEntry>> {
    std::vector<StoredEntry> entries;
    TLXJIT_TRY(for_files(*this, trust(), [&](const Descriptor&, const std::string& name, const struct stat& facts) {
      if (is_key(name) && S_ISREG(facts.st_mode))
        entries.push_back({name, static_cast<uint64_t>(facts.st_size), time_of(facts)});
      return true;
    }));
    return entries;
  });
}

Result<Trimmed> DirectoryStore::trim(uint64_t most_bytes) {
  Trimmed trimmed;
  TLXJIT_TRY(sweep(most_bytes, std::atomic<bool>(false), trimmed));
  return trimmed;
}

Result<void> DirectoryStore::sweep(uint64_t most_bytes, const std::atomic<bool>& stop, Trimmed& trimmed) {
  return guarded(Stage::cache, [&]() -> Result<void> {
    TLXJIT_TRY(must_write());
    std::vector<StoredEntry> entries;
    auto listed =
        for_files(*this, trust(), [&](const Descriptor& folder, const std::string& name, const struct stat& facts) {
          const bool entry = is_key(name);
          if (!entry && !name.starts_with(temporary_prefix)) return true;
          if (entry && S_ISREG(facts.st_mode)) {
            entries.push_back({name, static_cast<uint64_t>(facts.st_size), time_of(facts)});
          } else if (S_ISLNK(facts.st_mode) || left_behind(folder, name, facts)) {
            trimmed.left_behind += unlinkat(folder.get(), name.c_str(), 0) == 0;
          }
          return !stop.load(std::memory_order_relaxed);
        });
    auto removed = remove_oldest(*this, std::move(entries), most_bytes, stop, trimmed);
    return listed ? removed : listed;
  });
}

}  // namespace runtime
TLXJIT_NAMESPACE_END

// src/runtime/directory_store.cpp — reading and publishing entries in a directory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/directory_store_p.h"

#include <fcntl.h>
#include <sys/file.h>

#include <ctime>

#include "src/runtime/directory_files_p.h"
#include "src/runtime/entry_p.h"
#include "src/runtime/file_io_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

/// Whoever reads an entry takes longer ones for cut.
constexpr uint64_t most_bytes_of_entry = uint64_t{1} << 30;
/// More are read only where the first of them say that so many follow.
constexpr uint64_t most_bytes_unlooked = uint64_t{8} << 20;

/// The time of use of an entry is its time of change: the time of access is not kept everywhere. One that is within the
/// hour stays, so that readers seldom write. Where it cannot be changed the entry is only swept sooner.
void stamp(const TrustedFile& file) {
  const time_t now = std::time(nullptr);
  if (file.facts.st_mtime > now - 3600 && file.facts.st_mtime < now + 3600) return;
  static_cast<void>(futimens(file.file.get(), nullptr));
}

/// Gives the file its name. A link leaves one that is there alone, so that no reader sees an entry change; where the
/// file system has no links the file is renamed.
Result<void> publish(const Descriptor& folder, const std::string& name, const std::string& key,
                     const std::string& path) {
  if (linkat(folder.get(), name.c_str(), folder.get(), key.c_str(), 0) == 0 || errno == EEXIST) {
    // One that stays is left behind, as those of dead writers, and swept with them.
    static_cast<void>(unlinkat(folder.get(), name.c_str(), 0));
    return {};
  }
  if (renameat(folder.get(), name.c_str(), folder.get(), key.c_str()) == 0) return {};
  return disk_error("link", path);
}

}  // namespace

DirectoryStore::DirectoryStore(DirectoryOptions options) : options_(std::move(options)), path_(options_.path + "/v1") {}

std::string DirectoryStore::describe() const {
  return (options_.system ? "the system's directory " : "the directory ") + options_.path;
}

Result<void> DirectoryStore::must_write() const {
  if (writable()) return {};
  return error_of(ErrorKind::user, Stage::cache, ErrorCode::unsupported, describe() + " is only read");
}

Result<void> DirectoryStore::check() const {
  auto folder = open(false);
  if (!folder) return folder.error();
  return {};
}

Result<std::optional<Descriptor>> DirectoryStore::open(bool make) const {
  auto top = open_trusted_directory(options_.path, trust(), make);
  if (!top || !*top) return top;
  return open_trusted_below(**top, "v1", trust(), make, path_);
}

Result<std::optional<Descriptor>> DirectoryStore::open_folder(std::string_view key, bool make) const {
  auto top = open(make);
  if (!top || !*top) return top;
  const std::string name(key.substr(0, 2));
  return open_trusted_below(**top, name, trust(), make, path_ + "/" + name);
}

Result<std::optional<std::vector<char>>> DirectoryStore::get(std::string_view key) {
  return guarded(Stage::cache, [&]() -> Result<std::optional<std::vector<char>>> {
    TLXJIT_TRY(check_key(key));
    auto folder = open_folder(key, false);
    if (!folder) return folder.error();
    if (!*folder) return std::optional<std::vector<char>>();
    const std::string path = entry_path(path_, key);
    auto file = open_trusted_file(**folder, std::string(key), trust(), O_RDONLY, path);
    if (!file) return file.error();
    if (!*file) return std::optional<std::vector<char>>();
    uint64_t size = std::min(static_cast<uint64_t>((*file)->facts.st_size), most_bytes_of_entry);
    if (size > most_bytes_unlooked) {
      auto head = read_at((*file)->file, 0, entry_length_bytes, path);
      if (!head) return head.error();
      if (!begins_entry(*head, size)) size = entry_length_bytes;  // no entry, as its reader will say of the first bytes
    }
    auto bytes = read_at((*file)->file, 0, size, path);
    if (!bytes) return bytes.error();
    if (bytes->size() != size) {  // a fault of the disk, and not of the entry: its length was there
      errno = EIO;
      return disk_error("read", path);
    }
    if (writable()) stamp(**file);
    return std::optional<std::vector<char>>(std::move(*bytes));
  });
}

Result<void> DirectoryStore::put(std::string_view key, std::span<const char> bytes) {
  return guarded(Stage::cache, [&]() -> Result<void> {
    TLXJIT_TRY(check_key(key));
    TLXJIT_TRY(must_write());
    auto folder = open_folder(key, true);
    if (!folder) return folder.error();
    const std::string path = entry_path(path_, key);
    if (!*folder) {  // taken away as soon as it was made
      errno = ENOENT;
      return disk_error("open", path);
    }
    auto random = random_text(path);
    if (!random) return random.error();
    const std::string name = std::string(temporary_prefix) + *random;
    auto file = open_trusted_file(**folder, name, trust(), O_WRONLY | O_CREAT | O_EXCL, path);
    if (!file) return file.error();
    // Held while it is written: who can take it knows that the writer is gone.
    static_cast<void>(flock((*file)->file.get(), LOCK_EX | LOCK_NB));
    auto done = write_all((*file)->file, bytes, path);
    if (done) done = publish(**folder, name, std::string(key), path);
    if (!done) static_cast<void>(unlinkat((*folder)->get(), name.c_str(), 0));
    return done;
  });
}

Result<void> DirectoryStore::remove(std::string_view key) {
  return guarded(Stage::cache, [&]() -> Result<void> {
    TLXJIT_TRY(check_key(key));
    TLXJIT_TRY(must_write());
    auto folder = open_folder(key, false);
    if (!folder) return folder.error();
    if (!*folder || unlinkat((*folder)->get(), std::string(key).c_str(), 0) == 0 || errno == ENOENT) return {};
    return disk_error("unlink", entry_path(path_, key));
  });
}

}  // namespace runtime

Result<std::shared_ptr<Store>> directory_store(DirectoryOptions options) {
  return runtime::guarded(Stage::cache, [&]() -> Result<std::shared_ptr<Store>> {
    auto store = std::make_shared<runtime::DirectoryStore>(std::move(options));
    TLXJIT_TRY(store->check());
    return std::shared_ptr<Store>(std::move(store));
  });
}

TLXJIT_NAMESPACE_END

// src/runtime/directory_store_p.h — a store of files in a directory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "src/runtime/trusted_path_p.h"
#include "tlxjit/runtime/store.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// `<path>/v1/<two digits>/<key>`; the format of files and folders is docs/reference/cache-format.md. It has no state:
/// threads, processes and forked children use one directory without knowing of each other.
class DirectoryStore final : public Store {
 public:
  explicit DirectoryStore(DirectoryOptions options);

  Result<std::optional<std::vector<char>>> get(std::string_view key) override;
  Result<void> put(std::string_view key, std::span<const char> bytes) override;
  Result<void> remove(std::string_view key) override;
  Result<std::vector<StoredEntry>> list() override;
  std::string describe() const override;
  Result<Trimmed> trim(uint64_t most_bytes) override;

  /// The same, which ends early when `stop` becomes true. What fails does not end it: the Error is the first, and
  /// `trimmed` is what was taken away all the same.
  Result<void> sweep(uint64_t most_bytes, const std::atomic<bool>& stop, Trimmed& trimmed);
  /// An Error if the directory is there and not to be trusted, or cannot be looked at.
  Result<void> check() const;
  /// The folder of this format, made if `make`; nothing if it is not there.
  Result<std::optional<Descriptor>> open(bool make) const;
  const std::string& path() const { return path_; }

 private:
  Result<std::optional<Descriptor>> open_folder(std::string_view key, bool make) const;
  Trust trust() const { return options_.system ? Trust::root : Trust::user; }
  bool writable() const { return !options_.read_only && !options_.system; }
  Result<void> must_write() const;

  const DirectoryOptions options_;
  const std::string path_;  // of this format
};

/// Takes away the entries used longest ago until the others have at most so many bytes; 0: all. One that
/// cannot be is passed over, and the first Error is given.
Result<void> remove_oldest(Store& store, std::vector<StoredEntry> entries, uint64_t most_bytes,
                           const std::atomic<bool>& stop, Trimmed& trimmed);

}  // namespace runtime
TLXJIT_NAMESPACE_END

// src/runtime/bundle_store.cpp — many entries in one file that is only read.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "src/runtime/byte_order_p.h"
#include "src/runtime/directory_files_p.h"
#include "src/runtime/entry_p.h"
#include "src/runtime/file_io_p.h"
#include "src/runtime/hash_p.h"
#include "src/runtime/key_p.h"
#include "src/runtime/material_p.h"
#include "src/runtime/trusted_path_p.h"
#include "tlxjit/runtime/store.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

constexpr std::string_view bundle_magic = "tlxbndl\n";
constexpr uint32_t bundle_version = 1;
constexpr size_t key_bytes = 32;
constexpr size_t row_bytes = key_bytes + 16;
constexpr size_t bundle_head_bytes = 32;  // magic, version, zero, size of all, number of entries

struct Row {
  std::string key;
  uint64_t offset;
  uint64_t bytes;
};

/// Read by pread: a file that is cut while it is open gives less, where a map would end the process.
class BundleStore final : public Store {
 public:
  BundleStore(Descriptor file, std::vector<Row> rows, std::string path)
      : file_(std::move(file)), rows_(std::move(rows)), path_(std::move(path)) {}

  Result<std::optional<std::vector<char>>> get(std::string_view key) override {
    return guarded(Stage::cache, [&]() -> Result<std::optional<std::vector<char>>> {
      TLXJIT_TRY(check_key(key));
      const auto row =
          std::lower_bound(rows_.begin(), rows_.end(), key, [](const Row& a, std::string_view b) { return a.key < b; });
      if (row == rows_.end() || row->key != key) return std::optional<std::vector<char>>();
      auto bytes = read_at(file_, row->offset, row->bytes, path_);
      if (!bytes) return bytes.error();
      return std::optional<std::vector<char>>(std::move(*bytes));
    });
  }
  Result<void> put(std::string_view, std::span<const char>) override { return only_read(); }
  Result<void> remove(std::string_view) override { return only_read(); }
  Result<std::vector<StoredEntry>> list() override {
    return guarded(Stage::cache, [&]() -> Result<std::vector<StoredEntry>> {
      std::vector<StoredEntry> entries;
      for (const Row& row : rows_) entries.push_back({row.key, row.bytes, {}});
      return entries;
    });
  }
  bool any_compiler() const override { return true; }
  std::string describe() const override { return "the bundle " + path_; }

 private:
  Result<void> only_read() const {
    return guarded(Stage::cache, [&]() -> Result<void> {
      return error_of(ErrorKind::user, Stage::cache, ErrorCode::unsupported, describe() + " is only read");
    });
  }

  const Descriptor file_;
  const std::vector<Row> rows_;  // by key
  const std::string path_;
};

/// The rows of a file's index. They stand in the order of their keys, and their entries in the same order behind the
/// index, without a gap: every byte of the file is under a checksum.
Result<std::vector<Row>> read_rows(const TrustedFile& from, const std::string& path) {
  const auto size = static_cast<uint64_t>(from.facts.st_size);
  const auto bad = [&](const char* why) { return bad_content(path + " is no bundle: " + why); };
  auto head = read_at(from.file, 0, bundle_head_bytes, path);
  if (!head) return head.error();
  if (size < bundle_head_bytes || head->size() < bundle_head_bytes ||
      get_text(*head, 0, bundle_magic.size()) != bundle_magic)
    return bad("it does not begin as one");
  if (get_integer(*head, 8, 4) != bundle_version || get_integer(*head, 12, 4) != 0)
    return bad("it has another version");
  const uint64_t count = get_integer(*head, 24, 8);
  if (get_integer(*head, 16, 8) != size || count > (size - bundle_head_bytes) / row_bytes)
    return bad("it is not as long as it says");
  const uint64_t end = bundle_head_bytes + count * row_bytes;
  auto index = read_at(from.file, 0, end + hash_bytes, path);
  if (!index) return index.error();
  if (index->size() != end + hash_bytes) return bad("it is cut");
  if (hash_of(get_text(*index, 0, end)) != get_text(*index, end, hash_bytes))
    return bad("the checksum of its index is wrong");
  std::vector<Row> rows;
  uint64_t next = end + hash_bytes;
  for (size_t at = bundle_head_bytes; at < end; at += row_bytes) {
    Row row{std::string(get_text(*index, at, key_bytes)), get_integer(*index, at + key_bytes, 8),
            get_integer(*index, at + key_bytes + 8, 8)};
    if (!is_key(row.key) || (!rows.empty() && row.key <= rows.back().key)) return bad("its keys are in no order");
    if (row.offset != next || row.bytes > size - next) return bad("its entries do not follow one another");
    next += row.bytes;
    rows.push_back(std::move(row));
  }
  if (next != size) return bad("there is more behind its entries");
  return rows;
}

/// The entries by their new keys, each once.
Result<std::vector<BundledEntry>> rekeyed(std::span<const BundledEntry> entries) {
  std::map<std::string, std::vector<char>> first;
  for (const BundledEntry& entry : entries) {
    TLXJIT_TRY(check_key(entry.key));
    auto whole = decode(entry.bytes, entry.key);
    if (!whole) {
      Error error = std::move(whole).error();
      error.message = "what is under the key " + entry.key + " is not put into a bundle: " + error.message;
      error.key = entry.key;
      return error;
    }
    whole->material = without_compiler(whole->material);
    first.try_emplace(key_text(whole->material), encode(*whole));
  }
  std::vector<BundledEntry> sorted;
  for (auto& [key, bytes] : first) sorted.push_back({key, std::move(bytes)});
  return sorted;
}

std::vector<char> encode_bundle(std::span<const BundledEntry> sorted) {
  uint64_t offset = bundle_head_bytes + sorted.size() * row_bytes + hash_bytes, size = offset;
  for (const BundledEntry& entry : sorted) size += entry.bytes.size();
  ByteWriter bytes(size);
  bytes.text(bundle_magic);
  bytes.integer(bundle_version, 4);
  bytes.integer(0, 4);
  bytes.integer(size, 8);
  bytes.integer(sorted.size(), 8);
  for (const BundledEntry& entry : sorted) {
    bytes.text(entry.key);
    bytes.integer(offset, 8);
    bytes.integer(entry.bytes.size(), 8);
    offset += entry.bytes.size();
  }
  bytes.text(hash_of(bytes.written()));
  for (const BundledEntry& entry : sorted) bytes.text({entry.bytes.data(), entry.bytes.size()});
  return bytes.take();
}

}  // namespace
}  // namespace runtime

Result<std::shared_ptr<Store>> bundle_store(const std::string& file) {
  return runtime::guarded(Stage::cache, [&]() -> Result<std::shared_ptr<Store>> {
    auto opened = runtime::open_trusted_file(file);
    if (!opened) return opened.error();
    if (!*opened) {
      errno = ENOENT;
      return runtime::disk_error("open", file);
    }
    auto rows = runtime::read_rows(**opened, file);
    if (!rows) return rows.error();
    return std::shared_ptr<Store>(
        std::make_shared<runtime::BundleStore>(std::move((*opened)->file), std::move(*rows), file));
  });
}

Result<size_t> write_bundle(const std::string& file, std::span<const BundledEntry> entries) {
  return runtime::guarded(Stage::cache, [&]() -> Result<size_t> {
    const auto sorted = runtime::rekeyed(entries);
    if (!sorted) return sorted.error();
    const std::vector<char> bytes = runtime::encode_bundle(*sorted);
    auto suffix = runtime::random_text(file);
    if (!suffix) return suffix.error();
    const std::string name = file + "." + *suffix;
    const runtime::Descriptor to(
        runtime::again([&] { return open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644); }));
    if (!to) return runtime::disk_error("open", name);
    Result<void> done = runtime::write_all(to, bytes, name);
    if (done && rename(name.c_str(), file.c_str()) != 0) done = runtime::disk_error("rename", file);
    if (done) return sorted->size();
    static_cast<void>(unlink(name.c_str()));
    return done.error();
  });
}

TLXJIT_NAMESPACE_END

// src/runtime/entry.cpp — entries to bytes and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/entry_p.h"

#include "src/runtime/byte_order_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/key_p.h"
#include "tlxjit/runtime/store.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

constexpr std::string_view entry_magic = "tlxjit\x1a\n";
constexpr uint32_t entry_version = 1;
constexpr size_t parts = 6;
constexpr size_t sizes_at = entry_length_bytes;  // behind magic, version, number of parts and the size of all
constexpr size_t entry_head_bytes = sizes_at + 8 * parts;

}  // namespace

Error bad_content(std::string why) {
  return error_of(ErrorKind::environment, Stage::cache, ErrorCode::bad_content, std::move(why));
}

bool begins_entry(std::span<const char> bytes, uint64_t length) {
  return bytes.size() >= entry_length_bytes && get_text(bytes, 0, entry_magic.size()) == entry_magic &&
         get_integer(bytes, 16, 8) == length;
}

std::vector<char> encode(const Entry& entry) {
  const std::string_view contents[parts] = {
      entry.kernel, entry.target, entry.material, entry.module, {entry.image.data(), entry.image.size()}, entry.report};
  size_t size = entry_head_bytes + hash_bytes;
  for (const std::string_view content : contents) size += content.size();
  ByteWriter bytes(size);
  bytes.text(entry_magic);
  bytes.integer(entry_version, 4);
  bytes.integer(parts, 4);
  bytes.integer(size, 8);
  for (const std::string_view content : contents) bytes.integer(content.size(), 8);
  for (const std::string_view content : contents) bytes.text(content);
  bytes.text(hash_of(bytes.written()));
  return bytes.take();
}

Result<Entry> decode(std::span<const char> bytes) {
  if (bytes.size() < entry_head_bytes + hash_bytes || get_text(bytes, 0, entry_magic.size()) != entry_magic)
    return bad_content("it is no entry of a cache of tlxjit");
  if (get_integer(bytes, 8, 4) != entry_version || get_integer(bytes, 12, 4) != parts)
    return bad_content("it is an entry of another version of the format");
  if (get_integer(bytes, 16, 8) != bytes.size()) return bad_content("it is not as long as it says");
  const size_t end = bytes.size() - hash_bytes;
  if (hash_of(get_text(bytes, 0, end)) != get_text(bytes, end, hash_bytes))
    return bad_content("its checksum is not that of its content");
  std::string_view contents[parts];
  size_t at = entry_head_bytes;
  for (size_t i = 0; i < parts; ++i) {
    const uint64_t size = get_integer(bytes, sizes_at + 8 * i, 8);
    if (size > end - at) return bad_content("its parts are longer than it is");
    contents[i] = get_text(bytes, at, size);
    at += size;
  }
  if (at != end) return bad_content("its parts are shorter than it is");
  return Entry{std::string(contents[0]),
               std::string(contents[1]),
               std::string(contents[2]),
               std::string(contents[3]),
               std::vector<char>(contents[4].begin(), contents[4].end()),
               std::string(contents[5])};
}

Result<Entry> decode(std::span<const char> bytes, std::string_view key) {
  auto entry = decode(bytes);
  if (entry && key_text(entry->material) != key) return bad_content("it is the entry of another key");
  return entry;
}

}  // namespace runtime

Result<EntryFacts> check_entry(std::string_view key, std::span<const char> bytes) {
  return runtime::guarded(Stage::cache, [&]() -> Result<EntryFacts> {
    auto entry = runtime::decode(bytes, key);
    if (!entry) return entry.error();
    return EntryFacts{std::move(entry->kernel), std::move(entry->target), entry->image.size(),
                      std::move(entry->report)};
  });
}

TLXJIT_NAMESPACE_END

// src/runtime/build_id.cpp — the GNU build-id of a library, in memory or in its file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/build_id_p.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "src/runtime/hex_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {
namespace {

constexpr size_t align4(size_t n) { return (n + 3) & ~size_t{3}; }

/// In the notes of a segment.
std::string in_notes(const char* at, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const size_t name = sizeof note;
    const size_t desc = name + align4(note.n_namesz);
    const size_t next = desc + align4(note.n_descsz);
    if (next > size) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(at + name, "GNU", 4) == 0)
      return hex({at + desc, note.n_descsz});
    at += next;
    size -= next;
  }
  return {};
}

struct Search {
  uintptr_t address;
  std::string id;
};

int visit(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  bool inside = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    inside |= segment.p_type == PT_LOAD && search->address - (info->dlpi_addr + segment.p_vaddr) < segment.p_memsz;
  }
  if (!inside) return 0;
  for (int i = 0; i < info->dlpi_phnum && search->id.empty(); ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE)
      search->id = in_notes(reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return 1;
}

struct File {
  explicit File(const std::string& path) : descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (descriptor >= 0) close(descriptor);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool read(void* to, size_t bytes, uint64_t offset) const {
    return pread(descriptor, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }
  const int descriptor;
};

}  // namespace

std::string build_id_at(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(visit, &search);
  return search.id;
}

std::string build_id_of_file(const std::string& path) {
  const File file(path);
  Elf64_Ehdr header;
  if (file.descriptor < 0 || !file.read(&header, sizeof header, 0) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!file.read(&segment, sizeof segment, header.e_phoff + uint64_t{i} * sizeof segment)) return {};
    constexpr size_t most = 1 << 16;
    if (segment.p_type != PT_NOTE || segment.p_filesz > most) continue;
    std::vector<char> notes(segment.p_filesz);
    if (!file.read(notes.data(), notes.size(), segment.p_offset)) return {};
    if (std::string id = in_notes(notes.data(), notes.size()); !id.empty()) return id;
  }
  return {};
}

}  // namespace runtime
TLXJIT_NAMESPACE_END

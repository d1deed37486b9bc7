// backends/nvidia/library.cpp — dlopen, symbols and build-ids.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/library_p.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstring>

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {
namespace {

struct NoteSearch {
  ElfW(Addr) base;
  std::string id;
};

constexpr size_t align4(size_t n) { return (n + 3) & ~size_t{3}; }

// Walks one PT_NOTE segment for NT_GNU_BUILD_ID.
std::string build_id_in(const char* at, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const size_t name = sizeof note;
    const size_t desc = name + align4(note.n_namesz);
    const size_t next = desc + align4(note.n_descsz);
    if (next > size) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(at + name, "GNU", 4) == 0) {
      static constexpr char digits[] = "0123456789abcdef";
      std::string id;
      for (size_t i = 0; i < note.n_descsz; ++i) {
        const auto byte = static_cast<unsigned char>(at[desc + i]);
        id += digits[byte >> 4];
        id += digits[byte & 15];
      }
      return id;
    }
    at += next;
    size -= next;
  }
  return {};
}

int visit(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<NoteSearch*>(data);
  if (info->dlpi_addr != search->base) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    search->id = build_id_in(reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr), segment.p_memsz);
    if (!search->id.empty()) break;
  }
  return 1;
}

}  // namespace

void* Library::symbol(const char* name) const { return dlsym(handle, name); }

std::string Library::build_id() const {
  link_map* map = nullptr;
  if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return {};
  NoteSearch search{map->l_addr, {}};
  dl_iterate_phdr(visit, &search);
  return search.id;
}

Library open_library(const std::string& name, std::string& why) {
  Library library;
  // A second copy of libcuda beside the one that the process uses would have its own contexts.
  library.handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (!library.handle) library.handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library.handle) {
    const char* text = dlerror();
    why = text ? text : "dlopen failed";
    return library;
  }
  link_map* map = nullptr;
  library.path = dlinfo(library.handle, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : name;
  return library;
}

Error missing(std::string message, std::string log) {
  return {ErrorKind::environment, Stage::load, ErrorCode::library_missing, std::move(message), {}, std::move(log), {}};
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string{} : path.substr(0, slash);
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END

// backends/nvidia/library.cpp — dlopen, symbols and build-ids.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/library_p.h"

#include <dlfcn.h>
#include <link.h>

#include "src/runtime/build_id_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

void* Library::symbol(const char* name) const { return dlsym(handle, name); }

std::string Library::build_id() const {
  link_map* map = nullptr;
  if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return {};
  return runtime::build_id_at(map->l_ld);
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

// src/runtime/plugin_loader.cpp — dlopen of the CPU plug-in, and what is compared before it is used.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/plugin_loader_p.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#include <tlxjit_source_hash.h>
#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

constexpr const char* file_name = "libtlxjit_cpu.so";

/// The folder of the file that this code was loaded from; "" if it cannot be told.
std::string own_folder() {
  Dl_info found;
  void* map = nullptr;
  char path[PATH_MAX];
  if (!dladdr1(reinterpret_cast<void*>(&load_cpu_plugin), &found, &map, RTLD_DL_LINKMAP)) return {};
  const char* name = static_cast<link_map*>(map)->l_name;
  // The program itself has no name there, and argv[0] proves nothing.
  if (!realpath(name && *name ? name : "/proc/self/exe", path)) return {};
  const char* slash = std::strrchr(path, '/');
  return slash ? std::string(path, static_cast<size_t>(slash - path)) : std::string();
}

Error missing(const std::string& message, std::string log = {}) {
  Error error = error_of(ErrorKind::environment, Stage::load, ErrorCode::library_missing, message);
  error.log = std::move(log);
  return error;
}

Result<const tlxjit_cpu_backend*> open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return missing(std::string("the CPU plug-in cannot be loaded: ") + dlerror());  // names the file and why
  const auto entry = reinterpret_cast<const tlxjit_cpu_backend* (*)()>(dlsym(library, "tlxjit_backend_v1"));
  if (!entry) return missing(path + " is no CPU plug-in of tlxjit: it has no symbol tlxjit_backend_v1");
  const tlxjit_cpu_backend* plugin = entry();
  if (!plugin || plugin->size != sizeof(tlxjit_cpu_backend) || plugin->version != TLXJIT_CPU_PLUGIN_VERSION)
    return missing(path + " has version " + std::to_string(plugin ? plugin->version : 0) +
                   " of the plug-in's interface, and this library has " + std::to_string(TLXJIT_CPU_PLUGIN_VERSION) +
                   "; install both from one build");
  if (std::strcmp(plugin->source_hash, TLXJIT_SOURCE_HASH) != 0)
    return missing(path + " was built from other sources than this library; install both from one build",
                   std::string("sources of the library: ") + TLXJIT_SOURCE_HASH +
                       "\nsources of the plug-in: " + plugin->source_hash);
  return plugin;
}

}  // namespace

Result<const tlxjit_cpu_backend*> load_cpu_plugin(const std::string& path) {
  if (!path.empty()) return open(path);
  const std::string folder = own_folder();
  std::string tried;
  constexpr const char* installed = "/../" TLXJIT_LIBDIR "/";
  for (const char* place : {"/", "/tlxjit/", "/../lib/tlxjit/", installed, "/../"}) {
    if (folder.empty()) break;
    const std::string candidate = folder + place + file_name;
    if (access(candidate.c_str(), F_OK) == 0) return open(candidate);
    tried += (tried.empty() ? "" : "\n") + candidate;
  }
  return missing(std::string("the CPU plug-in ") + file_name +
                     " was not found; name it in TLXJIT_CPU_PLUGIN or EngineOptions::cpu_plugin",
                 tried);
}

}  // namespace runtime
TLXJIT_NAMESPACE_END

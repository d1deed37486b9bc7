// backends/nvidia/nvrtc_files.cpp — where NVRTC's files are, and which build they are, without loading them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/nvrtc_files_p.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>

#include "src/runtime/build_id_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {
namespace {

constexpr const char* file_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

bool is_folder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

/// In the folders that the loader knows of: LD_LIBRARY_PATH, the program's own, the system's.
std::string in_search_path(const std::string& name) {
  void* const self = dlopen(nullptr, RTLD_LAZY);
  Dl_serinfo sizes;
  if (!self || dlinfo(self, RTLD_DI_SERINFOSIZE, &sizes) != 0) return {};
  std::vector<char> memory(sizes.dls_size);
  auto* const paths = reinterpret_cast<Dl_serinfo*>(memory.data());
  *paths = sizes;
  if (dlinfo(self, RTLD_DI_SERINFO, paths) != 0) return {};
  for (unsigned i = 0; i < paths->dls_cnt; ++i)
    if (std::string file = std::string(paths->dls_serpath[i].dls_name) + "/" + name; is_there(file)) return file;
  return {};
}

/// In ld.so.cache, as glibc 2.32 and later write it: a head of 48 bytes, which begins with the words below and the
/// number of entries; entries of 24 bytes, whose second and third number are where the name and the path stand.
std::string in_loader_cache(const std::string& name, const std::string& cache) {
  std::ifstream file(cache, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  constexpr std::string_view magic = "glibc-ld.so.cache1.1";
  constexpr size_t head = 48, entry = 24;
  if (!bytes.starts_with(magic) || bytes.size() < head) return {};
  const auto number = [&](size_t at) {
    uint32_t x = 0;
    std::memcpy(&x, bytes.data() + at, sizeof x);
    return size_t{x};
  };
  const auto text = [&](size_t at) { return at < bytes.size() ? std::string(bytes.c_str() + at) : std::string(); };
  const size_t count = std::min(number(magic.size()), (bytes.size() - head) / entry);
  for (size_t i = 0; i < count; ++i)
    if (text(number(head + i * entry + 4)) == name)
      if (std::string path = text(number(head + i * entry + 8)); !runtime::build_id_of_file(path).empty()) return path;
  return {};
}

/// The builtins beside the library, if there are those of one version, and that is one that serves; "" else.
std::string builtins_of(const std::string& library) {
  std::vector<std::string> found;
  for (const std::string& folder : folders_of(library)) {
    DIR* const open = opendir(folder.c_str());
    if (!open) continue;
    while (const dirent* file = readdir(open)) {
      const std::string_view name = file->d_name;
      int version = 0;
      // libnvrtc-builtins.so.13.0, not the links libnvrtc-builtins.so and .so.13, nor the file .so.13.0.48 behind them.
      constexpr std::string_view stem = "libnvrtc-builtins.so.";
      if (name.starts_with(stem) && std::count(name.begin(), name.end(), '.') == 3 &&
          std::from_chars(name.data() + stem.size(), name.data() + name.size(), version).ec == std::errc() &&
          version >= oldest_nvrtc)
        found.push_back(folder + "/" + std::string(name));
    }
    closedir(open);
    if (!found.empty()) break;
  }
  return found.size() == 1 ? found.front() : std::string();
}

}  // namespace

std::vector<std::string> nvrtc_candidates(const NvrtcSearch& search) {
  std::vector<std::string> names;
  auto add_folder = [&](const std::string& folder) {
    for (const char* file : file_names) names.push_back(folder + "/" + file);
  };
  if (!search.path.empty()) {
    if (is_folder(search.path))
      add_folder(search.path);
    else
      names.push_back(search.path);
    return names;
  }
  for (const auto& folder : search.directories)
    if (!folder.empty()) add_folder(folder);
  names.push_back("libnvrtc.so.13");
  names.push_back("libnvrtc.so.12");
  add_folder("/usr/local/cuda/lib64");
  return names;
}

std::vector<std::string> folders_of(const std::string& library) {
  std::vector<std::string> folders = {folder_of(library)};
  if (char* resolved = realpath(library.c_str(), nullptr)) {
    if (std::string folder = folder_of(resolved); folder != folders[0]) folders.push_back(std::move(folder));
    std::free(resolved);
  }
  return folders;
}

std::string file_of_loader(const std::string& name, const std::string& cache) {
  std::string file = in_search_path(name);
  return file.empty() ? in_loader_cache(name, cache) : file;
}

std::string nvrtc_build_ids_of_files(const NvrtcSearch& search) {
  for (const std::string& name : nvrtc_candidates(search)) {
    std::string file = name;
    if (name.find('/') == std::string::npos) {
      // One that the program has loaded already comes first.
      if (void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) {
        link_map* map = nullptr;
        if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) file = map->l_name;
        dlclose(handle);
      } else {
        file = file_of_loader(name);
      }
    }
    if (file.empty() || !is_there(file)) continue;
    std::string library = runtime::build_id_of_file(file);
    const std::string builtins = runtime::build_id_of_file(builtins_of(file));
    return library.empty() || builtins.empty() ? std::string() : library.append(" ").append(builtins);
  }
  return {};
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END

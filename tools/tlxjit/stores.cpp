// tools/tlxjit/stores.cpp — opens stores.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/stores.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "src/runtime/guard_p.h"
#include "src/runtime/options_p.h"
#include "tools/tlxjit/files.h"

namespace tlxjit::cli {

namespace {

Error refused(ErrorCode code, std::string message) {
  return runtime::error_of(ErrorKind::user, Stage::cache, code, std::move(message));
}

/// Where an engine looks that the program tells no directory.
Result<std::string> system_directory() {
  EngineOptions options;
  std::vector<std::string> faults;  // of numbers, which are others
  runtime::read_environment(options, faults);
  if (options.system_cache_directory.empty())
    return runtime::error_of(
        ErrorKind::environment, Stage::cache, ErrorCode::disk_failed,
        "there is no directory of the system's: TLXJIT_SYSTEM_CACHE_DIR names none, nor does --dir");
  return std::move(options.system_cache_directory);
}

}  // namespace

Result<std::shared_ptr<Store>> open_store(const StoreChoice& choice, bool writes) {
  if (!choice.bundle.empty()) {
    if (writes)
      return refused(ErrorCode::bad_argument, "a bundle is only read: make another with `tlxjit cache export`");
    return bundle_store(choice.bundle);
  }
  if (choice.system && writes) return refused(ErrorCode::bad_argument, "the system's directory is only read");
  DirectoryOptions options;
  options.read_only = !writes;
  options.system = choice.system;
  options.path = choice.directory;
  struct stat status;
  if (!options.path.empty() && stat(options.path.c_str(), &status) != 0)
    return file_error("cannot open", options.path, errno);
  if (options.path.empty()) {
    auto path = choice.system ? system_directory() : default_cache_directory();
    if (!path) return path.error();
    options.path = std::move(*path);
  }
  return directory_store(std::move(options));
}

std::string no_cache_text(const StoreChoice& choice) {
  if (choice.directory.empty()) return {};
  std::error_code error;
  const auto versioned = std::filesystem::status(std::filesystem::path(choice.directory) / "v1", error);
  return versioned.type() == std::filesystem::file_type::not_found
             ? choice.directory + " holds no cache: there is no folder v1 in it"
             : "";
}

Result<std::vector<char>> entry_of(Store& store, const std::string& key) {
  auto bytes = store.get(key);
  if (!bytes) return bytes.error();
  if (*bytes) return std::move(**bytes);
  return refused(ErrorCode::bad_argument,
                 "there is no entry " + key + " in " + store.describe() + "; `tlxjit cache ls` lists what there is");
}

}  // namespace tlxjit::cli

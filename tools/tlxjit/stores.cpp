// tools/tlxjit/stores.cpp — opens stores.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/stores.h"

#include <algorithm>

#include "src/runtime/guard_p.h"

namespace tlxjit::cli {

namespace {

Error refused(ErrorCode code, std::string message) {
  return runtime::error_of(ErrorKind::user, Stage::cache, code, std::move(message));
}

}  // namespace

bool is_key(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

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
  if (choice.directory.empty()) {
    auto path = default_cache_directory();
    if (!path) return path.error();
    options.path = std::move(*path);
  } else {
    options.path = choice.directory;
  }
  return directory_store(std::move(options));
}

Result<std::vector<char>> entry_of(Store& store, const std::string& key) {
  auto bytes = store.get(key);
  if (!bytes) return bytes.error();
  if (*bytes) return std::move(**bytes);
  return refused(ErrorCode::bad_argument,
                 "there is no entry " + key + " in " + store.describe() + "; `tlxjit cache ls` lists what there is");
}

}  // namespace tlxjit::cli

// tools/tlxjit/stores.h — the store that a command line names, and its entries.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "src/runtime/directory_files_p.h"
#include "tlxjit/runtime/store.h"
#include "tools/tlxjit/options.h"

namespace tlxjit::cli {

/// 32 hexadecimal digits in lower case.
using runtime::is_key;

/// `writes`: entries are taken away; else not even their time of use changes. A directory that is named must be there.
Result<std::shared_ptr<Store>> open_store(const StoreChoice& choice, bool writes);

/// What to say of a directory that was named and never was a cache; empty of all others.
std::string no_cache_text(const StoreChoice& choice);

/// The bytes of an entry that must be there.
Result<std::vector<char>> entry_of(Store& store, const std::string& key);

}  // namespace tlxjit::cli

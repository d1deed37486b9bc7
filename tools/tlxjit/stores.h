// tools/tlxjit/stores.h — the store that a command line names, and its entries.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "tlxjit/runtime/store.h"
#include "tools/tlxjit/options.h"

namespace tlxjit::cli {

/// 32 hexadecimal digits in lower case.
bool is_key(std::string_view text);

/// `writes`: entries are taken away; else not even their time of use changes.
Result<std::shared_ptr<Store>> open_store(const StoreChoice& choice, bool writes);

/// The bytes of an entry that must be there.
Result<std::vector<char>> entry_of(Store& store, const std::string& key);

}  // namespace tlxjit::cli

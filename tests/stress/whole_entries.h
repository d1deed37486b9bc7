// tests/stress/whole_entries.h — what must be true of a directory of entries, whatever happened to its writers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tlxjit/runtime/store.h"

namespace tlxjit::runtime_test {

/// Every file of an entry's name is a whole entry of that key.
inline void expect_all_whole(const std::string& directory) {
  auto store = directory_store({directory, true, false});
  ASSERT_TRUE(store.ok());
  const auto entries = (*store)->list();
  ASSERT_TRUE(entries.ok()) << to_string(entries.error());
  for (const StoredEntry& entry : *entries) {
    const auto bytes = (*store)->get(entry.key);
    ASSERT_TRUE(bytes.ok() && *bytes);
    const auto facts = check_entry(entry.key, **bytes);
    ASSERT_TRUE(facts.ok()) << entry.key << ": " << facts.error().message;
  }
}

}  // namespace tlxjit::runtime_test

// tests/unit/runtime/shipped.h — bundles of what an engine has kept.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tlxjit/core/error.h"
#include "tlxjit/runtime/store.h"

namespace tlxjit::runtime_test {

/// Writes all entries of a directory to a bundle, as `tlxjit cache export` does, and gives their keys there.
inline std::vector<std::string> ship(const std::string& directory, const std::string& file) {
  std::vector<std::string> keys;
  auto from = directory_store({directory, true, false});
  auto listed = from ? (*from)->list() : Result<std::vector<StoredEntry>>(from.error());
  EXPECT_TRUE(listed.ok()) << to_string(listed.error());
  if (!listed) return keys;
  std::vector<BundledEntry> entries;
  for (const StoredEntry& entry : *listed) entries.push_back({entry.key, **(*from)->get(entry.key)});
  auto written = write_bundle(file, entries);
  EXPECT_TRUE(written.ok()) << to_string(written.error());
  auto bundle = bundle_store(file);
  EXPECT_TRUE(bundle.ok()) << to_string(bundle.error());
  if (!bundle) return keys;
  listed = (*bundle)->list();
  for (const StoredEntry& entry : *listed) keys.push_back(entry.key);
  EXPECT_EQ(written ? *written : 0, keys.size());
  return keys;
}

}  // namespace tlxjit::runtime_test

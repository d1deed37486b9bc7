// tests/unit/runtime/entries.h — entries and stores for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "src/runtime/entry_p.h"
#include "src/runtime/key_p.h"
#include "tlxjit/runtime/store.h"

namespace tlxjit::runtime_test {

inline std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, std::span<const char> bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// The entry of the file tests/data/entry-v1.bin.
inline runtime::Entry golden_entry() {
  runtime::Entry e;
  e.kernel = "add";
  e.target = "cpu x86-64-v3";
  e.material = "cpu x86-64-v3\nllvm 22.1\ntlx 1 portable\nkernel add\n";
  e.module = "tlx 1 lowered cpu\nkernel add\n";
  for (int i = 0; i < 256; ++i) e.image.push_back(static_cast<char>(i));
  e.report = "compiled in 12 ms\n";
  return e;
}

/// An entry that differs with `n` in every part; its image has `bytes` bytes.
inline runtime::Entry entry_of(int n, size_t bytes = 100) {
  const std::string text = std::to_string(n);
  runtime::Entry e{"kernel" + text, "cpu", "material " + text, "module " + text, {}, "report " + text};
  for (size_t i = 0; i < bytes; ++i) e.image.push_back(static_cast<char>(i * 31 + static_cast<size_t>(n) * 7));
  return e;
}

inline std::string key_of(const runtime::Entry& entry) { return runtime::key_text(entry.material); }

/// Where a directory store keeps a key.
inline std::string file_of(const std::string& directory, const std::string& key) {
  return directory + "/v1/" + key.substr(0, 2) + "/" + key;
}

}  // namespace tlxjit::runtime_test

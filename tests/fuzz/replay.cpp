// tests/fuzz/replay.cpp — a fuzz target without the fuzzer: each file of the folders given, and cuts of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  size_t files = 0;
  for (int i = 1; i < argc; ++i)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      std::fprintf(stderr, "%s\n", entry.path().c_str());  // the last one named is the one that failed
      const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
      LLVMFuzzerTestOneInput(bytes, text.size());
      constexpr size_t cuts = 64;
      for (size_t cut = 1; cut < cuts; ++cut) LLVMFuzzerTestOneInput(bytes, text.size() * cut / cuts);
      ++files;
    }
  std::printf("%zu files\n", files);
  return files > 0 ? 0 : 1;
}

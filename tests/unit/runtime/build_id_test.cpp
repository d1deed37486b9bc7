// tests/unit/runtime/build_id_test.cpp — build-ids of libraries, in memory and in files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/build_id_p.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {
namespace {

namespace fs = std::filesystem;

// BL-199: where a library lies is not which one it is.
TEST(BuildId, BL_199_OfALibraryThatWasMovedIsTheSame) {
  const TemporaryDirectory place;
  const fs::path moved = place / "moved library.so";
  fs::copy_file(TLXJIT_FOREIGN_LIBRARY, moved);
  const std::string id = runtime::build_id_of_file(TLXJIT_FOREIGN_LIBRARY);
  EXPECT_EQ(id.size(), 40u) << "20 bytes of SHA-1";
  EXPECT_EQ(runtime::build_id_of_file(moved), id);
  EXPECT_NE(runtime::build_id_of_file("/proc/self/exe"), id);
}

TEST(BuildId, InMemoryIsThatOfTheFile) {
  void* const library = dlopen(TLXJIT_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const std::string id = runtime::build_id_of_file(TLXJIT_TEST_PLUGIN);
  EXPECT_NE(id, "");
  EXPECT_EQ(runtime::build_id_at(dlsym(library, "tlxjit_backend_v1")), id);
  EXPECT_EQ(runtime::build_id_at(reinterpret_cast<void*>(&runtime::build_id_of_file)),
            runtime::build_id_of_file("/proc/self/exe"));
  EXPECT_EQ(runtime::build_id_at(nullptr), "");
}

TEST(BuildId, OfWhatIsNoLibraryIsNone) {
  EXPECT_EQ(runtime::build_id_of_file("/nonexistent"), "");
  EXPECT_EQ(runtime::build_id_of_file("/"), "");
  EXPECT_EQ(runtime::build_id_of_file("/etc/passwd"), "");
  const TemporaryDirectory place;
  const fs::path cut = place / "cut.so";
  std::ifstream whole(TLXJIT_FOREIGN_LIBRARY, std::ios::binary);
  std::string bytes(4096, '\0');
  whole.read(bytes.data(), 4096);
  for (size_t length : {0, 4, 40, 64, 100, 300}) {
    std::ofstream(cut, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(length));
    EXPECT_EQ(runtime::build_id_of_file(cut), "") << length;
  }
}

}  // namespace
}  // namespace tlxjit::runtime_test

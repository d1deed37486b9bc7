// tests/unit/runtime/code_version_test.cpp — the code generator's version covers every source that makes code.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/code_version_p.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {
namespace {

namespace fs = std::filesystem;

const fs::path root = TLXJIT_SOURCE_ROOT;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The files whose hash the build takes, relative to the project.
std::set<std::string> hashed() {
  std::set<std::string> files;
  std::istringstream list(read(TLXJIT_CODE_HASH_FILES));
  for (std::string name; std::getline(list, name, ';');) files.insert(name);
  return files;
}

TEST(CodeVersion, CoversEverySource) {
  const std::set<std::string> covered = hashed();
  size_t sources = 0;
  for (const char* folder : {"src/core", "src/ir", "src/layout", "src/passes", "src/codegen", "include/tlxjit/core",
                             "include/tlxjit/ir", "backends"})
    for (const auto& file : fs::recursive_directory_iterator(root / folder)) {
      if (!file.is_regular_file()) continue;
      ++sources;
      const std::string name = fs::relative(file.path(), root);
      EXPECT_TRUE(covered.contains(name)) << name << " is left out of cmake/SourceHash.cmake";
    }
  EXPECT_GT(sources, 150u);
}

// What these sources include of other layers decides about code as well.
TEST(CodeVersion, CoversWhatTheyInclude) {
  const std::set<std::string> covered = hashed();
  // Of the runtime: how kernels are launched, not what they are.
  const auto launches = [](const std::string& name) {
    return name.starts_with("src/runtime/") || name.starts_with("include/tlxjit/runtime/") ||
           name.starts_with("include/tlxjit/builder/");
  };
  for (const std::string& name : covered) {
    std::istringstream text(read(root / name));
    for (std::string line; std::getline(text, line);) {
      if (!line.starts_with("#include \"")) continue;
      std::string included = line.substr(10, line.find('"', 10) - 10);
      if (included.starts_with("tlxjit/")) included = "include/" + included;
      EXPECT_TRUE(covered.contains(included) || launches(included)) << name << " includes " << included;
    }
  }
}

TEST(CodeVersion, FollowsEveryFile) {
  EXPECT_EQ(runtime::code_version().size(), 32u);
  const TemporaryDirectory place;
  const fs::path folder = place.path();
  const auto hash = [&] {
    const std::string command = std::string(TLXJIT_CMAKE) + " -DROOT=" + folder.string() +
                                " -DLIST=" + (folder / "list").string() +
                                " -DMACRO=HASH -DOUT=" + (folder / "out.h").string() + " -P " +
                                (root / "cmake/make_source_hash.cmake").string();
    EXPECT_EQ(std::system(command.c_str()), 0);
    return read(folder / "out.h");
  };
  std::ofstream(folder / "list") << "a.cpp;b.h";
  std::ofstream(folder / "a.cpp") << "int a;";
  std::ofstream(folder / "b.h") << "int b;";
  const std::string first = hash();
  EXPECT_THAT(first, testing::HasSubstr("#define HASH \""));
  EXPECT_EQ(hash(), first);
  std::ofstream(folder / "b.h") << "int c;";
  const std::string second = hash();
  EXPECT_NE(second, first);
  std::ofstream(folder / "a.cpp") << "int a; ";
  EXPECT_NE(hash(), second);
}

}  // namespace
}  // namespace tlxjit::runtime_test

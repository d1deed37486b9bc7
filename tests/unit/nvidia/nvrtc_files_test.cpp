// tests/unit/nvidia/nvrtc_files_test.cpp — which NVRTC it is, told by its files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/nvrtc_files_p.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "src/runtime/build_id_p.h"
#include "tests/unit/nvidia/nvrtc_fixture.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::nvidia {
namespace {

namespace fs = std::filesystem;
using runtime_test::TemporaryDirectory;

NvrtcSearch search_in(std::string folder) {
  NvrtcSearch search;
  search.directories = {std::move(folder)};
  return search;
}

std::string folder() { return promised_nvrtc(); }

struct NvrtcFiles : testing::Test {
  void SetUp() override {
    if (folder().empty()) GTEST_SKIP() << "NOT RUN: no TLXJIT_NVRTC_DIR";
  }
};

bool mapped(const char* name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(name) != std::string::npos) return true;
  return false;
}

TEST_F(NvrtcFiles, TellWhatLoadingTells) {
  const NvrtcSearch search = search_in(folder());
  const std::string told = nvrtc_build_ids_of_files(search);
  EXPECT_EQ(told.size(), 81u) << "two build-ids of 40 digits: " << told;
  ASSERT_FALSE(mapped("libnvrtc")) << "nothing is loaded for it";
  const auto nvrtc = Nvrtc::load(search);
  ASSERT_TRUE(nvrtc.ok()) << nvrtc.error().message;
  EXPECT_EQ((*nvrtc)->build_ids(), told);
  EXPECT_TRUE(mapped("libnvrtc")) << "the test sees what is loaded";
}

TEST_F(NvrtcFiles, BL_199_AnotherPlaceIsTheSameAndOtherBuiltinsAreAnother) {
  const TemporaryDirectory place;
  const fs::path moved = place / "nvrtc moved";
  fs::create_directories(moved);
  fs::create_symlink(fs::path(folder()) / "libnvrtc.so.13", moved / "libnvrtc.so.13");
  const std::string here = nvrtc_build_ids_of_files(search_in(folder()));
  EXPECT_EQ(nvrtc_build_ids_of_files(search_in(moved)), here) << "the builtins beside the file that the link is to";
  fs::copy_file("/proc/self/exe", moved / "libnvrtc-builtins.so.13.0");
  const std::string other = nvrtc_build_ids_of_files(search_in(moved));
  EXPECT_NE(other, here);
  EXPECT_EQ(other, here.substr(0, 41) + runtime::build_id_of_file("/proc/self/exe"));
  fs::copy_file("/proc/self/exe", moved / "libnvrtc-builtins.so.13.1");
  EXPECT_EQ(nvrtc_build_ids_of_files(search_in(moved)), "") << "which of the two is not known";
}

TEST_F(NvrtcFiles, WithoutBuildIdsNothingIsTold) {
  const TemporaryDirectory place;
  const fs::path bad = place.path();
  std::ofstream(bad / "libnvrtc.so.13") << "no library";
  EXPECT_EQ(nvrtc_build_ids_of_files(search_in(bad)), "");
}

TEST_F(NvrtcFiles, TheLoadersCacheIsRead) {
  const TemporaryDirectory place;
  const fs::path cache = place / "ld.so.cache";
  const std::string self = fs::read_symlink("/proc/self/exe");
  std::string head("glibc-ld.so.cache1.1");
  const auto number = [](std::string& out, uint32_t x) { out.append(reinterpret_cast<const char*>(&x), 4); };
  const std::string names = std::string("libother.so\0", 12) + "/nonexistent/other" + '\0';
  const std::string mine = std::string("libwanted.so.13") + '\0';
  number(head, 3);
  head.resize(48, '\0');
  const auto strings = static_cast<uint32_t>(48 + 3 * 24);
  const auto entry = [&](uint32_t name, uint32_t path) {
    for (uint32_t x : {0x303u, name, path, 0u, 0u, 0u}) number(head, x);
  };
  const auto wanted = static_cast<uint32_t>(strings + names.size());
  entry(strings, strings + 12);
  entry(wanted, strings + 12);  // of another class: no library there
  entry(wanted, static_cast<uint32_t>(wanted + mine.size()));
  const std::string whole = head + names + mine + self + '\0';
  std::ofstream(cache, std::ios::binary) << whole;
  EXPECT_EQ(file_of_loader("libwanted.so.13", cache), self);
  EXPECT_EQ(file_of_loader("libnobody.so", cache), "");
  for (size_t length = 0; length < whole.size() - 1; length += 7) {  // the last zero alone is not missed
    std::ofstream(cache, std::ios::binary) << whole.substr(0, length);
    EXPECT_EQ(file_of_loader("libwanted.so.13", cache), "") << length;
  }
  EXPECT_EQ(file_of_loader("libwanted.so.13", "/nonexistent"), "");
  // The system's own format.
  EXPECT_NE(file_of_loader("libc.so.6"), "");
}

}  // namespace
}  // namespace tlxjit::nvidia

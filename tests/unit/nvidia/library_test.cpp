// tests/unit/nvidia/library_test.cpp — libraries of CUDA that are not there, or lack a symbol.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "backends/nvidia/driver_p.h"
#include "backends/nvidia/nvrtc_p.h"
#include "tests/unit/runtime/temporary_directory.h"

using namespace tlxjit;
using namespace tlxjit::nvidia;
using testing::HasSubstr;

namespace {

TEST(CudaLibraries, BL_241_TheMessageNamesTheSymbolThatADriverLacks) {
  const auto driver = Driver::load(STUB_WITHOUT_cuMemFree_v2);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, ErrorCode::library_missing);
  EXPECT_EQ(driver.error().message,
            STUB_WITHOUT_cuMemFree_v2 " lacks cuMemFree_v2; tlxjit needs an NVIDIA driver for CUDA 12.0 or newer");
}

TEST(CudaLibraries, BL_241_TheMessageNamesTheSymbolThatAnNvrtcLacks) {
  NvrtcSearch search;
  search.path = STUB_WITHOUT_nvrtcGetCUBIN;
  const auto nvrtc = Nvrtc::load(search);
  ASSERT_FALSE(nvrtc);
  EXPECT_EQ(nvrtc.error().code, ErrorCode::library_missing);
  EXPECT_EQ(nvrtc.error().message,
            STUB_WITHOUT_nvrtcGetCUBIN " lacks nvrtcGetCUBIN; it is not an NVRTC of CUDA 12 or newer");
}

TEST(CudaLibraries, BL_239_AMissingNvrtcIsNamedWithThePlacesTried) {
  NvrtcSearch search;
  search.path = "/nonexistent/cuda/libnvrtc.so.13";
  const auto nvrtc = Nvrtc::load(search);
  ASSERT_FALSE(nvrtc);
  EXPECT_EQ(nvrtc.error().kind, ErrorKind::environment);
  EXPECT_THAT(nvrtc.error().message, HasSubstr("libnvrtc.so"));
  EXPECT_THAT(nvrtc.error().log, HasSubstr("/nonexistent/cuda/libnvrtc.so.13"));
}

/// A folder of its own, as a CUDA toolkit's.
class Folder {
 public:
  std::string file(const char* name) const { return path_ / name; }
  void copy(const char* from, const char* name) const { std::filesystem::copy_file(from, path_ / name); }
  void text(const char* name) const { std::ofstream(path_ / name) << std::string(1000, '#'); }
  /// What loading from it alone gives.
  Result<std::shared_ptr<Nvrtc>> load() const {
    NvrtcSearch search;
    search.path = path_;
    return Nvrtc::load(search);
  }
  std::string path() const { return path_; }

 private:
  runtime_test::TemporaryDirectory place_;
  std::filesystem::path path_ = place_.path();
};

constexpr const char* way_out =
    "set TLXJIT_NVRTC_DIR to the folder of libnvrtc.so.13 (CUDA toolkit, or the PyPI package nvidia-cuda-nvrtc)";

void expect_missing(const Error& error, const std::string& message) {
  EXPECT_EQ(error.kind, ErrorKind::environment);
  EXPECT_EQ(error.stage, Stage::load);
  EXPECT_EQ(error.code, ErrorCode::library_missing);
  EXPECT_EQ(error.message, message);
}

TEST(CudaLibraries, BL_239_AnNvrtcWithoutItsBuiltinsIsNamedWithThem) {
  const Folder folder;
  folder.copy(FAKE_NVRTC_13, "libnvrtc.so.13");
  const std::string needs = folder.file("libnvrtc.so.13") +
                            " needs libnvrtc-builtins.so.13.77, which cannot be loaded; put that file of the same "
                            "package beside it, or " +
                            way_out;
  auto none = folder.load();
  ASSERT_FALSE(none);
  expect_missing(none.error(), needs);
  EXPECT_THAT(none.error().log, HasSubstr(folder.file("libnvrtc-builtins.so.13.77") + ": cannot open"));
  folder.text("libnvrtc-builtins.so.13.77");
  none = folder.load();
  ASSERT_FALSE(none);
  expect_missing(none.error(), needs);
  EXPECT_THAT(none.error().log, HasSubstr(folder.file("libnvrtc-builtins.so.13.77") + ": invalid ELF header"));

  const Folder whole;
  whole.copy(FAKE_NVRTC_13, "libnvrtc.so.13");
  whole.copy(FAKE_NVRTC_11, "libnvrtc-builtins.so.13.77");
  auto found = whole.load();
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ((*found)->major(), 13);
  EXPECT_EQ((*found)->minor(), 77);
  // A link to it finds what lies beside the file.
  const Folder link;
  std::filesystem::create_symlink(whole.file("libnvrtc.so.13"), link.file("libnvrtc.so.13"));
  EXPECT_TRUE(link.load().ok());

  NvrtcSearch search;
  search.directories = {folder.path(), whole.path()};
  found = Nvrtc::load(search);
  ASSERT_TRUE(found) << "one that does not serve is passed over: " << to_string(found.error());
  EXPECT_EQ((*found)->path(), whole.file("libnvrtc.so.13"));
}

// The code is what functions try again after.
TEST(CudaLibraries, AnNvrtcWithoutMemoryIsOutOfResources) {
  const Folder folder;
  folder.copy(FAKE_NVRTC_13, "libnvrtc.so.13");
  folder.copy(FAKE_NVRTC_11, "libnvrtc-builtins.so.13.77");
  auto found = folder.load();
  ASSERT_TRUE(found) << to_string(found.error());
  const auto none = (*found)->compile("", "k", "sm_90a");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::environment);
  EXPECT_EQ(none.error().code, ErrorCode::out_of_resources);
  EXPECT_EQ(none.error().message, "NVRTC ran out of memory while compiling `k`");
}

TEST(CudaLibraries, BL_239_AnNvrtcOfAWrongVersionIsNamed) {
  const Folder folder;
  folder.copy(FAKE_NVRTC_11, "libnvrtc.so.13");
  const auto none = folder.load();
  ASSERT_FALSE(none);
  expect_missing(none.error(), folder.file("libnvrtc.so.13") +
                                   " is NVRTC 11.77, and tlxjit needs that of CUDA 12 or newer; " + way_out);
}

TEST(CudaLibraries, BL_239_AFileThatIsNoLibraryIsNamed) {
  const Folder folder;
  folder.text("libnvrtc.so.13");
  const std::string file = folder.file("libnvrtc.so.13");
  auto none = folder.load();
  ASSERT_FALSE(none);
  expect_missing(none.error(),
                 "NVRTC cannot be loaded: " + file + ": invalid ELF header; remove that file, or " + way_out);
  EXPECT_THAT(none.error().log, HasSubstr(folder.file("libnvrtc.so.12"))) << "all that was tried";
  std::ofstream(file, std::ios::trunc).close();
  none = folder.load();
  ASSERT_FALSE(none);
  expect_missing(none.error(), "NVRTC cannot be loaded: " + file + ": file too short; remove that file, or " + way_out);
  const auto driver = Driver::load(file);
  ASSERT_FALSE(driver);
  expect_missing(driver.error(),
                 "the NVIDIA driver cannot be loaded: " + file +
                     ": file too short; name the driver's file, or none to have libcuda.so.1 looked for");
}

}  // namespace

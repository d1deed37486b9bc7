// tests/unit/nvidia/fork_test.cpp — children of processes whose threads load CUDA's libraries just then.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/support/hold.h"
#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/temporary_directory.h"
#include "tlxjit/tlxjit.h"

namespace tlxjit::nvidia {
namespace {

TEST(Fork, BL_187_AChildWaitsForNoThreadOfItsParent) {
  const runtime_test::TemporaryDirectory folder;
  const std::string nvrtc = folder / "libnvrtc.so.13", libcuda = folder / "libcuda.so.1";
  for (const std::string& path : {nvrtc, libcuda}) std::filesystem::copy_file(SLOW_LIBRARY, path);
  EngineOptions options;
  options.read_environment = false;
  options.disk_cache = false;
  options.libcuda = libcuda;
  options.nvrtc_directories = {folder.path()};
  const Engine engine(options);
  const Device device = *engine.device("sm_90a");
  const Kernel kernel = gemm(gemm_config("sm_90a"));
  // Where the machine has another NVRTC, that one is taken after all.
  const auto said_what_is_missing = [](const Result<Executable>& made) {
    return made.ok() || made.error().code == ErrorCode::library_missing;
  };
  Hold hold;
  setenv("TLXJIT_TEST_HOLD", hold.text().c_str(), 1);
  std::thread compiles([&] { EXPECT_TRUE(said_what_is_missing(engine.compile(kernel, device))); });
  std::thread opens([&] { EXPECT_FALSE(engine.device("cuda:0").ok()); });
  hold.await(2);  // in both libraries, with locks
  EXPECT_TRUE(runtime_test::in_child([&] {
    hold.let_go();  // its own calls; of those of its parent it has no thread
    const auto opened = engine.device("cuda:0");
    const auto compiled = engine.compile(kernel, device);
    return !opened && opened.error().code == ErrorCode::forked && said_what_is_missing(compiled);
  }));
  hold.let_go();
  compiles.join();
  opens.join();
}

}  // namespace
}  // namespace tlxjit::nvidia

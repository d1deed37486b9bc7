// tests/unit/runtime/keep_kernels.cpp — a program that compiles kernels with a disk cache and tells what that took.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   runtime_keep_kernels <directory> <device> <kernels> [<time to begin at, ms since the epoch>]
//
// Prints `compiles=… disk_hits=… wrong=… nvrtc=…`: the last says whether libnvrtc was loaded.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "tests/unit/runtime/numbers_kernel.h"

namespace {

using namespace tlxjit;
using runtime_test::numbers;

/// For a device that only compiles.
Kernel product(int salt) {
  GemmConfig config = gemm_config("sm_90a");
  config.group = salt + 1;
  return gemm(config);
}

bool right(const Executable& exe, int salt) {
  std::vector<int32_t> x(32, -1);
  if (!exe.launch({tensor<int32_t>(x.data(), {32})})) return false;
  for (int32_t p = 0; p < 32; ++p)
    if (x[static_cast<size_t>(p)] != p + salt) return false;
  return true;
}

bool nvrtc_is_loaded() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("libnvrtc") != std::string::npos) return true;
  return false;
}

int run(const std::string& directory, const std::string& device_name, int kernels) {
  EngineOptions options;
  options.cpu_plugin = TLXJIT_TEST_PLUGIN;
  options.cpu_threads = 1;
  options.cache_directory = directory;
  options.cache_wait = std::chrono::minutes(10);  // no slow machine makes two compile one kernel
  options.read_environment = false;
  if (const char* nvrtc = std::getenv("TLXJIT_NVRTC_DIR")) options.nvrtc_directories = {nvrtc};
  options.log = [](std::string_view line) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  };
  const Engine engine(options);
  auto device = engine.device(device_name);
  if (!device) return std::fprintf(stderr, "%s\n", to_string(device.error()).c_str()), 1;
  int wrong = 0;
  for (int salt = 0; salt < kernels; ++salt) {
    auto exe = engine.compile(device->can_launch() ? numbers(salt) : product(salt), *device);
    if (!exe) std::fprintf(stderr, "%s\n", to_string(exe.error()).c_str());
    wrong += !exe || (device->can_launch() && !right(*exe, salt));
  }
  const EngineCounters c = engine.counters();
  std::printf("compiles=%d disk_hits=%d wrong=%d nvrtc=%d\n", static_cast<int>(c.compiles),
              static_cast<int>(c.disk_hits), wrong, nvrtc_is_loaded() ? 1 : 0);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  if (argc > 4)
    std::this_thread::sleep_until(
        std::chrono::system_clock::time_point(std::chrono::milliseconds(std::atoll(argv[4]))));
  return run(argv[1], argv[2], std::atoi(argv[3]));
}

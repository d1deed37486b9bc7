// tests/unit/runtime/options_test.cpp — options from the environment.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/options_p.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>

namespace tlxjit::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

/// Sets variables for a test's time.
class Options : public testing::Test {
 protected:
  void SetUp() override {
    for (const OptionInfo& option : option_table()) {
      const char* value = std::getenv(option.environment);
      if (value) before_[option.environment] = value;
      unsetenv(option.environment);
    }
  }
  void TearDown() override {
    for (const OptionInfo& option : option_table()) unsetenv(option.environment);
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }
  EngineOptions read(EngineOptions options = {}) {
    faults.clear();
    read_environment(options, faults);
    return options;
  }
  std::vector<std::string> faults;

 private:
  std::map<std::string, std::string> before_;
};

TEST_F(Options, EachIsReadByItsType) {
  setenv("TLXJIT_CPU_PLUGIN", "/a/plugin.so", 1);
  setenv("TLXJIT_NVRTC_DIR", "/nvrtc", 1);
  setenv("TLXJIT_CPU_THREADS", "3", 1);
  setenv("TLXJIT_DISK_CACHE", "0", 1);
  setenv("TLXJIT_CACHE_BYTES", "18446744073709551615", 1);
  setenv("TLXJIT_CACHE_WAIT_MS", "250", 1);
  const EngineOptions options = read();
  EXPECT_EQ(options.cpu_plugin, "/a/plugin.so");
  EXPECT_THAT(options.nvrtc_directories, ElementsAre("/nvrtc"));
  EXPECT_EQ(options.cpu_threads, 3);
  EXPECT_FALSE(options.disk_cache);
  EXPECT_EQ(options.cache_bytes, UINT64_MAX);
  EXPECT_EQ(options.cache_wait, std::chrono::milliseconds(250));
  EXPECT_THAT(faults, SizeIs(0));
}

TEST_F(Options, TheProgramWinsAndFoldersAreAdded) {
  setenv("TLXJIT_CPU_THREADS", "3", 1);
  setenv("TLXJIT_NVRTC_DIR", "/nvrtc", 1);
  EngineOptions options;
  options.cpu_threads = 8;
  options.nvrtc_directories = {"/own"};
  options = read(options);
  EXPECT_EQ(options.cpu_threads, 8);
  EXPECT_THAT(options.nvrtc_directories, ElementsAre("/own", "/nvrtc"));
}

TEST_F(Options, WhatCannotBeReadIsToldAndLeftOut) {
  for (const char* value : {"-1", "many", "3 ", "4294967296", "0x10", "99999999999999999999"}) {
    setenv("TLXJIT_CPU_THREADS", value, 1);
    EXPECT_EQ(read().cpu_threads, 0) << value;
    ASSERT_THAT(faults, SizeIs(1)) << value;
    EXPECT_THAT(faults[0], HasSubstr("TLXJIT_CPU_THREADS is '" + std::string(value) + "', which is left out"));
  }
  unsetenv("TLXJIT_CPU_THREADS");
  setenv("TLXJIT_DISK_CACHE", "no", 1);
  EXPECT_TRUE(read().disk_cache);
  EXPECT_THAT(faults, ElementsAre("TLXJIT_DISK_CACHE is 'no', which is left out: it is 0 or 1"));
}

TEST_F(Options, NamesThatAreNearlyOnesAreTold) {
  const std::pair<const char*, const char*> misspelt[] = {{"TLXJIT_CACHE_BYTE", "TLXJIT_CACHE_BYTES"},
                                                          {"TLXJIT_CPU_THREAD5", "TLXJIT_CPU_THREADS"},
                                                          {"TLXJIT_DIKS_CACHE", "TLXJIT_DISK_CACHE"},
                                                          {"TLXJIT_CACHE_WAITMS", "TLXJIT_CACHE_WAIT_MS"}};
  for (const auto& [name, meant] : misspelt) {
    setenv(name, "0", 1);
    static_cast<void>(read());
    unsetenv(name);
    EXPECT_THAT(faults, ElementsAre(std::string(name) + " is no option, and is left out; " + meant + " is one"));
  }
  for (const char* own : {"TLXJIT_MY_SERVICE", "TLXJIT_", "TLXJIT_CUBLAS_DIR", "XLXJIT_CACHE_BYTES"}) {
    setenv(own, "0", 1);
    static_cast<void>(read());
    unsetenv(own);
    EXPECT_THAT(faults, SizeIs(0)) << own;
  }
}

TEST_F(Options, NothingIsReadWhereTheProgramSaysSo) {
  setenv("TLXJIT_CPU_THREADS", "3", 1);
  EngineOptions options;
  options.read_environment = false;
  EXPECT_EQ(read(options).cpu_threads, 0);
  setenv("TLXJIT_CPU_THREADS", "", 1);
  EXPECT_EQ(read().cpu_threads, 0) << "empty is not set";
}

}  // namespace
}  // namespace tlxjit::runtime

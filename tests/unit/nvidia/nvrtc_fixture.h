// tests/unit/nvidia/nvrtc_fixture.h — NVRTC for tests that need it: where it is promised they fail without it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "backends/nvidia/nvrtc_p.h"

namespace tlxjit::nvidia {

/// The folder that must have NVRTC; "" where none is named (ctest names one unless scripts/setup left NVRTC out).
inline std::string promised_nvrtc() {
  const char* folder = std::getenv("TLXJIT_NVRTC_DIR");
  return folder ? folder : "";
}

/// NVRTC in TLXJIT_NVRTC_DIR; otherwise whichever the machine has.
inline Result<std::shared_ptr<Nvrtc>> test_nvrtc() {
  NvrtcSearch search;
  search.path = promised_nvrtc();
  return Nvrtc::load(search);
}

class WithNvrtc : public testing::Test {
 protected:
  void SetUp() override {
    auto found = test_nvrtc();
    if (!found && !promised_nvrtc().empty())
      FAIL() << to_string(found.error())
             << "\n(scripts/setup brings NVRTC; scripts/setup --without-nvrtc leaves it out)";
    if (!found) GTEST_SKIP() << "NOT RUN: " << to_string(found.error());
    nvrtc = *found;
  }
  std::shared_ptr<Nvrtc> nvrtc;
};

}  // namespace tlxjit::nvidia

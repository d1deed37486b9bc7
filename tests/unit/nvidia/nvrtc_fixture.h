// tests/unit/nvidia/nvrtc_fixture.h — NVRTC for tests that need it; without it they say so and skip.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "backends/nvidia/nvrtc_p.h"

namespace tlxjit::nvidia {

/// The NVRTC that CI pins, by TLXJIT_NVRTC_DIR; otherwise whichever the machine has.
inline Result<std::shared_ptr<Nvrtc>> test_nvrtc() {
  NvrtcSearch search;
  if (const char* folder = std::getenv("TLXJIT_NVRTC_DIR")) search.directories.push_back(folder);
  return Nvrtc::load(search);
}

class WithNvrtc : public testing::Test {
 protected:
  void SetUp() override {
    auto found = test_nvrtc();
    if (!found) GTEST_SKIP() << "NOT RUN: " << to_string(found.error());
    nvrtc = *found;
  }
  std::shared_ptr<Nvrtc> nvrtc;
};

}  // namespace tlxjit::nvidia

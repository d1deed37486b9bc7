// src/runtime/admission_p.h — which keys get versions when there are as many as may be.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Keys that come once get none, so that a storm of them compiles nothing.
class Admission {
 public:
  enum class Answer : uint8_t { yes, no, first_no };

  /// Of a key's hash: yes at the third asking, unless that many others came between that it is forgotten.
  Answer ask(uint64_t hash) {
    if (std::count(knocks_.begin(), knocks_.end(), hash) >= 2) {
      std::replace(knocks_.begin(), knocks_.end(), hash, uint64_t{0});
      return Answer::yes;
    }
    knocks_[next_++ % knocks_.size()] = hash;
    return std::exchange(refused_, true) ? Answer::no : Answer::first_no;
  }

 private:
  std::array<uint64_t, 1024> knocks_{};  // hashes, never 0
  size_t next_ = 0;
  bool refused_ = false;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END

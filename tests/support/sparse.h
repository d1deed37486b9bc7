// tests/support/sparse.h — address space of zeros, for tensors that reach far.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace tlxjit::test {

/// Only the pages touched take memory.
class Sparse {
 public:
  explicit Sparse(size_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) std::abort();
  }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;
  ~Sparse() { munmap(data_, bytes_); }
  template <class T>
  T* of() const {
    return static_cast<T*>(data_);
  }

 private:
  size_t bytes_;
  void* data_;
};

}  // namespace tlxjit::test

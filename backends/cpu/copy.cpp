// backends/cpu/copy.cpp — copies of boxes between tensors and local memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstring>

#include "backends/cpu/context_p.h"
#include "backends/cpu/reduce_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

/// Rows of a box are short: what a call of memcpy takes to find its way would be half of the time.
void copy_row(uint8_t* to, const uint8_t* from, size_t bytes) {
  constexpr size_t chunk = 64;
  if (bytes > 16 * chunk) {
    std::memcpy(to, from, bytes);
    return;
  }
  size_t i = 0;
  for (; i + chunk <= bytes; i += chunk) std::memcpy(to + i, from + i, chunk);
  if (i < bytes) std::memcpy(to + i, from + i, bytes - i);
}

void clear(uint8_t* at, int64_t bytes) {
  if (bytes > 0) std::memset(at, 0, static_cast<size_t>(bytes));
}

struct Copy {
  const Box& box;
  const tlxjit_cpu_tensor& tensor;
  int64_t low[5];  // of the box, the part inside the tensor
  int64_t high[5];
  int64_t at[5];
  int64_t size[6];  // bytes of the local image below each axis

  void axis(int k, int64_t offset, uint8_t* local) const {
    if (k >= 5) return;  // never: ranks end at 5
    if (k == box.rank - 1) return row(offset, local);
    clear_outside(k, local);
    if (k == box.rank - 2) {
      for (int64_t i = low[k]; i < high[k]; ++i) row(offset + (at[k] + i) * tensor.strides[k], local + i * size[k + 1]);
      return;
    }
    for (int64_t i = low[k]; i < high[k]; ++i)
      axis(k + 1, offset + (at[k] + i) * tensor.strides[k], local + i * size[k + 1]);
  }

  void row(int64_t offset, uint8_t* local) const {
    const int k = box.rank - 1;
    clear_outside(k, local);
    auto* global = static_cast<uint8_t*>(tensor.data) + (offset + at[k] + low[k]) * box.bytes;
    const auto bytes = static_cast<size_t>((high[k] - low[k]) * box.bytes);
    if (bytes == 0) return;
    local += low[k] * box.bytes;
    const bool store = box.mode == static_cast<int32_t>(BoxMode::store);
    if (store && box.reduce >= 0)
      return reduce(static_cast<Elem>(box.elem), static_cast<CopyReduction>(box.reduce), global, local,
                    high[k] - low[k]);
    store ? copy_row(global, local, bytes) : copy_row(local, global, bytes);
  }

  /// What is outside reads as 0.
  void clear_outside(int k, uint8_t* local) const {
    if (box.mode != static_cast<int32_t>(BoxMode::load)) return;
    clear(local, low[k] * size[k + 1]);
    clear(local + high[k] * size[k + 1], (box.extent[k] - high[k]) * size[k + 1]);
  }
};

}  // namespace

extern "C" void tlxjit_cpu_copy(const Box* box, const BoxAt* where, const tlxjit_cpu_tensor* tensor, uint8_t* local) {
  Copy copy{*box, *tensor, {}, {}, {}, {}};
  copy.size[box->rank] = box->bytes;
  for (int k = box->rank - 1; k >= 0; --k) {
    int64_t limit = where->dim[k];
    if (k == box->ragged) limit = std::min(limit, where->bound);
    copy.at[k] = where->at[k];
    copy.low[k] = std::clamp<int64_t>(-copy.at[k], 0, box->extent[k]);
    copy.high[k] = std::clamp<int64_t>(limit - copy.at[k], copy.low[k], box->extent[k]);
    copy.size[k] = copy.size[k + 1] * box->extent[k];
  }
  copy.axis(0, 0, local);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END

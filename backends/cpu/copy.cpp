// backends/cpu/copy.cpp — copies of boxes between tensors and local memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstring>

#include "backends/cpu/context_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

struct Copy {
  const Box& box;
  const tlxjit_cpu_tensor& tensor;
  int64_t low[5];  // of the box, the part inside the tensor
  int64_t high[5];
  int64_t at[5];
  int64_t size[6];  // bytes of the local image below each axis

  void axis(int k, int64_t offset, uint8_t* local) const {
    if (k >= 5) return;  // never: ranks end at 5
    const bool last = k == box.rank - 1;
    if (!box.store) {  // what is outside reads as 0
      std::memset(local, 0, static_cast<size_t>(low[k] * size[k + 1]));
      std::memset(local + high[k] * size[k + 1], 0, static_cast<size_t>((box.extent[k] - high[k]) * size[k + 1]));
    }
    if (last) {
      auto* global = static_cast<uint8_t*>(tensor.data) + (offset + at[k] + low[k]) * box.bytes;
      const auto bytes = static_cast<size_t>((high[k] - low[k]) * box.bytes);
      if (bytes == 0) return;
      if (box.store)
        std::memcpy(global, local + low[k] * box.bytes, bytes);
      else
        std::memcpy(local + low[k] * box.bytes, global, bytes);
      return;
    }
    for (int64_t i = low[k]; i < high[k]; ++i)
      axis(k + 1, offset + (at[k] + i) * tensor.strides[k], local + i * size[k + 1]);
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

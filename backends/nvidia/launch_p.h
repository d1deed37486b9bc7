// backends/nvidia/launch_p.h — tensor maps, the parameter buffer and the launch itself.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing here allocates, locks or reads the environment unless it returns an error.
#pragma once

#include <array>
#include <cstring>
#include <type_traits>

#include "backends/nvidia/module_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

enum class TensorElem : uint8_t { u8, u16, u32, i32, u64, i64, f16, f32, f64, bf16 };

/// Bytes of one element.
unsigned size_of(TensorElem elem);

/// A tensor in global memory as a TMA copy sees it; dimension 0 is the contiguous one.
struct TensorMapSpec {
  TensorElem elem = TensorElem::bf16;
  CuDevicePtr base = 0;                    ///< multiple of 16
  uint32_t rank = 0;                       ///< 1 to 5
  std::array<uint64_t, 5> dims{};          ///< elements; 1 to 2^32
  std::array<uint64_t, 4> byte_strides{};  ///< of dimensions 1, 2, …; multiples of 16 below 2^40. Not compared
                                           ///< with the dims: views that overlap or wrap around (2^34 - s) are legal
  std::array<uint32_t, 5> box{};           ///< elements of one copy; 1 to 256
  unsigned swizzle = 0;                    ///< bytes: 0, 32, 64 or 128; the box's inner row must fit
  unsigned l2_promotion = 128;             ///< bytes: 0, 64, 128 or 256
};

/// Checks the spec and encodes it; a fault names the dimension. The caller has a context current: encoding
/// touches no device, yet the driver refuses it without one.
Result<void> encode_tensor_map(const Driver& driver, const TensorMapSpec& spec, CuTensorMap& map);

/// Puts another base address into an encoded map: a quarter of the price of encoding it.
Result<void> replace_address(const Driver& driver, CuTensorMap& map, CuDevicePtr base);

/// Copies of a kernel's parameters, in the order of its signature. The driver gets a pointer to each and places
/// them itself: in cubins made by NVRTC 13 the first parameter need not stand at offset 0.
class ParamBuffer {
 public:
  static constexpr size_t capacity = 4096;  ///< bytes
  static constexpr size_t max_count = 128;  ///< parameters

  /// False when the buffer is full; the kernel must not be launched then.
  bool push(const void* value, size_t size, size_t alignment) {
    const size_t at = (size_ + alignment - 1) / alignment * alignment;
    if (at + size > capacity || count_ == max_count) return false;
    std::memcpy(bytes_ + at, value, size);
    offsets_[count_++] = static_cast<uint16_t>(at);
    size_ = at + size;
    return true;
  }
  template <class T>
  bool push(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return push(&value, sizeof value, alignof(T));
  }
  /// A tensor map is declared `__align__(64)` in generated code, whatever the host's type says.
  bool push(const CuTensorMap& map) { return push(&map, sizeof map, 64); }
  size_t count() const { return count_; }
  /// Parameter i; its size is known to the kernel.
  const std::byte* at(size_t i) const { return bytes_ + offsets_[i]; }

 private:
  alignas(64) std::byte bytes_[capacity];
  std::array<uint16_t, max_count> offsets_;
  size_t size_ = 0;
  size_t count_ = 0;
};

struct LaunchShape {
  std::array<unsigned, 3> grid{1, 1, 1};     ///< blocks; a zero makes the launch empty, which succeeds
  std::array<unsigned, 3> block{1, 1, 1};    ///< threads
  std::array<unsigned, 3> cluster{1, 1, 1};  ///< blocks; the grid must be a multiple
  bool cooperative = false;
  bool overlap_previous = false;  ///< programmatic launch: the kernel waits for the previous grid itself
};

/// Queues the kernel on `stream` with the shared memory it was prepared for.
Result<void> launch(const Function& function, const LaunchShape& shape, CuStream stream, const ParamBuffer& params);

}  // namespace nvidia
TLXJIT_NAMESPACE_END

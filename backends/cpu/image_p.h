// backends/cpu/image_p.h — a compiled kernel as bytes, which load without a compiler.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/cpu/lane_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// The image of a program and of the object file that its code is in. All numbers are 8 bytes, little-endian:
///
///   "tlxcpu 1"
///   words, cluster, resident (0 or 1)
///   shared memory: bytes, gaps
///   count of tasks; of each: op, replicas, stack bytes, arena bytes, gaps
///   count of barrier slots; of each: arrivals
///   count of rings; of each: op, first slot of `full`, of `empty`, slots
///   bytes of the object; zeros up to a multiple of 16 from the start; the object, which ends the image
///
/// `gaps`: their count; of each begin and end, in ascending order, within the bytes before.
std::vector<char> write_image(const Program& program, std::span<const char> object);

/// Fills in all of the program but entries and code, and gives the object, a part of `image`. An empty one: `image` is
/// none, and the program is not to be used.
std::span<const char> read_image(std::span<const char> image, Program& program);

/// The kernel of an image, linked.
tlxjit_cpu_status load_image(std::span<const char> image, Program& program, tlxjit_cpu_failure& failure);

}  // namespace cpu
TLXJIT_NAMESPACE_END

// src/codegen/abi_p.h — the parameters of a compiled kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tlxjit/core/result.h"
#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// A tensor map that the launcher encodes from the tensor given to the call. Extents stand outermost
/// first, as everywhere in the IR; cuTensorMapEncodeTiled wants them innermost first.
struct AbiMap {
  size_t tensor = 0;         ///< index into Abi::tensors
  std::vector<int64_t> box;  ///< elements per axis of one copy; the innermost is cut to the swizzle span
  int swizzle = 0;           ///< 0, 32, 64 or 128 bytes
  int ragged = -1;           ///< the axis whose bound moves with the coordinate, -1: none
  bool store = false;        ///< used by copy.store, else by copy.load

  /// Axes of the encoded map, innermost first:
  ///   ragged < 0: the tensor's axes, sizes from the extents, strides from the call.
  ///   ragged = r: the tensor's axes with axis r's size replaced by 2^30, then two more axes of size
  ///   0x7fff0000, box 1 and byte strides s (axis r's byte stride) and 2^34 − s, in this order. The kernel gives
  ///   axis r the coordinate 2^30 − bound + c, the first extra axis `bound`, the second 2^30: their
  ///   address is that of c modulo 2^64, and coordinates from `bound` on lie outside.
  int rank(size_t tensor_rank) const { return static_cast<int>(tensor_rank) + (ragged >= 0 ? 2 : 0); }
  bool operator==(const AbiMap&) const = default;
};

/// A tensor parameter of the kernel as written; the launcher checks the call's tensor against it.
struct AbiTensor {
  Value value = no_value;  ///< the tensor op's result
  std::string name;
  Elem elem = Elem::none;
  std::vector<Value> extents;  ///< module-level values, outermost first
  bool direct = false;         ///< accessed by address: has a pointer and strides among the parameters
};

struct AbiScalar {
  Value value = no_value;
  std::string name;
  Elem elem = Elem::none;
};

/// How a lowered kernel is launched. Device parameters, in this order, each naturally aligned:
///
///   1. every map of `maps`: 128 bytes, aligned to 64, by value (__grid_constant__)
///   2. for every tensor of `tensors` with `direct`: its address (8 bytes), then its strides in elements, i64,
///      outermost first, without the innermost (which is 1)
///   3. every dim of `dims`: i32
///   4. every scalar of `scalars`: its own size (b1: one byte, 0 or 1)
///   5. if workspace_words > 0: the address of the workspace, 8 bytes
struct Abi {
  std::vector<AbiMap> maps;
  std::vector<AbiTensor> tensors;  ///< all tensors, in the order of their declaration
  std::vector<AbiScalar> dims;     ///< all dims, in the order of their declaration
  std::vector<AbiScalar> scalars;  ///< all scalar parameters, in the order of their declaration
  int64_t workspace_words = 0;     ///< i32 words, zero before the first launch
  int threads = 0;                 ///< per program
  int64_t shared_bytes = 0;        ///< dynamic shared memory, aligned to 1024
  Value grid = no_value;           ///< number of programs, a module-level value; no_value: 1

  /// Index into `tensors`, by the tensor op's result.
  size_t tensor_index(Value tensor) const;
  /// The map of a copy op, as an index into `maps`.
  Result<size_t> map_index(const Module& module, const Op& copy) const;
};

/// Reads a lowered module. Fails with the location of an op whose copy no tensor map can do. Without `tensor_maps`
/// every tensor is accessed by address, and the limits of maps do not apply.
Result<Abi> make_abi(const Module& lowered, bool tensor_maps = true);

/// Elements of the innermost axis that one copy moves, for a buffer of this swizzle: the swizzle span.
int64_t copy_span(int swizzle, Elem elem, int64_t inner_extent);

TLXJIT_NAMESPACE_END

// backends/nvidia/emit/target_p.h — how the emitter's hardware ops become CUDA C++ for Hopper.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/nvidia/emit/ptx_p.h"
#include "src/codegen/emitter_p.h"
#include "src/passes/lower_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

/// A view followed back to its buffer.
struct SharedView {
  const Op* buffer = nullptr;
  std::string address;  ///< of the view's first row, a u32 expression
  Shape stored;         ///< of the whole slot
  bool transposed = false;
};

class HopperTarget final : public GpuTarget {
 public:
  explicit HopperTarget(const Target& facts) : facts_(facts) {}

  // prelude.cpp
  std::string prelude() override;
  std::string signature(Emitter& e, const std::string& name) override;
  void setup(Emitter& e) override;
  void registers(Emitter& e, int count) override;
  std::string elect() override;
  std::string math(Math fn, const std::string& dest, const std::string& a, const std::string& b) override;
  std::string shuffle_xor(const std::string& value, int mask) override;
  std::string program_id() override { return "(i32)blockIdx.x"; }
  std::string num_programs() override { return "(i32)gridDim.x"; }
  void hardware(Emitter& e, const Op& op) override;

 private:
  // barrier.cpp
  std::string barrier_slot(Emitter& e, Value barrier, Value slot);
  void wait(Emitter& e, const Op& op);
  void arrive(Emitter& e, const Op& op);
  void expect(Emitter& e, const Op& op);
  void sync(Emitter& e, const Op& op);

  // copy.cpp
  void copy_load(Emitter& e, const Op& op);
  void copy_store(Emitter& e, const Op& op);
  void copy_drain(Emitter& e, const Op& op);

  // dot.cpp
  void dot(Emitter& e, const Op& op);
  SharedView follow(Emitter& e, const Op& user, Value view);

  // memory.cpp
  void buffer_store(Emitter& e, const Op& op);
  void buffer_put(Emitter& e, const Op& op);
  void buffer_get(Emitter& e, const Op& op);
  void tile_store(Emitter& e, const Op& op);
  void load(Emitter& e, const Op& op);
  void workspace(Emitter& e, const Op& op);

  const Target facts_;
  PtxUses ptx_;
  bool descriptors_ = false;
  bool elects_ = false;
};

/// `base + offset + slot·stride` without the parts that are 0.
std::string shared_address(Emitter& e, int64_t offset, Value slot, int64_t stride);
/// Bytes of one slot of a buffer.
int64_t slot_bytes(const Type& buffer);

}  // namespace nvidia
TLXJIT_NAMESPACE_END

// backends/nvidia/launch.cpp — one kernel launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/launch_p.h"

#include <fmt/format.h>

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

Result<void> launch(const Function& function, const LaunchShape& shape, CuStream stream, const ParamBuffer& params) {
  const auto& [grid, block, cluster, cooperative, overlap_previous] = shape;
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return {};

  CuLaunchAttribute attributes[3];
  CuLaunchConfig config;
  config.attributes = attributes;
  auto add = [&](unsigned id) -> CuLaunchAttribute::Value& {
    attributes[config.attribute_count].id = id;
    return attributes[config.attribute_count++].value;
  };
  if (cluster[0] != 1 || cluster[1] != 1 || cluster[2] != 1) {
    for (int i = 0; i < 3; ++i)
      if (cluster[i] == 0 || grid[i] % cluster[i] != 0)
        return Error{
            ErrorKind::internal,
            Stage::launch,
            ErrorCode::internal_error,
            fmt::format("a grid of {} blocks is not made of clusters of {} in dimension {}", grid[i], cluster[i], i),
            {},
            {},
            {}};
    add(cu_launch_cluster_dimension).cluster = {cluster[0], cluster[1], cluster[2]};
  }
  if (cooperative) add(cu_launch_cooperative).flag = 1;
  if (overlap_previous) add(cu_launch_programmatic_serialization).flag = 1;

  config.grid_x = grid[0];
  config.grid_y = grid[1];
  config.grid_z = grid[2];
  config.block_x = block[0];
  config.block_y = block[1];
  config.block_z = block[2];
  config.shared_bytes = function.shared_bytes;
  config.stream = stream;

  const Context& context = function.module->context();
  const CurrentContext current(context, Stage::launch);
  TLXJIT_TRY(current.status());
  void* pointers[ParamBuffer::max_count];
  for (size_t i = 0; i < params.count(); ++i) pointers[i] = const_cast<std::byte*>(params.at(i));
  return context.driver().check(context.driver().cuLaunchKernelEx(&config, function.handle, pointers, nullptr),
                                "cuLaunchKernelEx", Stage::launch);
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END

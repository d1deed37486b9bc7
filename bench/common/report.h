// bench/common/report.h — results as rows, and the JSON file that holds them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/common/options.h"
#include "tlxjit/runtime/executable.h"

namespace tlxjit::bench {

/// One case against one peer.
struct Row {
  std::string name;  ///< `bf16 TN 8192x8192x8192`
  std::string unit;  ///< `TFLOPS`; `ms` and other times, and `MB`, are better when smaller
  double ours = 0;
  double peer = 0;
  std::string peer_name;  ///< library, version, kernel set
  std::string code;       ///< code_hash of what ran as ours

  /// Above 1 is better for us, whatever the unit.
  double ratio() const;
};

struct Report {
  std::string bench;     ///< `gemm`, `attention`, `compile`
  std::string device;    ///< `NVIDIA H200`
  std::string driver;    ///< `13.0`, or "" where there is none
  std::string compiler;  ///< NVRTC's version and build-ids
  std::string data;      ///< what was computed on, where the cases do not say it
  std::vector<Row> rows{};

  std::string json() const;
  /// Where the options want it: `<bench>-<device>.json`, with `-partial` when cases or rounds were left out.
  std::string path(const Options& options) const;
  /// Writes the file; prints why not and returns false on failure.
  bool write(const Options& options) const;
};

/// Hash of a kernel's source and launch attributes, 16 hexadecimal digits.
std::string code_hash(std::string_view source, const Resources& resources);

/// `NVIDIA H200` → `h200`, `Intel(R) Xeon(R) Processor` → `intel-xeon`.
std::string slug(std::string_view device);

/// As the system tells it, `unknown` where it does not.
std::string cpu_name();
/// Of a CUDA driver's API version, 13000: `580.159.03, CUDA 13.0`, the package's version where the kernel module tells
/// it.
std::string driver_name(int cuda);

}  // namespace tlxjit::bench

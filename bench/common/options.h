// bench/common/options.h — the command line that all benchmarks share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace tlxjit::bench {

struct Options {
  std::string prototypes;  ///< --prototypes FOLDER or TLXJIT_PROTOTYPES: hand-written kernels to compare with
  std::string cublas;      ///< --cublas PATH: libcublas.so.13 or its folder
  std::string out;         ///< --out FOLDER or TLXJIT_RESULTS; a name ending in .json is the file itself
  std::string only;        ///< --case TEXT: cases whose name has TEXT in it
  std::string dump;        ///< --dump FOLDER: generated sources and cubins
  int rounds = 7;          ///< --rounds N
  bool quick = false;      ///< --quick: three rounds
  bool dry_run = false;    ///< --dry-run: everything that needs no device

  /// Whether some rounds or cases are left out: the results are no record then.
  bool partial() const { return quick || !only.empty() || rounds < 7; }
  bool wants(const std::string& name) const { return name.find(only) != std::string::npos; }
};

/// Reads the command line; prints the usage and exits with 2 if it is wrong, with 0 for --help.
Options parse_options(int argc, char** argv, const char* summary);

}  // namespace tlxjit::bench

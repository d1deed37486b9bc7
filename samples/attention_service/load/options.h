// samples/attention_service/load/options.h — the load generator's command line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>

#include "samples/attention_service/call.h"

namespace load {

struct Options {
  std::string host = "127.0.0.1";
  int port = 8080;
  std::string trace, column;         ///< lengths from a CSV file
  double mean = 6.6, deviation = 1;  ///< or e^x of normal x
  int longest = 4096;
  double rate = 20, seconds = 20;
  int shapes = 1;
  int heads = 8, head_size = 64;
  tlxjit::Elem elem = tlxjit::Elem::bf16;
  int threads = 64;
  int checked = 8;
  unsigned seed = 1;
  std::string json;
};

/// Says what is wrong and ends the program where something is, as it does after --help.
Options parse_options(int argc, char** argv);

}  // namespace load

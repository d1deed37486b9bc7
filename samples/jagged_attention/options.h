// samples/jagged_attention/options.h — the command line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tlxjit/kernels/attention.h"

struct Options {
  std::vector<std::string> paths;  ///< files and folders of text
  bool paragraphs = false;         ///< a document is a paragraph and not a file
  std::string lengths;             ///< a file of lengths, instead of texts
  std::string column;              ///< its CSV column
  int64_t limit = 64;              ///< sequences at most
  std::string device;              ///< empty: the best
  int64_t heads = 8;
  int64_t last = -1;  ///< queries: so many words at the end of each document; -1: all
  float scale = 0;    ///< 0: the usual one
  float cap = 0;      ///< of scores; 0: none
  tlxjit::AttentionOptions attention = {.head = 64, .jagged = true};
  int repeat = 3;
};

/// Reads the command line; says what is wrong and ends the program where something is, as it does after --help.
Options parse_options(int argc, char** argv);

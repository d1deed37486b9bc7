// samples/jagged_attention/batch.h — documents as sequences of tokens, one after the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options.h"

/// A jagged batch: document b is tokens offsets[b] … offsets[b + 1] − 1.
struct Batch {
  std::string origin;            ///< for people
  std::vector<uint64_t> tokens;  ///< a hash of each word
  std::vector<int32_t> offsets = {0};

  int64_t documents() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t length(int64_t b) const { return offsets[static_cast<size_t>(b) + 1] - offsets[static_cast<size_t>(b)]; }
  int64_t longest() const;
  /// The last `count` tokens of each document.
  Batch last(int64_t count) const;
};

/// The batch that the options ask for. Ends the program with a message when its files cannot be read.
Batch read_batch(const Options& options);

/// Embeds all tokens: [tokens, heads, size], numbers in (−1, 1) that depend on word, head and element alone.
/// `role` tells q, k and v apart.
std::vector<float> embed(const Batch& batch, int64_t heads, int64_t size, uint64_t role);

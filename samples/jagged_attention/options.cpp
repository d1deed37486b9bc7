// samples/jagged_attention/options.cpp — the command line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "options.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

constexpr const char* usage =
    R"(usage: jagged_attention [option]... [file or folder]...

Reads texts, splits them into documents and these into words, embeds the words by a fixed hash, and runs
self-attention over all documents at once, each attending to itself alone: a batch of sequences of different
lengths, one after the other, without padding. Compares the result with float64.
Without a file or folder: README.md and docs of the present folder or of the tlxjit source.

  --paragraphs       a document is a paragraph (blank lines between them), not a file
  --lengths FILE     sequence lengths from a list (one a line) or a CSV file; the words are then made up
  --column NAME      the column of the CSV file; left out, its first
  --limit N          at most N sequences, the first ones (64; 0: all)
  --device NAME      cpu, cuda:0, ...; left out, the best there is
  --causal           a word attends to itself and those before it
  --heads N          attention heads (8)
  --head-size N      64 or 128 elements (64)
  --repeat N         timed runs; the fastest is shown (3)
  --help             this text

Exit status: 0 the result is right; 1 it is not, or something failed; 2 the command line is wrong.
)";

[[noreturn]] void refuse(const std::string& message) {
  std::fprintf(stderr, "jagged_attention: %s (--help says how)\n", message.c_str());
  std::exit(2);
}

int64_t number(const std::string& option, const char* text, int64_t least, int64_t most) {
  char* end = nullptr;
  const long long value = std::strtoll(text, &end, 10);
  if (end == text || *end != 0 || value < least || value > most)
    refuse(option + " takes a number from " + std::to_string(least) + " to " + std::to_string(most) + ", not '" + text +
           "'");
  return value;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    const auto value = [&]() -> const char* {
      if (i + 1 >= argc) refuse(word + " wants a value");
      return argv[++i];
    };
    if (word == "--help" || word == "-h") {
      std::fputs(usage, stdout);
      std::exit(0);
    } else if (word == "--paragraphs") {
      o.paragraphs = true;
    } else if (word == "--causal") {
      o.causal = true;
    } else if (word == "--lengths") {
      o.lengths = value();
    } else if (word == "--column") {
      o.column = value();
    } else if (word == "--device") {
      o.device = value();
    } else if (word == "--limit") {
      o.limit = number(word, value(), 0, INT32_MAX);
    } else if (word == "--heads") {
      o.heads = number(word, value(), 1, 1024);
    } else if (word == "--repeat") {
      o.repeat = static_cast<int>(number(word, value(), 1, 10000));
    } else if (word == "--head-size") {
      o.head_size = static_cast<int>(number(word, value(), 64, 128));
      if (o.head_size != 64 && o.head_size != 128) refuse("--head-size is 64 or 128");
    } else if (word.size() > 1 && word[0] == '-') {
      refuse("there is no option " + word);
    } else {
      o.paths.push_back(word);
    }
  }
  if (!o.column.empty() && o.lengths.empty()) refuse("--column goes with --lengths");
  if (!o.lengths.empty() && !o.paths.empty()) refuse("--lengths takes the place of texts; give one of them");
  return o;
}

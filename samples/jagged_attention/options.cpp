// samples/jagged_attention/options.cpp — the command line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "options.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

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
  --repeat N         timed runs; the fastest is shown (3)
  --help             this text

What is computed:

  --causal [CORNER]  a word attends to itself and those before it; CORNER as in --corner
  --window B,A       a word attends to B words before it and A behind it; `all` for no limit
  --last N           only the last N words of a document attend, to all of them: generating text
  --corner CORNER    with --last, the diagonal of --causal and --window: bottom-right (the last word attends up to
                     the last word) or top-left (the first of those that attend stands beside the first word)
  --heads N          attention heads (8)
  --heads-kv N       heads of keys and values, a divisor of --heads, which share them (as many as --heads)
  --head-size N      elements of a head, a multiple of 8 from 16 to 256 (64)
  --value-size N     elements of a value's head, if others
  --dtype TYPE       bf16, f16 or f32 (bf16)
  --scale X          of scores (1/sqrt(head size))
  --soft-cap X       scores become X tanh(score / X)
  --offsets TYPE     i32 or i64 (i32)
  --no-lse           leave out the logarithms of the sums

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

float real(const std::string& option, const char* text) {
  char* end = nullptr;
  const float value = std::strtof(text, &end);
  if (end == text || *end != 0 || !(value > 0) || value > 1e30f)
    refuse(option + " takes a number above 0, not '" + text + "'");
  return value;
}

/// One of the names of a table; nullptr if it is none.
template <class T, size_t n>
const T* find(const std::pair<const char*, T> (&table)[n], std::string_view name) {
  for (const auto& [known, value] : table)
    if (name == known) return &value;
  return nullptr;
}

constexpr std::pair<const char*, tlxjit::Corner> corners[] = {{"top-left", tlxjit::Corner::top_left},
                                                              {"bottom-right", tlxjit::Corner::bottom_right}};
constexpr std::pair<const char*, tlxjit::Elem> elements[] = {
    {"bf16", tlxjit::Elem::bf16}, {"f16", tlxjit::Elem::f16}, {"f32", tlxjit::Elem::f32}};
constexpr std::pair<const char*, tlxjit::Elem> integers[] = {{"i32", tlxjit::Elem::i32}, {"i64", tlxjit::Elem::i64}};

template <class T, size_t n>
T choice(const std::string& option, const std::pair<const char*, T> (&table)[n], const char* text) {
  if (const T* found = find(table, text)) return *found;
  std::string names;
  for (const auto& entry : table) names += (names.empty() ? "" : ", ") + std::string(entry.first);
  refuse(option + " is one of " + names + ", not '" + text + "'");
}

void window(tlxjit::AttentionOptions& a, const std::string& text) {
  const size_t comma = text.find(',');
  if (comma == std::string::npos) refuse("--window takes two numbers, say 128,0, not '" + text + "'");
  const auto limit = [](const std::string& side) {
    return side == "all" ? -1 : static_cast<int>(number("--window", side.c_str(), 0, 1 << 30));
  };
  a.left = limit(text.substr(0, comma));
  a.right = limit(text.substr(comma + 1));
}

int head_size(const std::string& option, const char* text) {
  const auto size = static_cast<int>(number(option, text, 16, 256));
  if (size % 8) refuse(option + " is a multiple of 8, not " + text);
  return size;
}

/// What only makes sense, or not, with other options.
void complete(Options& o, int64_t key_heads) {
  tlxjit::AttentionOptions& a = o.attention;
  if (!o.column.empty() && o.lengths.empty()) refuse("--column goes with --lengths");
  if (!o.lengths.empty() && !o.paths.empty()) refuse("--lengths takes the place of texts; give one of them");
  if (a.causal && a.right > 0) refuse("--causal leaves no words behind; --window " + std::to_string(a.right) + " does");
  if (key_heads == 0) key_heads = o.heads;
  if (o.heads % key_heads)
    refuse("--heads-kv " + std::to_string(key_heads) + " does not divide --heads " + std::to_string(o.heads));
  a.group = static_cast<int>(o.heads / key_heads);
  a.self = o.last < 0;
  a.soft_cap = o.cap > 0;
  if (o.scale == 0) o.scale = tlxjit::attention_scale(a);
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options o;
  tlxjit::AttentionOptions& a = o.attention;
  int64_t key_heads = 0;
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
      a.causal = true;
      if (const auto* corner = i + 1 < argc ? find(corners, argv[i + 1]) : nullptr) a.corner = *corner, ++i;
    } else if (word == "--window") {
      window(a, value());
    } else if (word == "--last") {
      o.last = number(word, value(), 0, INT32_MAX);
    } else if (word == "--corner") {
      a.corner = choice(word, corners, value());
    } else if (word == "--dtype") {
      a.elem = choice(word, elements, value());
    } else if (word == "--offsets") {
      a.offsets = choice(word, integers, value());
    } else if (word == "--scale") {
      o.scale = real(word, value());
    } else if (word == "--soft-cap") {
      o.cap = real(word, value());
    } else if (word == "--no-lse") {
      a.lse = false;
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
    } else if (word == "--heads-kv") {
      key_heads = number(word, value(), 1, 1024);
    } else if (word == "--head-size") {
      a.head = head_size(word, value());
    } else if (word == "--value-size") {
      a.value_head = head_size(word, value());
    } else if (word.size() > 1 && word[0] == '-') {
      refuse("there is no option " + word);
    } else {
      o.paths.push_back(word);
    }
  }
  complete(o, key_heads);
  return o;
}

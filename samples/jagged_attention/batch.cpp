// samples/jagged_attention/batch.cpp — texts, lists of lengths, and the embedding.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "jagged_attention: %s\n", message.c_str());
  std::exit(1);
}

/// Mixes bits well (the finaliser of SplitMix64, Steele, Lea and Flood, 2014).
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

void add_document(Batch& batch, const std::vector<uint64_t>& tokens) {
  if (batch.tokens.size() + tokens.size() > INT32_MAX) fail("more than 2^31 tokens; use --limit");
  batch.tokens.insert(batch.tokens.end(), tokens.begin(), tokens.end());
  batch.offsets.push_back(static_cast<int32_t>(batch.tokens.size()));
}

bool full(const Batch& batch, const Options& options) {
  return options.limit > 0 && batch.documents() >= options.limit;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Words: letters, digits and whatever is not ASCII; the rest separates. ASCII letters lose their case.
std::vector<uint64_t> words(std::string_view text) {
  std::vector<uint64_t> tokens;
  uint64_t hash = 0;
  bool inside = false;
  const auto end = [&] {
    if (inside) tokens.push_back(hash);
    inside = false;
  };
  for (char c : text) {
    const auto u = static_cast<unsigned char>(c);
    const bool upper = u >= 'A' && u <= 'Z';
    if (!upper && !(u >= 'a' && u <= 'z') && !(u >= '0' && u <= '9') && u < 0x80) {
      end();
      continue;
    }
    if (!inside) hash = 0xcbf29ce484222325u;  // FNV-1a
    inside = true;
    hash = (hash ^ (upper ? u + 32u : u)) * 0x100000001b3u;
  }
  end();
  return tokens;
}

void add_text(Batch& batch, const std::string& text, const Options& options) {
  if (!options.paragraphs) {
    if (!full(batch, options)) add_document(batch, words(text));
    return;
  }
  std::string paragraph;
  const auto flush = [&] {
    if (auto tokens = words(paragraph); !tokens.empty() && !full(batch, options)) add_document(batch, tokens);
    paragraph.clear();
  };
  for (size_t at = 0; at < text.size();) {
    size_t stop = text.find('\n', at);
    if (stop == std::string::npos) stop = text.size();
    const std::string_view line(text.data() + at, stop - at);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos)
      flush();
    else
      paragraph.append(line).push_back('\n');
    at = stop + 1;
  }
  flush();
}

/// The text files at or under `path`, in order of their names.
std::vector<fs::path> files_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (!fs::exists(path, error)) fail("there is no " + path.string());
    return {path};
  }
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator it(path, error), last; !error && it != last; it.increment(error))
    if (it->is_regular_file(error)) files.push_back(it->path());
  if (error) fail("cannot list " + path.string() + ": " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> default_paths() {
  for (const fs::path& root : {fs::path("."), fs::path(TLXJIT_SAMPLE_TEXTS)}) {
    std::error_code error;
    if (!fs::exists(root / "README.md", error)) continue;
    std::vector<std::string> paths{(root / "README.md").string()};
    if (fs::is_directory(root / "docs", error)) paths.push_back((root / "docs").string());
    return paths;
  }
  fail("there is neither README.md nor docs here; name files or folders of text, or --lengths FILE");
}

/// The fields of a line of CSV; quotes may stand round a field.
std::vector<std::string> fields(std::string_view line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      out.back() += line[i++];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else if (c != '\r')
      out.back() += c;
  }
  for (std::string& field : out) {
    field.erase(0, std::min(field.find_first_not_of(" \t"), field.size()));
    field.erase(field.find_last_not_of(" \t") + 1);
  }
  return out;
}

bool parse(const std::string& text, int64_t& n) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() && n >= 0 && n <= INT32_MAX;
}

Batch read_lengths(const Options& options) {
  Batch batch;
  std::ifstream in(options.lengths);
  if (!in) fail("cannot read " + options.lengths);
  std::string line;
  size_t column = 0, rows = 0;
  for (size_t number = 1; std::getline(in, line); ++number) {
    const auto row = fields(line);
    if (row.size() == 1 && row[0].empty()) continue;
    int64_t n = 0;
    if (number == 1 && (!options.column.empty() || !parse(row[0], n))) {  // a header
      const auto found = std::find(row.begin(), row.end(), options.column);
      if (!options.column.empty() && found == row.end())
        fail(options.lengths + " has no column '" + options.column + "'; its first line is: " + line);
      if (!options.column.empty()) column = static_cast<size_t>(found - row.begin());
      continue;
    }
    if (column >= row.size() || !parse(row[column], n))
      fail(options.lengths + ":" + std::to_string(number) + ": no length in '" + line + "'");
    ++rows;
    if (full(batch, options)) continue;
    std::vector<uint64_t> tokens(static_cast<size_t>(n));
    // Words come back after a while, as in texts.
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = mix(static_cast<uint64_t>(batch.documents()) << 32 | i) % 5000;
    add_document(batch, tokens);
  }
  batch.origin = options.lengths;
  if (static_cast<int64_t>(rows) > batch.documents())
    batch.origin +=
        ", the first " + std::to_string(batch.documents()) + " of " + std::to_string(rows) + " lengths (--limit)";
  return batch;
}

}  // namespace

int64_t Batch::longest() const {
  int64_t most = 0;
  for (int64_t b = 0; b < documents(); ++b) most = std::max(most, length(b));
  return most;
}

Batch Batch::last(int64_t count) const {
  Batch ends;
  for (int64_t b = 0; b < documents(); ++b) {
    const auto end = tokens.begin() + offsets[static_cast<size_t>(b) + 1];
    ends.tokens.insert(ends.tokens.end(), end - std::min(count, length(b)), end);
    ends.offsets.push_back(static_cast<int32_t>(ends.tokens.size()));
  }
  return ends;
}

Batch read_batch(const Options& options) {
  if (!options.lengths.empty()) return read_lengths(options);
  Batch batch;
  const auto paths = options.paths.empty() ? default_paths() : options.paths;
  for (const std::string& path : paths) {
    batch.origin += (batch.origin.empty() ? "" : ", ") + path;
    for (const fs::path& file : files_of(path)) {
      const std::string text = read_file(file);
      if (text.find('\0') != std::string::npos) continue;  // no text
      add_text(batch, text, options);
    }
  }
  if (full(batch, options)) batch.origin += ", the first " + std::to_string(options.limit) + " documents (--limit)";
  return batch;
}

std::vector<float> embed(const Batch& batch, int64_t heads, int64_t size, uint64_t role) {
  std::vector<float> out(batch.tokens.size() * static_cast<size_t>(heads * size));
  size_t at = 0;
  for (uint64_t token : batch.tokens)
    for (int64_t h = 0; h < heads; ++h) {
      uint64_t state = mix(token ^ mix(role << 32 | static_cast<uint64_t>(h)));
      for (int64_t d = 0; d < size; d += 4) {
        state = mix(state);
        for (int part = 0; part < 4; ++part) {
          const auto bits = static_cast<int32_t>(state >> (16 * part) & 0xffff) - 0x8000;
          out[at++] = static_cast<float>(bits) / 0x8000;
        }
      }
    }
  return out;
}

// backends/nvidia/image.cpp — a compiled kernel as bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/image_p.h"

#include <cstdint>
#include <string_view>

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {
namespace {

constexpr std::string_view magic = "tlxcuda1";
constexpr size_t size_bytes = 8;

void put(std::vector<char>& out, std::span<const char> bytes) {
  for (size_t i = 0; i < size_bytes; ++i) out.push_back(static_cast<char>(uint64_t{bytes.size()} >> 8 * i));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

/// False where less is left.
template <class Bytes>
bool take(std::span<const char>& left, Bytes& bytes) {
  if (left.size() < size_bytes) return false;
  uint64_t size = 0;
  for (size_t i = 0; i < size_bytes; ++i) size |= uint64_t{static_cast<unsigned char>(left[i])} << 8 * i;
  left = left.subspan(size_bytes);
  if (size > left.size()) return false;
  bytes.assign(left.begin(), left.begin() + static_cast<ptrdiff_t>(size));
  left = left.subspan(size);
  return true;
}

}  // namespace

std::vector<char> write_image(const Image& image) {
  std::vector<char> out(magic.begin(), magic.end());
  out.reserve(out.size() + 4 * size_bytes + image.entry.size() + image.log.size() + image.source.size() +
              image.cubin.size());
  put(out, image.entry);
  put(out, image.log);
  put(out, image.source);
  put(out, image.cubin);
  return out;
}

std::optional<Image> read_image(std::span<const char> bytes) {
  if (!std::string_view(bytes.data(), bytes.size()).starts_with(magic)) return {};
  bytes = bytes.subspan(magic.size());
  Image image;
  const bool whole =
      take(bytes, image.entry) && take(bytes, image.log) && take(bytes, image.source) && take(bytes, image.cubin);
  if (!whole || !bytes.empty() || image.cubin.empty()) return {};
  return image;
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END

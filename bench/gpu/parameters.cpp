// bench/gpu/parameters.cpp — launches, and the parameters that a cubin declares.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/gpu/parameters.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tlxjit::bench {
namespace {

template <class T>
T read(const std::vector<char>& bytes, size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The section of that name; size 0 if there is none.
Elf64_Shdr find_section(const std::vector<char>& cubin, const std::string& name) {
  const auto header = read<Elf64_Ehdr>(cubin, 0);
  const auto section = [&](size_t i) { return read<Elf64_Shdr>(cubin, header.e_shoff + i * sizeof(Elf64_Shdr)); };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr s = section(i);
    const size_t at = names.sh_offset + s.sh_name;
    if (at < cubin.size() && name == cubin.data() + at && s.sh_offset + s.sh_size <= cubin.size()) return s;
  }
  return {};
}

Error fault(std::string message) {
  Error error;
  error.stage = Stage::launch;
  error.message = std::move(message);
  return error;
}

}  // namespace

Result<void> launch_kernel(const nvidia::Function& function, unsigned grid, unsigned threads, nvidia::CuStream stream,
                           const Parameters& parameters) {
  static const bool as_buffer = std::getenv("TLXJIT_BENCH_BUFFER") != nullptr;
  if (as_buffer) {
    nvidia::LaunchShape shape;
    shape.grid[0] = grid;
    shape.block[0] = threads;
    return nvidia::launch(function, shape, stream, parameters.buffer().bytes());
  }
  if (grid == 0) return {};
  void* pointers[64];
  const auto& offsets = parameters.offsets();
  if (offsets.size() > std::size(pointers)) return fault("more than 64 parameters");
  auto* bytes = const_cast<std::byte*>(parameters.buffer().bytes().data());
  for (size_t i = 0; i < offsets.size(); ++i) pointers[i] = bytes + offsets[i];
  nvidia::CuLaunchConfig config;
  config.grid_x = grid;
  config.block_x = threads;
  config.shared_bytes = function.shared_bytes;
  config.stream = stream;
  const nvidia::Driver& driver = function.module->context().driver();
  return driver.check(driver.cuLaunchKernelEx(&config, function.handle, pointers, nullptr), "cuLaunchKernelEx",
                      Stage::launch);
}

std::vector<DeclaredParameter> declared_parameters(const std::vector<char>& cubin, const std::string& entry) {
  constexpr uint8_t with_bytes = 0x04, parameter = 0x17;  // EIFMT_SVAL, EIATTR_KPARAM_INFO
  const Elf64_Shdr info = find_section(cubin, ".nv.info." + entry);
  std::vector<std::pair<uint16_t, DeclaredParameter>> found;
  for (size_t at = info.sh_offset; at + 4 <= info.sh_offset + info.sh_size;) {
    const auto format = read<uint8_t>(cubin, at), attribute = read<uint8_t>(cubin, at + 1);
    const auto size = read<uint16_t>(cubin, at + 2);
    // index u32, number u16, offset u16, flags u32 with the size from bit 18 on
    if (format == with_bytes && attribute == parameter && size >= 12)
      found.push_back(
          {read<uint16_t>(cubin, at + 8), {read<uint16_t>(cubin, at + 10), read<uint32_t>(cubin, at + 12) >> 18}});
    at += format == with_bytes ? 4u + size : 4u;
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<DeclaredParameter> declared;
  for (const auto& [number, p] : found) declared.push_back(p);
  return declared;
}

Result<void> check_parameters(const Parameters& parameters, const std::vector<DeclaredParameter>& declared) {
  const auto& offsets = parameters.offsets();
  if (offsets.size() != declared.size())
    return fault(fmt::format("{} parameters are packed, the cubin declares {}", offsets.size(), declared.size()));
  const size_t total = parameters.buffer().bytes().size();
  for (size_t i = 0; i < offsets.size(); ++i) {
    const size_t place = declared[i].offset - declared[0].offset;
    const size_t end = i + 1 < offsets.size() ? offsets[i + 1] : total;
    if (offsets[i] != place || offsets[i] + declared[i].size > end)
      return fault(fmt::format("parameter {} is packed at {} and ends before {}; the cubin declares {} bytes at {}", i,
                               offsets[i], end, declared[i].size, place));
  }
  return {};
}

}  // namespace tlxjit::bench

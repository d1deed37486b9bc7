// tests/unit/nvidia/library_cubin_test.cpp — cubins of the library's kernels: parameters as Abi says, known opcodes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elf.h>

#include <cstring>
#include <map>

#include "backends/nvidia/emit/emit_p.h"
#include "backends/nvidia/sass_p.h"
#include "src/passes/lower_p.h"
#include "tests/unit/nvidia/nvrtc_fixture.h"
#include "tlxjit/kernels/attention.h"
#include "tlxjit/kernels/gemm.h"

namespace tlxjit::nvidia {
namespace {

template <class T>
T read(std::span<const char> bytes, size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Sizes of the parameters that a cubin declares for a kernel, in the order of its signature: `.nv.info.<entry>` is a
/// list of {format, attribute, size, value}, EIATTR_KPARAM_INFO's value {u32, u16 number, u16 offset, u32 flags}.
std::vector<size_t> declared_sizes(std::span<const char> cubin, const std::string& entry) {
  constexpr uint8_t with_bytes = 0x04, parameter = 0x17;
  const auto header = read<Elf64_Ehdr>(cubin, 0);
  const auto section = [&](size_t i) { return read<Elf64_Shdr>(cubin, header.e_shoff + i * sizeof(Elf64_Shdr)); };
  const Elf64_Shdr names = section(header.e_shstrndx);
  std::map<uint16_t, size_t> found;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr info = section(i);
    const size_t name = names.sh_offset + info.sh_name;
    if (name >= cubin.size() || ".nv.info." + entry != cubin.data() + name) continue;
    for (size_t at = info.sh_offset; at + 4 <= info.sh_offset + info.sh_size;) {
      const auto format = read<uint8_t>(cubin, at), attribute = read<uint8_t>(cubin, at + 1);
      if (format == with_bytes && attribute == parameter)
        found[read<uint16_t>(cubin, at + 8)] = read<uint32_t>(cubin, at + 12) >> 18;
      at += format == with_bytes ? 4u + read<uint16_t>(cubin, at + 2) : 4u;
    }
  }
  std::vector<size_t> sizes;
  for (const auto& [number, size] : found) sizes.push_back(size);
  return sizes;
}

/// What a launch passes, as abi_p.h describes it.
std::vector<size_t> passed_sizes(const Abi& abi) {
  std::vector<size_t> sizes(abi.maps.size(), 128);
  for (const AbiTensor& tensor : abi.tensors)
    if (tensor.direct) sizes.insert(sizes.end(), tensor.extents.size(), 8);  // the address and all strides but one
  sizes.insert(sizes.end(), abi.dims.size(), 4);
  for (const AbiScalar& scalar : abi.scalars) sizes.push_back(static_cast<size_t>(bytes(scalar.elem)));
  if (abi.workspace_words > 0) sizes.push_back(8);
  return sizes;
}

class LibraryCubin : public WithNvrtc {
 protected:
  void check(const Kernel& kernel) {
    const auto module = kernel.module();
    ASSERT_TRUE(module) << to_string(module.error());
    const auto lowered = lower(*module, *find_target("sm_90a"));
    ASSERT_TRUE(lowered) << to_string(lowered.error());
    const auto abi = make_abi(*lowered);
    ASSERT_TRUE(abi) << to_string(abi.error());
    const auto emitted = emit_cuda(*lowered);
    ASSERT_TRUE(emitted) << to_string(emitted.error());
    const auto made = nvrtc->compile(emitted->source, emitted->entry, "sm_90a");
    ASSERT_TRUE(made) << to_string(made.error());
    EXPECT_EQ(declared_sizes(made->cubin, emitted->entry), passed_sizes(*abi));
    const auto sass = inspect_cubin(made->cubin, emitted->entry);
    ASSERT_TRUE(sass) << to_string(sass.error());
    for (const auto& [name, count] : sass->counts)
      EXPECT_FALSE(name.starts_with("OP_")) << name << " has no row in sass_opcodes.def; " << count << " times";
  }
};

TEST_F(LibraryCubin, Gemm) {
  for (const Elem elem : {Elem::bf16, Elem::f16}) check(gemm(gemm_config("sm_90a", elem)));
}

TEST_F(LibraryCubin, Attention) {
  for (const int head : {64, 128})
    for (const bool causal : {false, true})
      for (const bool jagged : {false, true}) {
        SCOPED_TRACE(testing::Message() << "head " << head << " causal " << causal << " jagged " << jagged);
        check(attention(attention_config("sm_90a", {.head = head, .causal = causal, .jagged = jagged})));
      }
}

}  // namespace
}  // namespace tlxjit::nvidia

// tests/unit/nvidia/sass_test.cpp — opcodes, branch targets and loops of hand-picked instructions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/sass_p.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

using namespace tlxjit;
using namespace tlxjit::nvidia;

namespace {

constexpr SassInstruction nop{0x0000000000007918, 0x000fc00000000000};
constexpr SassInstruction exit_always{0x000000000000794d, 0x000fea0003800000};
constexpr SassInstruction hgmma{0x00000000000079f0, 0};
constexpr SassInstruction membar{0x0000000000007992, 0x0005ec0000008000};

// A branch as ptxas encodes it: distance in units of 4 bytes, eight low bits apart from the rest.
SassInstruction branch(int from, int to, bool conditional) {
  const auto words = uint64_t(int64_t(to - from - 1) * 4);
  const uint64_t guard = conditional ? 0x8 : 0x7;
  return {0x947 | guard << 12 | (words & 0xff) << 16 | (words >> 8) << 34, 0x000fea0003800000};
}

int size_of_body(const SassLoop& loop) { return std::accumulate(loop.in_body.begin(), loop.in_body.end(), 0); }

TEST(Sass, MnemonicsAsNvdisasmNamesThem) {
  EXPECT_EQ(sass_mnemonic({0x00000000020d72ca, 0x002fce00000e0000}), "R2UR");
  EXPECT_EQ(sass_mnemonic({0x00000000000079c3, 0x000ea20000002500}), "S2UR");
  EXPECT_EQ(sass_mnemonic({0x00000000000079c5, 0x000fc40000000000}), "WARPGROUP.ARRIVE");
  EXPECT_EQ(sass_mnemonic({0x00008000000079c5, 0x000fe40000010100}), "WARPGROUP.DEPBAR");
  EXPECT_EQ(sass_mnemonic({0x000000f0000079c8, 0x000e640008000600}), "USETMAXREG.ALLOC");
  EXPECT_EQ(sass_mnemonic({0x00000018000079c8, 0x000e4000080e0500}), "USETMAXREG.DEALLOC");
  EXPECT_EQ(sass_mnemonic({0x0000000000007992, 0x0005ec0000008000}), "MEMBAR.CTA");
  EXPECT_EQ(sass_mnemonic({0x0000000000007992, 0x004fec000000a000}), "MEMBAR.GPU");
  EXPECT_EQ(sass_mnemonic({0x0000000000007992, 0x010fec000000b000}), "MEMBAR.SYS");
  EXPECT_EQ(sass_mnemonic({0x0000001159597c23, 0x100fe2000800080a}), "FFMA");       // R89, R89, UR17, -R10
  EXPECT_EQ(sass_mnemonic({0x00000011070a7c20, 0x000fe20008400000}), "FMUL");       // R10, R7, UR17
  EXPECT_EQ(sass_mnemonic({0x0000002700007c13, 0x000fe20008000000}), "IABS");       // R0, UR39
  EXPECT_EQ(sass_mnemonic({0x0000000405107246, 0x004fe20003800110}), "VIADDMNMX");  // R16, R5, R4, R16, PT
  EXPECT_EQ(sass_mnemonic({0x0000000f00107248, 0x000fe20003fe0000}), "VIMNMX");     // .U32 R16, R0, R15, PT
  EXPECT_EQ(sass_mnemonic({0x01800c0802007388, 0x0003e20000000800}), "STS");        // [R2+0x1800c], R8
  EXPECT_EQ(sass_mnemonic({0xfffffe801c1c74a4, 0x000fd8000f8e0209}), "UIMAD");      // UR28, UR28, UR9, -0x180
  EXPECT_EQ(sass_mnemonic({0x000000000000789c, 0x000fd60003f0e870}), "UPLOP3");
  EXPECT_EQ(sass_mnemonic({0x0000000000007946, 0x000fea0003800000}), "YIELD");
  EXPECT_EQ(sass_mnemonic({0x0000000000007948, 0x000fea0003800000}), "WARPSYNC");
  EXPECT_EQ(sass_mnemonic({0xfff, 0}), "OP_0xfff");
}

TEST(Sass, TargetsAsNvdisasmPrintsThem) {
  EXPECT_EQ(sass_target({0xfffffffd00ec0947, 0x004fea000393ffff}, 0x31), 0x2d);  // @P0 BRA.U.ANY, backwards
  EXPECT_EQ(sass_target({0x0000000400807944, 0x020fea0003c00000}, 0x84), 0xe5);  // CALL.REL.NOINC
  EXPECT_EQ(sass_target({0x0000028000007945, 0x000fe20003800000}, 0x04), 0x2d);  // BSSY
  EXPECT_EQ(sass_target(nop, 7), -1);
  for (int to : {0, 3, 9, 10, 500}) EXPECT_EQ(sass_target(branch(9, to, true), 9), to);
}

TEST(Sass, NestedLoopsAreTwoLoops) {
  //           0    1      2      3           4            5
  const SassInstruction code[] = {nop, hgmma, branch(2, 1, true), membar, branch(4, 0, true), exit_always};
  const auto loops = sass_loops(code);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].header, 0);
  EXPECT_EQ(size_of_body(loops[0]), 5);
  EXPECT_EQ(loops[1].header, 1);
  EXPECT_EQ(size_of_body(loops[1]), 2);
}

// ptxas moves the retry of a wait behind the exit. The branch back from there spans the epilogue in
// addresses, and must not put it into the loop.
TEST(Sass, OutlinedRetryDoesNotEncloseTheEpilogue) {
  //                              0    1 header           2      3                   4       5            6 retry
  const SassInstruction code[] = {nop,    branch(1, 6, true), hgmma, branch(3, 1, true),
                                  membar, exit_always,        nop,   branch(7, 2, false)};
  const auto loops = sass_loops(code);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].header, 1);
  EXPECT_FALSE(loops[0].in_body[4]);
  EXPECT_FALSE(loops[0].in_body[5]);
  EXPECT_TRUE(loops[0].in_body[6]);
  EXPECT_EQ(size_of_body(loops[0]), 5);
}

TEST(Sass, NothingFollowsAnUnconditionalExit) {
  const SassInstruction code[] = {nop, exit_always, hgmma, branch(3, 0, false)};
  EXPECT_TRUE(sass_loops(code).empty());
  EXPECT_TRUE(sass_loops({}).empty());
}

TEST(Sass, CountsVariantsByPrefix) {
  SassReport report;
  report.counts = {{"MEMBAR.CTA", 2}, {"MEMBAR.GPU", 1}, {"BAR", 7}, {"R2UR", 4}};
  EXPECT_EQ(report.count("MEMBAR"), 3);
  EXPECT_EQ(report.count("MEMBAR.GPU"), 1);
  EXPECT_EQ(report.count("R2"), 0);
  EXPECT_EQ(report.count("BAR"), 7);
}

std::string fault_of(const std::vector<char>& bytes, std::string_view kernel = {}) {
  auto report = inspect_cubin(bytes, kernel);
  return report ? "" : report.error().message;
}

TEST(Sass, RefusesWhatIsNoCubin) {
  EXPECT_EQ(fault_of({}), "cannot read the cubin: not an ELF file");
  EXPECT_EQ(fault_of(std::vector<char>(64, 'x')), "cannot read the cubin: not an ELF file");
  std::vector<char> header(64, 0);
  std::memcpy(header.data(), "\177ELF\2\1\1", 7);
  EXPECT_EQ(fault_of(header), "cannot read the cubin: not a 64-bit CUDA ELF file");
  header[18] = char(190);  // EM_CUDA
  EXPECT_EQ(fault_of(header), "cannot read the cubin: not for sm_90");
  header[49] = 90;  // e_flags: sm_90
  EXPECT_EQ(fault_of(header), "cannot read the cubin: no section names");
  header[60] = 4;  // four sections at offset 0x7f…, which is not there
  std::memset(header.data() + 40, 0x7f, 8);
  EXPECT_EQ(fault_of(header), "cannot read the cubin: section headers are cut off");
}

/// A cubin with the names of its sections and a section of so many zero bytes for each of them.
std::vector<char> cubin_of(const std::vector<std::pair<std::string, size_t>>& sections) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> headers(1);
  size_t at = sizeof(Elf64_Ehdr);
  for (const auto& [name, size] : sections) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<Elf64_Word>(names.size());
    header.sh_type = SHT_PROGBITS;
    header.sh_offset = at;
    header.sh_size = size;
    names += name + '\0';
    at += size;
    headers.push_back(header);
  }
  headers[0].sh_type = SHT_STRTAB;
  headers[0].sh_offset = at;
  headers[0].sh_size = names.size();
  Elf64_Ehdr elf{};
  std::memcpy(elf.e_ident, "\177ELF\2\1\1", 7);
  elf.e_machine = 190;
  elf.e_flags = 90 << 8;
  elf.e_shoff = at + names.size();
  elf.e_shnum = static_cast<Elf64_Half>(headers.size());
  std::vector<char> bytes(elf.e_shoff + headers.size() * sizeof(Elf64_Shdr), 0);
  std::memcpy(bytes.data(), &elf, sizeof elf);
  std::memcpy(bytes.data() + at, names.data(), names.size());
  std::memcpy(bytes.data() + elf.e_shoff, headers.data(), headers.size() * sizeof(Elf64_Shdr));
  return bytes;
}

TEST(Sass, RefusesACubinThatHasNotTheKernel) {
  EXPECT_EQ(fault_of(cubin_of({{".text.a", 32}})), "");
  EXPECT_EQ(fault_of(cubin_of({{".data", 32}})), "cannot read the cubin: it has no kernel");
  EXPECT_EQ(fault_of(cubin_of({{".text.a", 24}})), "cannot read the cubin: a kernel's code is cut off");
  const auto two = cubin_of({{".text.a", 32}, {".text.b", 32}});
  EXPECT_EQ(fault_of(two), "cannot read the cubin: it has several kernels; name one");
  EXPECT_EQ(fault_of(two, "b"), "");
  EXPECT_EQ(fault_of(two, "c"), "cannot read the cubin: it has no kernel of that name");
}

}  // namespace

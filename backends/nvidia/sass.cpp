// backends/nvidia/sass.cpp — a cubin's sections, and the opcodes of its kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/sass_p.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {
namespace {

constexpr uint16_t machine_cuda = 190;
constexpr unsigned architecture = 90;  // the one that sass_opcodes.def describes
constexpr std::string_view text_prefix = ".text.";

Error malformed(const char* what) {
  return {ErrorKind::internal,
          Stage::compile,
          ErrorCode::internal_error,
          fmt::format("cannot read the cubin: {}", what),
          {},
          {},
          {}};
}

// The parts of an ELF file, bounds-checked: a cache may hand us anything.
class Elf {
 public:
  explicit Elf(std::span<const char> bytes) : bytes_(bytes) {}

  const char* open() {
    Elf64_Ehdr header;
    if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "not an ELF file";
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != machine_cuda) return "not a 64-bit CUDA ELF file";
    // CUDA 13 keeps the architecture in the second byte of the flags, CUDA 12 in the first.
    if ((header.e_flags >> 8 & 0xff) != architecture && (header.e_flags & 0xff) != architecture) return "not for sm_90";
    for (int i = 0; i < header.e_shnum; ++i) {
      Elf64_Shdr section;
      if (!read(header.e_shoff + uint64_t(i) * sizeof section, section)) return "section headers are cut off";
      sections_.push_back(section);
    }
    if (header.e_shstrndx >= sections_.size()) return "no section names";
    names_ = header.e_shstrndx;
    return nullptr;
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string_view name(const Elf64_Shdr& section) const { return string(names_, section.sh_name); }

  std::span<const char> data(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS || section.sh_offset > bytes_.size() ||
        section.sh_size > bytes_.size() - section.sh_offset)
      return {};
    return bytes_.subspan(section.sh_offset, section.sh_size);
  }

  std::string_view string(size_t table, uint64_t offset) const {
    const auto strings = data(sections_[table]);
    if (offset >= strings.size()) return {};
    return {strings.data() + offset, strnlen(strings.data() + offset, strings.size() - offset)};
  }

  std::string_view symbol(uint64_t index) const {
    for (const auto& section : sections_) {
      if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections_.size()) continue;
      Elf64_Sym symbol;
      if (index >= section.sh_size / sizeof symbol || !read(section.sh_offset + index * sizeof symbol, symbol))
        return {};
      return string(section.sh_link, symbol.st_name);
    }
    return {};
  }

 private:
  template <class T>
  bool read(uint64_t offset, T& value) const {
    if (offset > bytes_.size() || sizeof value > bytes_.size() - offset) return false;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return true;
  }

  std::span<const char> bytes_;
  std::vector<Elf64_Shdr> sections_;
  size_t names_ = 0;
};

// .nv.info is a list of {format, attribute, value}; EIATTR_REGCOUNT carries a symbol and a number.
int register_count(const Elf& elf, std::string_view kernel) {
  constexpr unsigned char format_sized = 4, attribute_regcount = 0x2f;
  for (const auto& section : elf.sections()) {
    if (elf.name(section) != ".nv.info") continue;
    auto info = elf.data(section);
    while (info.size() >= 4) {
      uint16_t size;
      std::memcpy(&size, info.data() + 2, 2);
      const bool sized = static_cast<unsigned char>(info[0]) == format_sized;
      if (sized && info.size() < 4u + size) break;
      if (sized && static_cast<unsigned char>(info[1]) == attribute_regcount && size == 8) {
        uint32_t value[2];
        std::memcpy(value, info.data() + 4, 8);
        if (elf.symbol(value[0]) == kernel) return int(value[1]);
      }
      info = info.subspan(sized ? 4u + size : 4u);
    }
  }
  return 0;
}

std::vector<SassInstruction> decode(std::span<const char> text) {
  std::vector<SassInstruction> code(text.size() / sizeof(SassInstruction));
  std::memcpy(code.data(), text.data(), code.size() * sizeof(SassInstruction));
  return code;
}

SassReport report_on(std::string kernel, std::vector<SassInstruction> code) {
  while (!code.empty() && sass_mnemonic(code.back()) == "NOP") code.pop_back();
  SassReport report;
  report.kernel = std::move(kernel);
  report.instructions = int(code.size());
  std::vector<std::string> names;
  std::vector<int> mma;
  for (size_t i = 0; i < code.size(); ++i) {
    names.push_back(sass_mnemonic(code[i]));
    ++report.counts[names.back()];
    if (names.back() == "BRX") report.indirect = true;
    if (names.back().substr(1) == "GMMA") mma.push_back(int(i));  // HGMMA, QGMMA, IGMMA, BGMMA
  }
  // A persistent kernel's tile loop holds its K loop; the main loops are those without another inside.
  std::vector<const SassLoop*> candidates;
  const auto loops = sass_loops(code);
  for (const auto& loop : loops)
    for (int at : mma)
      if (loop.in_body[size_t(at)]) {
        candidates.push_back(&loop);
        break;
      }
  std::vector<bool> inside(code.size());
  for (const auto* loop : candidates) {
    bool innermost = true;
    for (const auto* other : candidates) innermost &= other == loop || !loop->in_body[size_t(other->header)];
    if (!innermost) continue;
    ++report.mma_loops;
    for (size_t i = 0; i < code.size(); ++i) inside[i] = inside[i] || loop->in_body[i];
  }
  for (size_t i = 0; i < code.size(); ++i)
    if (inside[i]) ++report.in_mma_loops[names[i]];
  return report;
}

}  // namespace

int SassReport::sum(const std::map<std::string, int>& table, std::string_view mnemonic) {
  int total = 0;
  for (const auto& [name, n] : table) {
    const bool variant = name.size() > mnemonic.size() && name[mnemonic.size()] == '.';
    if (name.starts_with(mnemonic) && (variant || name.size() == mnemonic.size())) total += n;
  }
  return total;
}

std::string sass_mnemonic(const SassInstruction& instruction) {
  switch (instruction.opcode()) {
    // Opcodes whose variants mean different things to a health check.
    case 0x9c5: return instruction.lo >> 47 & 1 ? "WARPGROUP.DEPBAR" : "WARPGROUP.ARRIVE";
    case 0x9c8: return instruction.hi >> 9 & 1 ? "USETMAXREG.ALLOC" : "USETMAXREG.DEALLOC";
    case 0x992: {
      static constexpr const char* scopes[] = {"MEMBAR.CTA", "MEMBAR.SM", "MEMBAR.GPU", "MEMBAR.SYS"};
      return scopes[instruction.hi >> 12 & 3];
    }
    default: break;
  }
  switch (instruction.opcode()) {
#define TLXJIT_SASS(opcode, mnemonic) \
  case opcode: return mnemonic;
#include "backends/nvidia/sass_opcodes.def"
#undef TLXJIT_SASS
    default: return fmt::format("OP_0x{:03x}", instruction.opcode());
  }
}

Result<std::vector<SassReport>> inspect_kernels(std::span<const char> cubin) {
  Elf elf(cubin);
  if (const char* fault = elf.open()) return malformed(fault);
  std::vector<SassReport> reports;
  for (const auto& section : elf.sections()) {
    const auto name = elf.name(section);
    if (!name.starts_with(text_prefix)) continue;
    const auto text = elf.data(section);
    if (text.empty() || text.size() % sizeof(SassInstruction) != 0) return malformed("a kernel's code is cut off");
    std::string kernel(name.substr(text_prefix.size()));
    auto report = report_on(kernel, decode(text));
    report.registers = register_count(elf, kernel);
    reports.push_back(std::move(report));
  }
  if (reports.empty()) return malformed("it has no kernel");
  return reports;
}

Result<SassReport> inspect_cubin(std::span<const char> cubin, std::string_view kernel) {
  auto reports = inspect_kernels(cubin);
  if (!reports) return reports.error();
  if (kernel.empty() && reports->size() == 1) return std::move(reports->front());
  for (auto& report : *reports)
    if (report.kernel == kernel) return std::move(report);
  return malformed(kernel.empty() ? "it has several kernels; name one" : "it has no kernel of that name");
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END

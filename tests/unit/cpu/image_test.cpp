// tests/unit/cpu/image_test.cpp — images of compiled kernels: they load without a compiler and do the same.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elf.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <string_view>
#include <thread>

#include "backends/cpu/sanitizers_p.h"
#include "tests/unit/cpu/plugin_p.h"

namespace cpu_test {
namespace {

constexpr std::string_view magic = "tlxcpu 1";

std::vector<char> image_of(const std::string& of) {
  Kernel kernel(of);
  EXPECT_EQ(kernel.status, TLXJIT_CPU_OK) << kernel.failure.message;
  return kernel.image;
}

TEST(Image, LoadsWithoutACompilerAndDoesTheSame) {
  const std::vector<char> image = image_of(numbered(doubles_text));
  ASSERT_FALSE(image.empty());
  const uint64_t before = backend().generations();
  Kernel loaded(image);
  ASSERT_COMPILED(loaded);
  EXPECT_TRUE(doubles(loaded));
  EXPECT_EQ(backend().generations(), before);
  Kernel again(numbered(doubles_text));
  EXPECT_EQ(backend().generations(), before + 1);
  EXPECT_EQ(again.image, image) << "one text, one image";
}

// It is nobody's who reads an image where it begins in memory.
TEST(Image, LoadsFromAnyAddress) {
  const std::vector<char> image = image_of(numbered(doubles_text));
  for (size_t shift : {1, 2, 3, 8, 15}) {
    std::vector<char> shifted(image.size() + shift);
    std::copy(image.begin(), image.end(), shifted.begin() + ptrdiff_t(shift));
    tlxjit_cpu_kernel* kernel = nullptr;
    tlxjit_cpu_failure failure;
    EXPECT_EQ(backend().load(shifted.data() + shift, image.size(), &kernel, &failure), TLXJIT_CPU_OK);
    backend().destroy(kernel);
  }
}

TEST(Image, OfTheLibrarysLoweredKernels) {
  for (const char* name : {"/gemm_sm_90a.tlx", "/attention_sm_90a.tlx"}) {
    const std::vector<char> image = image_of(read(std::string(TLXJIT_IR_TEXTS) + name));
    Kernel loaded(image);
    ASSERT_COMPILED(loaded);
  }
}

TEST(Image, CutAtEveryLengthIsAStatus) {
  const std::vector<char> image = image_of(numbered(doubles_text));
  for (size_t length = 0; length < image.size(); ++length) {
    Kernel cut(std::vector<char>(image.begin(), image.begin() + ptrdiff_t(length)));
    ASSERT_EQ(cut.status, TLXJIT_CPU_BAD_IMAGE) << length;
    ASSERT_STRNE(cut.failure.message, "");
  }
  std::vector<char> longer = image;
  longer.push_back('\0');
  EXPECT_EQ(Kernel(longer).status, TLXJIT_CPU_BAD_IMAGE);
}

/// Bytes before the object, which begins with ELF's magic.
size_t head_of(const std::vector<char>& image) {
  static constexpr char elf[] = {0x7f, 'E', 'L', 'F'};
  return size_t(std::search(image.begin(), image.end(), std::begin(elf), std::end(elf)) - image.begin());
}

/// The head's numbers, to the bytes of the object.
std::vector<uint64_t> numbers_of(const std::vector<char>& image, size_t object_bytes) {
  std::vector<uint64_t> numbers;
  for (size_t at = magic.size(); numbers.empty() || numbers.back() != object_bytes; at += 8) {
    numbers.emplace_back();
    std::memcpy(&numbers.back(), image.data() + at, 8);
  }
  return numbers;
}

std::vector<char> image_with(const std::vector<uint64_t>& numbers, std::span<const char> object) {
  std::vector<char> image(magic.begin(), magic.end());
  image.resize((magic.size() + 8 * numbers.size() + 15) / 16 * 16);
  std::memcpy(image.data() + magic.size(), numbers.data(), 8 * numbers.size());
  image.insert(image.end(), object.begin(), object.end());
  return image;
}

// A launch of it would divide by the number of its tasks, or wait for an arrival that nobody is to make.
TEST(Image, WithoutTasksOrArrivalsItIsNone) {
  const std::vector<char> image = image_of(numbered(doubles_text));
  const std::span<const char> object = std::span(image).subspan(head_of(image));
  std::vector<uint64_t> numbers = numbers_of(image, object.size());
  ASSERT_EQ(image_with(numbers, object), image);
  // The last are the counts of barriers and rings, and the bytes of the object.
  const size_t barriers = numbers.size() - 3;
  ASSERT_EQ(numbers[barriers], 0u);
  numbers[barriers] = 1;
  for (const uint64_t arrivals : {1u, 0u}) {
    std::vector<uint64_t> with_barrier = numbers;
    with_barrier.insert(with_barrier.begin() + ptrdiff_t(barriers) + 1, arrivals);
    EXPECT_EQ(Kernel(image_with(with_barrier, object)).status, arrivals ? TLXJIT_CPU_OK : TLXJIT_CPU_BAD_IMAGE);
  }
  // Words, cluster, resident, shared memory's bytes and gaps; tasks, barriers, rings.
  const Kernel without_tasks(image_with({0, 1, 0, 0, 0, 0, 0, 0, object.size()}, object));
  EXPECT_EQ(without_tasks.status, TLXJIT_CPU_BAD_IMAGE);
}

// Its code is as large as no process may map: what is kept of it is good where there is more.
TEST(Image, WhereThereIsNoMemoryToLinkItIsNotBad) {
  std::vector<char> image = image_of(numbered(doubles_text));
  char* const object = image.data() + head_of(image);
  Elf64_Ehdr header;
  std::memcpy(&header, object, sizeof header);
  bool found = false;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    char* const at = object + header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    std::memcpy(&section, at, sizeof section);
    if (!(section.sh_flags & SHF_EXECINSTR) || section.sh_size == 0) continue;
    section.sh_type = SHT_NOBITS;
    section.sh_size = uint64_t{1} << 56;
    std::memcpy(at, &section, sizeof section);
    found = true;
  }
  ASSERT_TRUE(found);
  const Kernel kernel(image);
  EXPECT_EQ(kernel.status, TLXJIT_CPU_MEMORY) << kernel.failure.message;
}

// Whatever a number of the head becomes, loading and dropping ends no process.
TEST(Image, AnyNumberOfTheHeadIsCheckedOrHarmless) {
  const std::vector<char> image = image_of(read(TLXJIT_IR_TEXTS "/gemm_sm_90a.tlx"));
  const size_t head = head_of(image);
  ASSERT_LT(head, image.size());
  size_t refused = 0;
  for (size_t at = 0; at < head; ++at)
    for (const int bits : {1, 0x80, 0xff}) {
      std::vector<char> bad = image;
      bad[at] = char(bad[at] ^ bits);
      Kernel loaded(bad);
      refused += loaded.status != TLXJIT_CPU_OK;
      ASSERT_TRUE(loaded.status == TLXJIT_CPU_OK || loaded.status == TLXJIT_CPU_BAD_IMAGE ||
                  loaded.status == TLXJIT_CPU_MEMORY)
          << at << " " << loaded.status;
    }
  EXPECT_GT(refused, head) << "most numbers have bounds";
}

TEST(Image, ThreadsLoadAndDropAtOnce) {
  const std::vector<char> image = image_of(numbered(doubles_text));
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        Kernel kernel(image);
        failures += kernel.status != TLXJIT_CPU_OK || !doubles(kernel);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failures, 0);
}

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t all = 0, pages = 0;
  file >> all >> pages;
  return pages * size_t(sysconf(_SC_PAGESIZE));
}

TEST(Image, MemoryStaysFlatOver10000LoadsAndDrops) {
  const std::vector<char> image = image_of(numbered(doubles_text));
  constexpr bool slow = tlxjit::cpu::asan || tlxjit::cpu::tsan;
  constexpr int rounds = slow ? 300 : 10000;
  size_t settled = 0;
  for (int i = 0; i < rounds; ++i) {
    Kernel kernel(image);
    ASSERT_COMPILED(kernel);
    if (i == rounds / 4) settled = resident_bytes();
  }
  malloc_trim(0);
  // A page a kernel would be 30 MB.
  if (!slow) {
    EXPECT_LT(resident_bytes(), settled + (size_t{4} << 20));
  }
}

}  // namespace
}  // namespace cpu_test

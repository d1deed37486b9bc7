// tests/unit/runtime/kept_places_test.cpp — engines whose places are odd: no home, no /tmp, names that are no file
// names.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sched.h>
#include <sys/mount.h>

#include <cstdio>

#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/kept_on_disk.h"

namespace tlxjit::runtime_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

using KeptPlaces = KeptOnDisk;

// Whatever becomes of the directory, kernels are compiled.
TEST_F(KeptPlaces, BL_193_PlacesThatCannotBeUsedAreToldOnce) {
  std::vector<Kernel> two;
  two.push_back(numbers(1));
  two.push_back(numbers(2));
  write_file(place / "a file", std::vector<char>{'x'});
  for (const std::string& path :
       {place / "a file", place / "a file/below", std::string("relative"), std::string("/proc")}) {
    EngineOptions o = with_cache();
    o.cache_directory = path;
    lines.clear();
    const EngineCounters c = counted(o, two);
    EXPECT_EQ(c.compiles, 2u) << path;
    EXPECT_GT(c.disk.errors, 0u) << path;
    EXPECT_THAT(lines, ::testing::Not(IsEmpty())) << path;
    EXPECT_LE(lines.size(), 2u) << path << ": reading and writing, once each";
  }
}

// The same where the place is that of the environment.
TEST_F(KeptPlaces, BL_193_AHomeThatCannotBeUsedIsToldOnce) {
  std::vector<Kernel> two;
  two.push_back(numbers(1));
  two.push_back(numbers(2));
  write_file(place / "file", std::vector<char>{'x'});
  for (const std::string& home : {std::string(), std::string("/"), place / "none", place / "file",
                                  std::string("relative"), std::string("/proc/self")})
    EXPECT_TRUE(in_child([&] {
      for (const char* name : {"TLXJIT_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) unsetenv(name);
      setenv("TLXJIT_DISK_CACHE", "1", 1);
      if (!home.empty()) setenv("HOME", home.c_str(), 1);
      EngineOptions o = with_cache();
      o.cache_directory.clear();
      o.read_environment = true;
      const Engine engine(o);
      const Device device = *engine.device("cpu");
      for (const int salt : {1, 2}) {
        const auto exe = engine.compile(two[static_cast<size_t>(salt) - 1], device);
        if (!exe || !right(*exe, salt)) return false;
      }
      engine.settle();
      for (const std::string& line : lines)
        if (lines.size() != 1) std::fprintf(stderr, "%s\n", line.c_str());
      return lines.size() == 1 && engine.counters().compiles == 2;
    })) << "HOME="
        << home;
}

// What is made of a name: no path, and no second line.
TEST_F(KeptPlaces, BL_212_NamesOfKernelsAndFunctionsMayBeAnyText) {
  const std::string names[] = {std::string(300, 'n'), "a/b", "../../etc/x", "größe ⊗ 漢字", " ", "%s%n"};
  for (const std::string& name : names) {
    for (const uint64_t hits : {0u, 1u}) {
      const Engine engine(with_cache());
      const Device device = *engine.device("cpu");
      auto exe = engine.compile(numbers(4, name), device);
      TLXJIT_MUST(exe);
      EXPECT_TRUE(right(*exe, 4)) << name;
      const JitFunction f(engine, device, name, [&](const Signature&, const Config&) { return numbers(5, name); },
                          {.tier = Tier::wait});
      std::vector<int32_t> x(32, -1);
      EXPECT_EQ(message(f.launch({tensor<int32_t>(x.data(), {32})})), "success") << name;
      EXPECT_EQ(x[31], 36);
      EXPECT_EQ(engine.counters().compiles, hits ? 0u : 2u) << name;
      EXPECT_EQ(engine.counters().disk_hits, hits ? 2u : 0u) << name;
      // What its manifest says of it is found again.
      f.set_tier(Tier::sealed);
      const auto warmed = f.warm(f.manifest());
      TLXJIT_MUST(warmed);
      EXPECT_EQ(warmed->present, 1u) << name;
      EXPECT_THAT(warmed->errors, IsEmpty()) << name;
    }
  }
  EXPECT_THAT(lines, IsEmpty());
  for (const auto& file : std::filesystem::recursive_directory_iterator(place.path())) {
    const std::string name = file.path().filename();
    if (!file.is_regular_file()) continue;
    EXPECT_TRUE(name.size() <= 64 && name.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz.-_") == name.npos)
        << file.path();
  }
  for (const std::string& name : {std::string("two\nlines"), std::string("nul\0nul", 7)}) {
    const Engine engine(with_cache());
    const auto refused = engine.compile(numbers(4, name), *engine.device("cpu"));
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr("its name has a control character"));
  }
  EXPECT_THAT(entries(), SizeIs(2 * std::size(names)));
}

/// From here on this process sees a /tmp that is empty and cannot be written.
bool without_tmp() {
  return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tlxjit", "/tmp", "tmpfs", MS_RDONLY, "size=4k") == 0;
}

TEST(KeptPlacesAnywhere, BL_194_NothingIsNeededInTmp) {
  const bool may_mount = bool(in_child(without_tmp));
  RecordProperty("tmp", may_mount ? "gone" : "there, this user may not mount");
  const TemporaryDirectory place(std::filesystem::exists("/var/tmp") ? "/var/tmp" : ".");
  for (const char* temporary : {static_cast<const char*>(nullptr), "/tmp/x y", "/none"})
    EXPECT_TRUE(in_child([&] {
      if (may_mount && !without_tmp()) return false;
      if (temporary)
        setenv("TMPDIR", temporary, 1);
      else
        unsetenv("TMPDIR");
      int told = 0;
      for (const uint64_t hits : {0u, 1u}) {
        EngineOptions o = options();
        o.cache_directory = place / (temporary ? temporary : "unset");
        o.log = [&](std::string_view line) {
          ++told;
          std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
        };
        const Engine engine(o);
        const auto exe = engine.compile(numbers(6), *engine.device("cpu"));
        if (!exe || !right(*exe, 6) || engine.counters().disk_hits != hits) return false;
      }
      return told == 0;
    })) << (temporary ? temporary : "unset");
}

}  // namespace
}  // namespace tlxjit::runtime_test

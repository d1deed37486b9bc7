// tests/unit/runtime/trusted_path_test.cpp — directories and files that another user could have written are not used.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/trusted_path_p.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/entries.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

/// `used`, `nothing there`, or the code and message of the error.
std::string outcome(const std::string& path, bool system = false) {
  auto store = directory_store({path, false, system});
  if (!store) return std::string(to_string(store.error().code)) + ": " + store.error().message;
  return fs::exists(path) ? "used" : "nothing there";
}

constexpr const char* writable = " is not used: others than its owner may write to it; `chmod go-w` takes that away";

TEST(TrustedPath, BL_192_DirectoriesThatOthersMayWriteAreRefused) {
  const TemporaryDirectory place;
  fs::create_directories(place / "a/b/v1");
  EXPECT_EQ(outcome(place / "a/b"), "used");
  for (const std::string step : {"a/b", "a", "a/b/v1"})
    for (const mode_t mode : {0770, 0707, 0777}) {
      ASSERT_EQ(chmod((place / step).c_str(), mode), 0);
      EXPECT_EQ(outcome(place / "a/b"), "untrusted: " + (place / step) + writable) << step << mode;
      ASSERT_EQ(chmod((place / step).c_str(), 0755), 0);
    }
  EXPECT_EQ(outcome(place / "a/b"), "used") << "others may read";
  ASSERT_EQ(chmod((place / "a").c_str(), 01777), 0);
  EXPECT_EQ(outcome(place / "a/b"), "used") << "as in /tmp, no one can replace b";
  ASSERT_EQ(chmod((place / "a/b").c_str(), 01777), 0);
  EXPECT_EQ(outcome(place / "a/b"), "untrusted: " + (place / "a/b") + writable) << "others can put files there";
}

TEST(TrustedPath, BL_192_AnotherUsersDirectoryIsRefused) {
  if (geteuid() != 0) {  // what is root's is another user's
    EXPECT_EQ(outcome("/usr"),
              "untrusted: /usr is not used: it belongs to user 0, not to user " + std::to_string(geteuid()));
    return;
  }
  const TemporaryDirectory place;
  fs::create_directories(place / "a/b/v1");
  for (const std::string step : {"a/b", "a", "a/b/v1"}) {
    ASSERT_EQ(chown((place / step).c_str(), 12345, 0), 0);
    EXPECT_EQ(outcome(place / "a/b"),
              "untrusted: " + (place / step) + " is not used: it belongs to user 12345, not to user 0");
    ASSERT_EQ(chown((place / step).c_str(), 0, 0), 0);
  }
  // The same from the other side: what is root's above it is trusted, but not the directory itself.
  ASSERT_EQ(chmod(place.path().c_str(), 0755), 0);
  EXPECT_TRUE(in_child([&] {
    fs::create_directory(place / "own");
    if (chown((place / "own").c_str(), 12345, 12345) != 0 || setresuid(12345, 12345, 12345) != 0) return false;
    return outcome(place / "own") == "used" &&
           outcome(place / "a") ==
               "untrusted: " + (place / "a") + " is not used: it belongs to user 0, not to user 12345";
  }));
  EXPECT_EQ(outcome(place / "own"),
            "untrusted: " + (place / "own") + " is not used: it belongs to user 12345, not to user 0")
      << "root trusts no one else";
}

TEST(TrustedPath, TheSystemsDirectoryIsRoots) {
  const TemporaryDirectory place;
  fs::create_directory(place / "a");
  if (geteuid() != 0) {
    EXPECT_THAT(outcome(place / "a", true), StartsWith("untrusted: "));
    return;
  }
  ASSERT_TRUE(directory_store({place / "a", false, false})->get()->put(runtime::key_text("x"), {}).ok());
  EXPECT_EQ(outcome(place / "a", true), "used");
  ASSERT_EQ(chown((place / "a/v1").c_str(), 12345, 0), 0);
  EXPECT_EQ(outcome(place / "a", true),
            "untrusted: " + (place / "a/v1") + " is not used: it belongs to user 12345, not to root");
  auto store = directory_store({place / "none", false, true});
  ASSERT_TRUE(store.ok()) << "there need not be one";
  EXPECT_FALSE((*store)->get(runtime::key_text("x"))->has_value());
}

TEST(TrustedPath, LinksOfThePathAreWalkedUnderTheSameRules) {
  const TemporaryDirectory place;
  fs::create_directories(place / "data/home/me");
  fs::create_directory_symlink(place / "data/home", place / "home");
  EXPECT_EQ(outcome(place / "home/me"), "used");
  fs::create_directory_symlink("../home/.//me", place / "home/relative");
  EXPECT_EQ(outcome(place / "home/relative"), "used");
  auto store = directory_store({place / "home/relative", false, false});
  ASSERT_TRUE((*store)->put(runtime::key_text("x"), {}).ok());
  EXPECT_TRUE(fs::exists(file_of(place / "data/home/me", runtime::key_text("x"))));
  ASSERT_EQ(chmod((place / "data").c_str(), 0777), 0);
  EXPECT_EQ(outcome(place / "home/relative"), "untrusted: " + (place / "data") + writable);
}

TEST(TrustedPath, ALinkThroughAPlaceThatOthersMayWriteIsRefused) {
  const TemporaryDirectory place;
  fs::create_directories(place / "open/cache");
  fs::create_directory_symlink(place / "open/cache", place / "link");
  EXPECT_EQ(outcome(place / "link"), "used");
  ASSERT_EQ(chmod((place / "open").c_str(), 0777), 0);
  EXPECT_EQ(outcome(place / "link"), "untrusted: " + (place / "open") + writable);
  if (geteuid() == 0) {
    ASSERT_EQ(chmod((place / "open").c_str(), 01777), 0);
    EXPECT_EQ(outcome(place / "link"), "used");
    fs::create_directory_symlink(place / "open/cache", place / "open/theirs");
    ASSERT_EQ(lchown((place / "open/theirs").c_str(), 12345, 12345), 0);
    EXPECT_EQ(outcome(place / "open/theirs"),
              "untrusted: " + (place / "open/theirs") + " is not used: it is a link of user 12345");
  }
}

TEST(TrustedPath, BL_197_LinksThatLeadNowhere) {
  const TemporaryDirectory place;
  fs::create_directory_symlink("loop", place / "loop");
  EXPECT_EQ(outcome(place / "loop"),
            "untrusted: " + (place / "loop") + " is not used: there are more than 40 links in it");
  fs::create_directory_symlink("none", place / "dangling");
  EXPECT_EQ(outcome(place / "dangling"), "nothing there");
}

TEST(TrustedPath, BL_197_CleaningUpFollowsNoLink) {
  const TemporaryDirectory place;
  auto store = *directory_store({place / "cache", false, false});
  const std::string key = runtime::key_text("x");
  const std::string folder = fs::path(file_of(place / "cache", key)).parent_path();
  ASSERT_TRUE(store->put(key, {}).ok());
  fs::create_directory(place / "sentinel");
  write_file(place / "sentinel/file", std::vector<char>(3));
  fs::create_symlink(place / "sentinel", folder + "/tmp-directory");
  fs::create_symlink(place / "sentinel/file", folder + "/" + std::string(32, 'a'));
  fs::create_symlink("none", folder + "/tmp-dangling");
  fs::create_symlink("tmp-loop", folder + "/tmp-loop");
  EXPECT_EQ(store->list()->size(), 1u);
  auto trimmed = store->trim(0);
  ASSERT_TRUE(trimmed.ok()) << to_string(trimmed.error());
  EXPECT_EQ(trimmed->left_behind, 4u);
  EXPECT_TRUE(fs::is_empty(folder));
  EXPECT_EQ(read_file(place / "sentinel/file").size(), 3u);
  // A folder of entries that is a link is not walked at all.
  fs::remove(folder);
  fs::create_directory_symlink(place / "sentinel", folder);
  EXPECT_EQ(store->trim(0).error().code, ErrorCode::untrusted);
  EXPECT_EQ(store->get(key).error().code, ErrorCode::untrusted);
  EXPECT_EQ(store->put(key, {}).error().code, ErrorCode::untrusted);
  EXPECT_EQ(read_file(place / "sentinel/file").size(), 3u);
}

TEST(TrustedPath, EntriesThatAreNoFilesOfTheUserAreRefused) {
  const TemporaryDirectory place;
  auto store = *directory_store({place.path(), false, false});
  const std::string key = runtime::key_text("x"), file = file_of(place.path(), key);
  const auto refused = [&] {
    auto got = store->get(key);
    return got ? std::string("used") : got.error().message;
  };
  ASSERT_TRUE(store->put(key, std::vector<char>(3)).ok());
  EXPECT_EQ(refused(), "used");
  ASSERT_EQ(chmod(file.c_str(), 0660), 0);
  EXPECT_EQ(refused(), file + writable);
  if (geteuid() == 0) {
    ASSERT_EQ(chmod(file.c_str(), 0600), 0);
    ASSERT_EQ(chown(file.c_str(), 12345, 0), 0);
    EXPECT_EQ(refused(), file + " is not used: it belongs to user 12345, not to user 0");
  }
  fs::remove(file);
  fs::create_symlink("/etc/passwd", file);
  EXPECT_EQ(refused(), file + " is not used: it is a link");
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_EQ(refused(), file + " is not used: it is no regular file");
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(refused(), file + " is not used: it is no regular file") << "and no call waits for its writer";
}

TEST(TrustedPath, PathsThatAreNone) {
  for (const char* path : {"", "relative", "./cache", "~/cache"})
    EXPECT_THAT(outcome(path), StartsWith("bad_argument: the place of compiled kernels is an absolute path, not '"));
  const TemporaryDirectory place;
  write_file(place / "file", {});
  EXPECT_EQ(outcome(place / "file"), "untrusted: " + (place / "file") + " is not used: it is no directory");
  EXPECT_EQ(outcome(place / "file/below"), "untrusted: " + (place / "file") + " is not used: it is no directory");
  EXPECT_THAT(outcome("/" + std::string(300, 'a')), HasSubstr("File name too long"));
  EXPECT_EQ(outcome(place / "a//./b/"), "nothing there");
}

}  // namespace
}  // namespace tlxjit::runtime_test

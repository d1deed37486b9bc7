// src/runtime/trusted_path.cpp — the walk from the root down.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/trusted_path_p.h"

#include <fcntl.h>

#include <climits>
#include <string_view>
#include <vector>

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

constexpr int most_links = 40;  // as Linux has it

Error refused(const std::string& path, const std::string& why) {
  return error_of(ErrorKind::environment, Stage::cache, ErrorCode::untrusted, path + " is not used: " + why);
}

bool owned(const struct stat& facts, Trust trust, bool or_root) {
  if (facts.st_uid == 0 && (or_root || trust == Trust::root)) return true;
  return trust == Trust::user && facts.st_uid == geteuid();
}

enum class Place : uint8_t { above, own };

/// Of what was opened, a link excepted.
Result<void> check(const struct stat& facts, Trust trust, Place place, const std::string& path) {
  if (!owned(facts, trust, place == Place::above))
    return refused(path, "it belongs to user " + std::to_string(facts.st_uid) + ", not to " +
                             (trust == Trust::root ? "root" : "user " + std::to_string(geteuid())));
  // In a sticky directory no one takes away or replaces what is another's, and who owns the next step is checked.
  const bool sticky = place == Place::above && S_ISDIR(facts.st_mode) && (facts.st_mode & S_ISVTX);
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) && !sticky)
    return refused(path, "others than its owner may write to it; `chmod go-w` takes that away");
  return {};
}

/// Steps that are still to be made, the next one last.
void push_steps(std::vector<std::string>& steps, std::string_view path) {
  const size_t before = steps.size();
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view step = path.substr(0, slash);
    if (!step.empty() && step != ".")
      steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(before), std::string(step));
    path = slash == path.npos ? std::string_view() : path.substr(slash + 1);
  }
}

struct Step {
  Descriptor at;
  struct stat facts;
};

/// By O_PATH, a link as itself. Nothing if it is not there.
Result<std::optional<Step>> open_step(int directory, const std::string& name, bool make, const std::string& path) {
  const auto open_it = [&] {
    constexpr int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    // O_DIRECTORY mounts what is mounted when it is looked at, as homes on network disks are; O_PATH alone does not.
    const int fd = again([&] { return openat(directory, name.c_str(), flags | O_DIRECTORY); });
    return fd < 0 && errno == ENOTDIR ? again([&] { return openat(directory, name.c_str(), flags); }) : fd;
  };
  int fd = open_it();
  if (fd < 0 && errno == ENOENT && make) {
    if (mkdirat(directory, name.c_str(), 0700) != 0 && errno != EEXIST) return disk_error("mkdir", path);
    fd = open_it();
  }
  if (fd < 0) {
    if (errno == ENOENT) return std::optional<Step>();
    return disk_error("open", path);
  }
  std::optional<Step> step(Step{Descriptor(fd), {}});
  if (fstat(fd, &step->facts) != 0) return disk_error("fstat", path);
  return step;
}

Result<Step> open_root(Trust trust) {
  auto root = open_step(AT_FDCWD, "/", false, "/");
  if (!root) return root.error();
  if (!*root) return refused("/", "it is not there");
  TLXJIT_TRY(check((*root)->facts, trust, Place::above, "/"));
  return std::move(**root);
}

Result<std::string> read_link(const Step& link, const std::string& path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = readlinkat(link.at.get(), "", target.data(), target.size());
  if (size < 0) return disk_error("readlink", path);
  target.resize(static_cast<size_t>(size));
  return target;
}

struct Walked {
  Step at;
  std::string file;  // the last step where it is no directory and none is wanted; empty else
};

/// `any`: the last step may be something else than a directory, which stays unopened.
Result<std::optional<Walked>> walk(const std::string& path, Trust trust, bool make, bool any) {
  if (!path.starts_with('/'))
    return error_of(ErrorKind::user, Stage::cache, ErrorCode::bad_argument,
                    "the place of compiled kernels is an absolute path, not '" + path + "'");
  auto at = open_root(trust);
  if (!at) return at.error();
  std::vector<std::string> steps;
  push_steps(steps, path);
  std::string walked;
  int links = 0;
  while (!steps.empty()) {
    const std::string name = std::move(steps.back());
    steps.pop_back();
    std::string here = walked;
    here += '/';
    here += name;
    auto next = open_step(at->at.get(), name, make, here);
    if (!next) return next.error();
    if (!*next) return std::optional<Walked>();
    if (S_ISLNK((*next)->facts.st_mode)) {
      if (!owned((*next)->facts, trust, true))
        return refused(here, "it is a link of user " + std::to_string((*next)->facts.st_uid));
      if (++links > most_links) return refused(path, "there are more than 40 links in it");
      auto target = read_link(**next, here);
      if (!target) return target.error();
      push_steps(steps, *target);
      if (target->starts_with('/')) {
        at = open_root(trust);
        if (!at) return at.error();
        walked.clear();
      }
      continue;
    }
    if (!S_ISDIR((*next)->facts.st_mode)) {
      if (any && steps.empty()) return std::optional<Walked>(Walked{std::move(*at), name});
      return refused(here, "it is no directory");
    }
    TLXJIT_TRY(check((*next)->facts, trust, Place::above, here));
    *at = std::move(**next);
    walked = std::move(here);
  }
  return std::optional<Walked>(Walked{std::move(*at), {}});
}

}  // namespace

Result<std::optional<Descriptor>> open_trusted_directory(const std::string& path, Trust trust, bool make) {
  auto walked = walk(path, trust, make, false);
  if (!walked) return walked.error();
  if (!*walked) return std::optional<Descriptor>();
  TLXJIT_TRY(check((*walked)->at.facts, trust, Place::own, path));
  return std::optional<Descriptor>(std::move((*walked)->at.at));
}

Result<std::optional<Descriptor>> open_trusted_below(const Descriptor& directory, const std::string& name, Trust trust,
                                                     bool make, const std::string& path) {
  auto next = open_step(directory.get(), name, make, path);
  if (!next) return next.error();
  if (!*next) return std::optional<Descriptor>();
  if (!S_ISDIR((*next)->facts.st_mode)) return refused(path, "it is no directory");
  TLXJIT_TRY(check((*next)->facts, trust, Place::own, path));
  return std::optional<Descriptor>(std::move((*next)->at));
}

namespace {

Result<std::optional<TrustedFile>> open_file(const Descriptor& directory, const std::string& name, Trust trust,
                                             bool or_root, int flags, const std::string& path) {
  // A FIFO or a terminal in its place must not hold the call or the process.
  const int fd = again([&] {
    return openat(directory.get(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
  });
  if (fd < 0) {
    if (errno == ENOENT && !(flags & O_CREAT)) return std::optional<TrustedFile>();
    if (errno == ELOOP) return refused(path, "it is a link");
    return disk_error("open", path);
  }
  std::optional<TrustedFile> file(TrustedFile{Descriptor(fd), {}});
  if (fstat(fd, &file->facts) != 0) return disk_error("fstat", path);
  if (!S_ISREG(file->facts.st_mode)) return refused(path, "it is no regular file");
  if (or_root && file->facts.st_uid == 0) trust = Trust::root;
  TLXJIT_TRY(check(file->facts, trust, Place::own, path));
  return file;
}

}  // namespace

Result<std::optional<TrustedFile>> open_trusted_file(const Descriptor& directory, const std::string& name, Trust trust,
                                                     int flags, const std::string& path) {
  return open_file(directory, name, trust, false, flags, path);
}

Result<std::optional<TrustedFile>> open_trusted_file(const std::string& path) {
  auto walked = walk(path, Trust::user, false, true);
  if (!walked) return walked.error();
  if (!*walked) return std::optional<TrustedFile>();
  if ((*walked)->file.empty()) return refused(path, "it is a directory");
  return open_file((*walked)->at.at, (*walked)->file, Trust::user, true, O_RDONLY, path);
}

}  // namespace runtime

TLXJIT_NAMESPACE_END

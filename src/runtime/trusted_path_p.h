// src/runtime/trusted_path_p.h — directories and files that no other user could have written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "src/runtime/descriptor_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Whose it must be: the effective user's, or root's. What stands above a user's directory may be root's too.
enum class Trust : uint8_t { user, root };

/// Opens the directory, by O_PATH, from the root down. Each step is opened without following a link, and what was
/// opened is looked at: its owner is trusted, and no one else may write to it, unless it is sticky and stands above the
/// last step. A link on the way is read, if its owner is trusted, and its target walked under the same rules; so the
/// place of a link decides nothing that the checks do not see. `make` makes what is missing, mode 0700.
/// Nothing if a step is not there. Errors: untrusted, disk_failed; bad_argument if the path does not begin with `/`.
Result<std::optional<Descriptor>> open_trusted_directory(const std::string& path, Trust trust, bool make);

/// The same for one step below a trusted directory; a link is not trusted here. `path` is for messages.
Result<std::optional<Descriptor>> open_trusted_below(const Descriptor& directory, const std::string& name, Trust trust,
                                                     bool make, const std::string& path);

struct TrustedFile {
  Descriptor file;
  struct stat facts;
};

/// Opens a regular file of a trusted directory; `flags` as of open. Nothing if it is not there.
Result<std::optional<TrustedFile>> open_trusted_file(const Descriptor& directory, const std::string& name, Trust trust,
                                                     int flags, const std::string& path);

/// Opens a file for reading by its path, walked as above; it may be root's as well as the user's.
Result<std::optional<TrustedFile>> open_trusted_file(const std::string& path);

}  // namespace runtime
TLXJIT_NAMESPACE_END

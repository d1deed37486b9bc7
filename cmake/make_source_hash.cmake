# cmake/make_source_hash.cmake — writes OUT, a header that defines MACRO as the hash of the files of LIST under ROOT.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
file(READ ${LIST} files)
set(all "")
foreach(name IN LISTS files)
  file(SHA256 ${ROOT}/${name} hash)
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 32 hash)
file(WRITE ${OUT}.new "#pragma once\n#define ${MACRO} \"${hash}\"\n")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
file(TOUCH ${OUT})

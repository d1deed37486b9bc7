// tests/command/store_entries.cpp — fills a directory with entries of a cache, for the tests of the command line:
// prints their keys. The images are made up.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <cstdlib>

#include "src/runtime/entry_p.h"
#include "src/runtime/key_p.h"
#include "tlxjit/runtime/store.h"

int main(int argc, char** argv) {
  using namespace tlxjit;
  if (argc != 3 && argc != 4) return std::fprintf(stderr, "usage: store_entries DIRECTORY COUNT [NAME]\n"), 2;
  auto store = directory_store({.path = argv[1]});
  if (!store) return std::fprintf(stderr, "%s\n", to_string(store.error()).c_str()), 1;
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    runtime::Entry entry;
    entry.kernel = (argc > 3 ? argv[3] : "kernel") + std::to_string(i);
    entry.target = "cpu";
    entry.material =
        "what kernel " + std::to_string(i) + " depends on\nand more\n" + std::string("tlx 1 portable").append(50, '\n');
    entry.module = "tlx 1 lowered cpu\nkernel \"" + entry.kernel +
                   "\" [threads = 0, shared_bytes = 0] {\n  %0 = dim [name = \"N\"] : i32\n"
                   "  %1 = tensor %0 [name = \"x\"] : tensor<1xf32>\n  grid %0\n"
                   "  task [name = \"t\", warps = 1, replicas = 1] {\n  }\n}\n";
    entry.image.assign(static_cast<size_t>(1000 + i), 'x');
    const std::string key = runtime::key_text(entry.material);
    auto put = (*store)->put(key, runtime::encode(entry));
    if (!put) return std::fprintf(stderr, "%s\n", to_string(put.error()).c_str()), 1;
    std::puts(key.c_str());
  }
}

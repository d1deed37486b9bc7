// bench/common/options.cpp — command line of the benchmarks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/common/options.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tlxjit::bench {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

[[noreturn]] void usage(const char* program, const char* summary, int status) {
  std::fprintf(status ? stderr : stdout,
               "%s — %s\n\n"
               "  --prototypes FOLDER  gen.py, gemm.in, fa.in to compare with (or TLXJIT_PROTOTYPES)\n"
               "  --cublas PATH        libcublas.so.13 or its folder (or TLXJIT_CUBLAS_DIR, then TLXJIT_NVRTC_DIR)\n"
               "  --out PATH           folder or .json file for the results (or TLXJIT_RESULTS, then bench/results)\n"
               "  --case TEXT          only cases whose name has TEXT in it\n"
               "  --rounds N           rounds of a measurement (7)\n"
               "  --quick              three rounds\n"
               "  --dry-run            compiles the kernels and checks the arguments of the cases; needs no device\n"
               "  --dump FOLDER        keeps generated sources and cubins\n",
               program, summary);
  std::exit(status);
}

}  // namespace

Options parse_options(int argc, char** argv, const char* summary) {
  // Lines come in the order of what happens, also in a log file and before a crash.
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  Options o;
  o.prototypes = environment("TLXJIT_PROTOTYPES");
  o.out = environment("TLXJIT_RESULTS");
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const auto value = [&] {
      if (i + 1 >= argc) {
        std::fprintf(stderr, "%s needs a value\n", argv[i]);
        usage(argv[0], summary, 2);
      }
      return std::string(argv[++i]);
    };
    if (arg == "--prototypes")
      o.prototypes = value();
    else if (arg == "--cublas")
      o.cublas = value();
    else if (arg == "--out")
      o.out = value();
    else if (arg == "--case")
      o.only = value();
    else if (arg == "--dump")
      o.dump = value();
    else if (arg == "--rounds")
      o.rounds = std::atoi(value().c_str());
    else if (arg == "--quick")
      o.quick = true, o.rounds = 3;
    else if (arg == "--dry-run")
      o.dry_run = true;
    else if (arg == "--help")
      usage(argv[0], summary, 0);
    else {
      std::fprintf(stderr, "unknown argument %s\n", argv[i]);
      usage(argv[0], summary, 2);
    }
  }
  if (o.rounds < 1) usage(argv[0], summary, 2);
  return o;
}

}  // namespace tlxjit::bench

// bench/cpu/openblas.cpp — OpenBLAS as a peer, loaded when the benchmark runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/cpu/openblas.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace tlxjit::bench {
namespace {

constexpr const char* forced_core = "OPENBLAS_CORETYPE";

/// What the library should use, by its own name; null: it knows better.
const char* better_core(std::string_view chosen) {
  const bool knows_avx512 = chosen == "SkylakeX" || chosen == "Cooperlake" || chosen == "SapphireRapids";
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
    return knows_avx512 ? nullptr : "SkylakeX";
  const bool knows_avx2 = knows_avx512 || chosen == "Haswell" || chosen == "Zen";
  return __builtin_cpu_supports("avx2") && !knows_avx2 ? "Haswell" : nullptr;
}

}  // namespace

bool OpenBlas::load(const char* path) {
  handle_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle_) return false;
  sgemm_ = reinterpret_cast<Sgemm>(dlsym(handle_, "cblas_sgemm"));
  set_threads_ = reinterpret_cast<void (*)(int)>(dlsym(handle_, "openblas_set_num_threads"));
  const auto config = reinterpret_cast<char* (*)()>(dlsym(handle_, "openblas_get_config"));
  if (!sgemm_ || !set_threads_ || !config) return false;
  const std::string text = config();  // `OpenBLAS 0.3.21 …`
  name_ = text.substr(0, text.find(' ', text.find(' ') + 1)) + ' ' + core();
  return true;
}

std::string OpenBlas::core() const {
  const auto name = reinterpret_cast<char* (*)()>(dlsym(handle_, "openblas_get_corename"));
  return name ? name() : "unknown";
}

std::vector<OpenBlas> OpenBlas::open() {
  for (char** variable = environ; *variable; ++variable)
    if (std::string_view(*variable).starts_with("OPENBLAS_")) {
      fmt::print(stderr, "{} must not be set\n", *variable);
      return {};
    }
  std::vector<OpenBlas> all(1);
  if (!all[0].load("libopenblas.so.0")) {
    fmt::print(stderr, "no OpenBLAS (Debian: libopenblas0): {}\n", dlerror());
    return {};
  }
  const char* better = better_core(all[0].core());
  link_map* place = nullptr;
  if (!better || dlinfo(all[0].handle_, RTLD_DI_LINKMAP, &place) != 0) return all;
  // Kernels are chosen when the library is loaded, and one file is loaded once: so a copy of it.
  namespace fs = std::filesystem;
  const fs::path copy = fs::temp_directory_path() / fmt::format("tlxjit-openblas-{}.so", getpid());
  std::error_code error;
  fs::copy_file(fs::canonical(place->l_name, error), copy, error);
  setenv(forced_core, better, 1);
  OpenBlas forced;
  if (!error && forced.load(copy.c_str())) {
    forced.name_ += fmt::format(" ({} set)", forced_core);
    all.push_back(std::move(forced));
  }
  unsetenv(forced_core);
  fs::remove(copy, error);
  return all;
}

void OpenBlas::product(int threads, int n, const float* a, const float* b, float* d) const {
  constexpr int row_major = 101, as_is = 111, transposed = 112;
  set_threads_(threads);
  sgemm_(row_major, as_is, transposed, n, n, n, 1.f, a, n, b, n, 0.f, d, n);
}

}  // namespace tlxjit::bench

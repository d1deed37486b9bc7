// bench/gpu/cublas.cpp — the four entry points of cuBLAS that are needed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/gpu/cublas.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "backends/nvidia/library_p.h"

namespace tlxjit::bench {
namespace {

constexpr const char* soname = "libcublas.so.13";

Error fault(std::string message) {
  Error error;
  error.kind = ErrorKind::environment;
  error.stage = Stage::load;
  error.code = ErrorCode::library_missing;
  error.message = std::move(message);
  return error;
}

nvidia::Library find_library(const std::string& path, std::string& tried) {
  std::vector<std::string> places;
  const auto place = [&](const std::string& p) {
    places.push_back(std::filesystem::is_directory(p) ? p + "/" + soname : p);
  };
  if (!path.empty()) {
    place(path);
  } else {
    for (const char* variable : {"TLXJIT_CUBLAS_DIR", "TLXJIT_NVRTC_DIR"})
      if (const char* folder = std::getenv(variable); folder && *folder) place(folder);
    places.push_back(soname);
    places.push_back(std::string("/usr/local/cuda/lib64/") + soname);
  }
  for (const std::string& p : places) {
    std::string why;
    if (nvidia::Library library = nvidia::open_library(p, why)) return library;
    tried += "\n  " + p + ": " + why;
  }
  return {};
}

}  // namespace

Result<Cublas> Cublas::open(const std::string& path, const Stream& stream) {
  std::string tried;
  const nvidia::Library library = find_library(path, tried);
  if (!library) return fault("cuBLAS is not found; --cublas or TLXJIT_CUBLAS_DIR names it. Tried:" + tried);
  const auto create = reinterpret_cast<int (*)(void**)>(library.symbol("cublasCreate_v2"));
  const auto set_stream = reinterpret_cast<int (*)(void*, void*)>(library.symbol("cublasSetStream_v2"));
  const auto version = reinterpret_cast<int (*)(void*, int*)>(library.symbol("cublasGetVersion_v2"));
  Cublas cublas;
  cublas.gemm_ = reinterpret_cast<GemmEx>(library.symbol("cublasGemmEx"));
  if (!create || !set_stream || !version || !cublas.gemm_) return fault(library.path + " lacks an entry point");
  if (const int status = create(&cublas.handle_)) return fault(fmt::format("cublasCreate gave {}", status));
  if (const int status = set_stream(cublas.handle_, stream.handle()))
    return fault(fmt::format("cublasSetStream gave {}", status));
  int number = 0;
  version(cublas.handle_, &number);
  // 130002 for 13.0.2, 120805 for 12.8.5.
  cublas.name_ = fmt::format("cuBLAS {}.{}.{}", number / 10000, number / 100 % 100, number % 100);
  return cublas;
}

Result<void> Cublas::gemm(const void* a, const void* b, void* d, int m, int n, int k) const {
  constexpr int transposed = 1, plain = 0, real_bf16 = 14, compute_f32 = 68, default_algorithm = -1;
  const float one = 1, zero = 0;
  // Columns first: dᵀ[N,M] = (bᵀ)ᵀ · aᵀ.
  const int status = gemm_(handle_, transposed, plain, n, m, k, &one, b, real_bf16, k, a, real_bf16, k, &zero, d,
                           real_bf16, n, compute_f32, default_algorithm);
  if (status == 0) return {};
  Error error;
  error.kind = ErrorKind::environment;
  error.stage = Stage::launch;
  error.code = ErrorCode::driver_failed;
  error.message = fmt::format("cublasGemmEx gave {}", status);
  return error;
}

}  // namespace tlxjit::bench

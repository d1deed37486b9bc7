// backends/nvidia/nvrtc.cpp — the search for NVRTC, and one compile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/nvrtc_p.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>

#include <cstring>
#include <optional>

#include "backends/nvidia/nvrtc_files_p.h"
#include "src/runtime/compiler_use_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {
namespace {

// NVRTC's result codes that we tell apart.
enum : int {
  nvrtc_success = 0,
  nvrtc_out_of_memory = 1,
  nvrtc_invalid_option = 5,
  nvrtc_compilation = 6,
  nvrtc_builtins = 7,
  nvrtc_cancelled = 16,
};

constexpr const char* way_out =
    "set TLXJIT_NVRTC_DIR to the folder of libnvrtc.so.13 (CUDA toolkit, or the PyPI package nvidia-cuda-nvrtc)";

bool exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

double now_ms(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
}

// NVRTC wants 1 for "stop". A throw must not unwind through its frames, so it counts as one.
int flow_callback(void* payload, void*) noexcept {
  try {
    return (*static_cast<const std::function<bool()>*>(payload))() ? 1 : 0;
  } catch (...) {
    return 1;
  }
}

Error compile_error(int code, const std::string& name, const std::string& arch, std::string log) {
  Error error{ErrorKind::internal, Stage::compile, ErrorCode::compiler_failed, {}, {}, std::move(log), {}};
  switch (code) {
    case nvrtc_compilation:
      error.message = fmt::format(
          "NVRTC refused the generated source of `{}` for {}; this is a fault of tlxjit, please report it with the log",
          name, arch);
      break;
    case nvrtc_cancelled:
      error.kind = ErrorKind::environment;
      error.message = fmt::format("the compile of `{}` was cancelled", name);
      break;
    case nvrtc_out_of_memory:
      error.kind = ErrorKind::environment;
      error.code = ErrorCode::out_of_resources;
      error.message = fmt::format("NVRTC ran out of memory while compiling `{}`", name);
      break;
    case nvrtc_builtins:
      error.kind = ErrorKind::environment;
      error.code = ErrorCode::library_missing;
      error.message = "NVRTC does not find its libnvrtc-builtins.so; put that file beside libnvrtc.so";
      break;
    case nvrtc_invalid_option:
      // Our options are fixed, so the target is what an older NVRTC does not know.
      error.kind = ErrorKind::environment;
      error.message = fmt::format("this NVRTC does not accept the options for {}; CUDA 13.0 or newer does", arch);
      break;
    default: error.message = fmt::format("NVRTC failed on `{}` for {} with code {}", name, arch, code);
  }
  return error;
}

}  // namespace

std::vector<std::string> nvrtc_arguments(const std::string& arch, const NvrtcOptions& options) {
  // --minimal drops the built-in headers (4 ms), -default-device lets lambdas be device code; -v is where spills,
  // registers and the C75xx remarks come from. On a machine with a driver NVRTC keeps a cache of its own, whose hits
  // have no log: seen on an H200, a kernel of "0 registers" compiled in 49 ms.
  std::vector<std::string> words = {"-arch=" + arch,   "--std=c++17",        "--minimal",
                                    "-default-device", "--ptxas-options=-v", "-no-cache"};
  if (options.lineinfo) words.push_back("-lineinfo");
  words.insert(words.end(), options.extra.begin(), options.extra.end());
  return words;
}

Result<std::shared_ptr<Nvrtc>> Nvrtc::load(const NvrtcSearch& search) {
  std::string tried;
  std::optional<Error> unfit;  // of the first file that is there and does not serve
  for (const auto& name : nvrtc_candidates(search)) {
    std::string why;
    auto nvrtc = std::make_shared<Nvrtc>();
    nvrtc->library_ = open_library(name, why);
    Result<void> fit;
    if (nvrtc->library_) {
      fit = nvrtc->bind();
      if (fit) fit = nvrtc->open_builtins();
    } else {
      fit = missing(fmt::format("NVRTC cannot be loaded: {}; remove that file, or {}", why, way_out));
    }
    if (fit) {
      nvrtc->build_ids_ = nvrtc->library_.build_id() + " " + nvrtc->builtins_.build_id();
      nvrtc->identity_ = fmt::format("nvrtc {}.{} {}", nvrtc->major_, nvrtc->minor_, nvrtc->build_ids_);
      return nvrtc;
    }
    tried += (nvrtc->library_ ? fit.error().message + "\n" + fit.error().log : why + "\n");
    if (!unfit && (nvrtc->library_ || exists(name))) unfit = std::move(fit).error();
  }
  if (!unfit) return missing(fmt::format("NVRTC was not found; {}", way_out), std::move(tried));
  unfit->log = std::move(tried);
  return *unfit;
}

Result<void> Nvrtc::bind() {
#define OPTIONAL false
#define REQUIRED true
#define TLXJIT_NVRTC(need, name, params)                          \
  name = reinterpret_cast<int(*) params>(library_.symbol(#name)); \
  if (need && !name)                                              \
    return missing(fmt::format("{} lacks {}; it is not an NVRTC of CUDA 12 or newer", library_.path, #name), {});
#include "backends/nvidia/nvrtc_symbols.def"
#undef TLXJIT_NVRTC
#undef OPTIONAL
#undef REQUIRED
  if (nvrtcVersion(&major_, &minor_) != nvrtc_success) return missing(library_.path + " does not tell its version", {});
  if (major_ < oldest_nvrtc)
    return missing(fmt::format("{} is NVRTC {}.{}, and tlxjit needs that of CUDA {} or newer; {}", library_.path,
                               major_, minor_, oldest_nvrtc, way_out));
  return {};
}

// NVRTC opens its builtins by soname at the first compile and has no RPATH, so a copy in a folder
// of its own is found only if the process has that soname loaded already.
Result<void> Nvrtc::open_builtins() {
  const std::string file = fmt::format("libnvrtc-builtins.so.{}.{}", major_, minor_);
  std::vector<std::string> names;
  for (const std::string& folder : folders_of(library_.path)) names.push_back(fmt::format("{}/{}", folder, file));
  names.push_back(file);
  std::string log;
  for (const std::string& name : names) {
    std::string why;
    builtins_ = open_library(name, why);
    if (builtins_) return {};
    if (log.find(why) == std::string::npos) log += why + "\n";
  }
  return missing(fmt::format("{} needs {}, which cannot be loaded; put that file of the same package beside it, or {}",
                             library_.path, file, way_out),
                 std::move(log));
}

std::string Nvrtc::program_log(NvrtcProgram program) const {
  size_t size = 0;
  if (nvrtcGetProgramLogSize(program, &size) != nvrtc_success || size <= 1) return {};
  std::string log(size, '\0');
  if (nvrtcGetProgramLog(program, log.data()) != nvrtc_success) return {};
  log.resize(std::strlen(log.c_str()));
  return log;
}

Result<NvrtcResult> Nvrtc::compile(const std::string& source, const std::string& name, const std::string& arch,
                                   const NvrtcOptions& options) const {
  static auto* const use = new runtime::CompilerUse;  // of all copies of NVRTC in the process
  const auto inside = use->enter(Stage::compile);
  if (!inside) return inside.error();
  const auto words = nvrtc_arguments(arch, options);
  std::vector<const char*> argv;
  for (const auto& word : words) argv.push_back(word.c_str());

  const double wall = now_ms(CLOCK_MONOTONIC);
  const double cpu = now_ms(CLOCK_THREAD_CPUTIME_ID);
  NvrtcProgram program = nullptr;
  int code = nvrtcCreateProgram(&program, source.c_str(), (name + ".cu").c_str(), 0, nullptr, nullptr);
  if (code != nvrtc_success) return compile_error(code, name, arch, {});
  struct Guard {
    const Nvrtc& nvrtc;
    NvrtcProgram program;
    ~Guard() { nvrtc.nvrtcDestroyProgram(&program); }
  } guard{*this, program};

  if (options.cancelled && nvrtcSetFlowCallback)
    nvrtcSetFlowCallback(program, flow_callback, const_cast<std::function<bool()>*>(&options.cancelled));
  code = nvrtcCompileProgram(program, int(argv.size()), argv.data());

  NvrtcResult result;
  result.log = program_log(program);
  if (code != nvrtc_success) return compile_error(code, name, arch, std::move(result.log));
  size_t size = 0;
  code = nvrtcGetCUBINSize(program, &size);
  if (code == nvrtc_success && size > 0) {
    result.cubin.resize(size);
    code = nvrtcGetCUBIN(program, result.cubin.data());
  }
  if (code != nvrtc_success || result.cubin.empty()) return compile_error(code, name, arch, std::move(result.log));
  if (options.ptx && nvrtcGetPTXSize(program, &size) == nvrtc_success && size > 1) {
    result.ptx.resize(size);
    if (nvrtcGetPTX(program, result.ptx.data()) != nvrtc_success) result.ptx.clear();
    while (!result.ptx.empty() && result.ptx.back() == '\0') result.ptx.pop_back();
  }
  result.cpu_ms = now_ms(CLOCK_THREAD_CPUTIME_ID) - cpu;
  result.wall_ms = now_ms(CLOCK_MONOTONIC) - wall;
  return result;
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END

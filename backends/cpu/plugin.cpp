// backends/cpu/plugin.cpp — the plug-in's one exported symbol.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tlxjit_source_hash.h>  // made by the build

#include <exception>
#include <new>

#include "backends/cpu/compile_p.h"
#include "backends/cpu/executor_p.h"
#include "backends/cpu/float_mode_p.h"
#include "backends/cpu/host_p.h"
#include "backends/cpu/image_p.h"
#include "backends/cpu/sanitizers_p.h"

namespace {

using namespace tlxjit;

/// A kernel whose program `fill` fills in.
template <class Fill>
tlxjit_cpu_status make(tlxjit_cpu_kernel** kernel, tlxjit_cpu_failure* failure, Fill fill) {
  *kernel = nullptr;
  failure->status = TLXJIT_CPU_OK;
  failure->op = UINT32_MAX;
  failure->message[0] = '\0';
  failure->blocked_count = 0;
  const cpu::FloatMode mode;  // LLVM folds constants as the thread rounds
  try {
    auto made = std::make_unique<tlxjit_cpu_kernel>();
    const tlxjit_cpu_status status = fill(made->program);
    if (status == TLXJIT_CPU_OK) *kernel = made.release();
    return status;
  } catch (const std::bad_alloc&) {
    return cpu::fail(*failure, TLXJIT_CPU_MEMORY, "no memory to compile");
  } catch (const std::exception& e) {
    return cpu::fail(*failure, TLXJIT_CPU_INTERNAL, e.what());
  } catch (...) {
    return cpu::fail(*failure, TLXJIT_CPU_INTERNAL, "an exception while compiling");
  }
}

tlxjit_cpu_status compile(const char* text, size_t length, const tlxjit_cpu_options* options,
                          tlxjit_cpu_kernel** kernel, tlxjit_cpu_failure* failure) {
  return make(kernel, failure,
              [&](cpu::Program& program) { return cpu::compile({text, length}, *options, program, *failure); });
}

tlxjit_cpu_status load(const char* image, size_t size, tlxjit_cpu_kernel** kernel, tlxjit_cpu_failure* failure) {
  return make(kernel, failure,
              [&](cpu::Program& program) { return cpu::load_image({image, size}, program, *failure); });
}

constexpr const char* links = cpu::asan ? "address" : cpu::tsan ? "thread" : "nothing";

void destroy(tlxjit_cpu_kernel* kernel) { delete kernel; }

tlxjit_cpu_status launch(tlxjit_cpu_kernel* kernel, const tlxjit_cpu_launch* launch, tlxjit_cpu_failure* failure) {
  try {
    return cpu::launch(*kernel, *launch, *failure);
  } catch (const std::bad_alloc&) {
    return cpu::fail(*failure, TLXJIT_CPU_MEMORY, "no memory to launch");
  } catch (const std::exception& e) {
    return cpu::fail(*failure, TLXJIT_CPU_INTERNAL, e.what());
  } catch (...) {
    return cpu::fail(*failure, TLXJIT_CPU_INTERNAL, "an exception while launching");
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const tlxjit_cpu_backend* tlxjit_backend_v1() {
  static const tlxjit_cpu_backend backend = {sizeof(tlxjit_cpu_backend),
                                             TLXJIT_CPU_PLUGIN_VERSION,
                                             TLXJIT_SOURCE_HASH,
                                             cpu::cpu_name(),
                                             cpu::cpu_features(),
                                             links,
                                             compile,
                                             load,
                                             cpu::generations,
                                             destroy,
                                             launch};
  return &backend;
}

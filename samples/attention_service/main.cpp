// samples/attention_service/main.cpp — the device, the service, and the signals that end it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "kernels.h"
#include "launch.h"
#include "options.h"
#include "service.h"

using namespace attention_service;

namespace {

template <class T>
T must(tlxjit::Result<T> result) {
  if (result) return std::move(*result);
  throw std::runtime_error(to_string(result.error()));
}

/// What failed in tlxjit is the service's fault, not the client's.
template <class T>
T served(tlxjit::Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "attention_service: %s\n", to_string(result.error()).c_str());
  throw Refusal{500, result.error().message};
}

sigset_t block_signals() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  return ends;
}

void run(Options options) {
  const sigset_t ends = block_signals();  // before there is a thread that could get them
  tlxjit::EngineOptions engine_options;
  engine_options.cpu_threads = options.threads;
  const tlxjit::Engine engine(engine_options);
  const tlxjit::Device device = must(options.device.empty() ? engine.best_device() : engine.device(options.device));
  options.service.served.elems = Kernels::elems(device);

  std::optional<Kernels> kernels;
  Launcher launcher(device);
  const Runner runner{[&](const Shape& shape) { return kernels->ready(shape); },
                      [&](std::span<const PendingPtr> batch) {
                        const tlxjit::Executable kernel = served(kernels->executable(batch.front()->call.shape));
                        return served(launcher.run(kernel, batch));
                      }};
  const auto readings = [&] {
    const tlxjit::EngineCounters counters = engine.counters();
    return std::vector<Metrics::Reading>{
        {"engine_compiles_total", "Compiles begun.", true, static_cast<double>(counters.compiles)},
        {"engine_memory_hits_total", "Kernels that the engine had.", true, static_cast<double>(counters.memory_hits)},
        {"engine_memory_evictions_total", "Kernels that the engine dropped.", true,
         static_cast<double>(counters.memory_evictions)}};
  };
  Service service(options.service, runner, readings);
  kernels.emplace(engine, device, options.tier, [&service] { service.wake(); });
  const int port = service.bind(options.host, options.port);
  std::printf("listening on http://%s:%d\ndevice %s: %s\n", options.host.c_str(), port, device.name().c_str(),
              device.description().c_str());
  std::fflush(stdout);

  const int stopping = eventfd(0, EFD_CLOEXEC);
  std::thread serving([&] { service.serve(stopping); });
  int signal = 0;
  sigwait(&ends, &signal);
  // The next one ends the program at once.
  pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
  std::printf("draining\n");
  std::fflush(stdout);
  const uint64_t one = 1;
  if (write(stopping, &one, sizeof one) != sizeof one) throw std::runtime_error("eventfd");
  serving.join();
  kernels.reset();  // it wakes the service
  std::printf("answered %llu requests\n", static_cast<unsigned long long>(service.metrics().answers(200)));
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  try {
    run(options);
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "attention_service: %s\n", fault.what());
    return 1;
  }
}

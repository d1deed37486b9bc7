// samples/attention_service/main.cpp — the device, the service, and the signals that end it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
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

void prepare(const Kernels& kernels) {
  const tlxjit::Result<void> prepared = kernels.prepare([](size_t done, size_t total) {
    if (done == total || done % 8 == 0) std::printf("prepared %zu of %zu kernels\n", done, total);
    std::fflush(stdout);
  });
  if (!prepared) throw std::runtime_error(to_string(prepared.error()));
}

std::vector<Metrics::Reading> counters(const tlxjit::Engine& engine, const Kernels& kernels) {
  const tlxjit::EngineCounters e = engine.counters();
  const tlxjit::JitCounters j = kernels.counters();
  const auto counter = [](std::string_view name, std::string_view help, uint64_t value) {
    return Metrics::Reading{name, help, true, static_cast<double>(value)};
  };
  return {counter("engine_compiles_total", "Compiles begun.", e.compiles),
          counter("engine_memory_hits_total", "Kernels that the engine had.", e.memory_hits),
          counter("engine_memory_evictions_total", "Kernels that the engine dropped.", e.memory_evictions),
          counter("engine_disk_hits_total", "Kernels that the disk cache had.", e.disk_hits),
          counter("engine_disk_misses_total", "Kernels that it did not have.", e.disk_misses),
          counter("jit_misses_total", "Launches that found no version of their own.", j.misses),
          counter("jit_compiles_total", "Versions made.", j.compiles),
          counter("jit_failures_total", "Versions that could not be made.", j.failures),
          counter("jit_waits_total", "Launches that waited for a compile.", j.waits),
          counter("jit_stand_ins_total", "Keys that a less special version served for a while.", j.stand_ins),
          counter("jit_evictions_total", "Versions dropped.", j.evictions),
          counter("jit_held_back_total", "Keys that got no version, for there were too many.", j.held_back),
          {"jit_versions", "Versions that are loaded.", false, static_cast<double>(j.versions)}};
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
  if (!options.elems.empty()) {
    if (!std::ranges::includes(options.service.served.elems, options.elems))
      throw std::runtime_error(device.name() + " has no attention of f32");
    options.service.served.elems = options.elems;
  }

  const Kernels kernels(engine, device, options.service.served, options.tier);
  if (options.tier == tlxjit::Tier::Background) prepare(kernels);
  Launcher launcher(device);
  const Runner runner = [&](std::span<const PendingPtr> batch) { return served(launcher.run(kernels, batch)); };
  const auto readings = [&] { return counters(engine, kernels); };
  Service service(options.service, runner, readings);
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

// samples/attention_service/main.cpp — the device, the service, and the signals that end it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <future>
#include <sstream>
#include <stop_token>
#include <system_error>

#include "kernels.h"
#include "launch.h"
#include "options.h"
#include "readings.h"
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
  if (!result.error().key.empty()) std::fprintf(stderr, "  key: %s\n", result.error().key.c_str());
  throw Refusal{500, result.error().message};
}

std::string read(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw std::runtime_error("cannot read " + file);
  return text.str();
}

void write(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

/// The versions that are wanted before the first call.
void make_ready(const Kernels& kernels, const Options& options) {
  for (const std::string& file : options.manifests) {
    std::printf("prepared %zu keys of %s\n", must(kernels.warm(read(file))), file.c_str());
    std::fflush(stdout);
  }
  if (options.tier != tlxjit::Tier::background && options.tier != tlxjit::Tier::warn) return;
  const auto progress = [](size_t done, size_t total) {
    if (done == total || done % 8 == 0) std::printf("prepared %zu of %zu kernels\n", done, total);
    std::fflush(stdout);
  };
  const tlxjit::Result<void> prepared = kernels.prepare(progress);
  if (!prepared) throw std::runtime_error(to_string(prepared.error()));
}

/// False: a signal to end came first.
bool prepare(const Kernels& kernels, const Options& options, const sigset_t& ends, std::stop_source& stop) {
  auto prepared = std::async(std::launch::async, [&] { make_ready(kernels, options); });
  const timespec tick{0, 10'000'000};
  while (prepared.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    if (sigtimedwait(&ends, nullptr, &tick) < 0) continue;
    stop.request_stop();
    std::printf("ended before the kernels were there\n");
    return false;
  }
  prepared.get();
  return true;
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
  engine_options.cache_bundles = options.bundles;
  engine_options.log = [](std::string_view line) {
    std::fprintf(stderr, "attention_service: %.*s\n", static_cast<int>(line.size()), line.data());
  };
  const auto compile_seconds = std::make_shared<std::atomic<double>>(0);
  engine_options.event = [compile_seconds](const tlxjit::Event& event) {
    if (event.kind == tlxjit::EventKind::compile_finished) *compile_seconds += event.times->total() / 1000;
  };
  const tlxjit::Engine engine(engine_options);
  const tlxjit::Device device = must(options.device.empty() ? engine.best_device() : engine.device(options.device));
  options.service.served.elems = Kernels::elems(device);
  if (!options.elems.empty()) {
    if (!std::ranges::includes(options.service.served.elems, options.elems))
      throw std::runtime_error(device.name() + " has no attention of f32");
    options.service.served.elems = options.elems;
  }

  std::stop_source stop;
  const Kernels kernels(engine, device, options.service.served, options.tier, stop.get_token());
  Launcher launcher(device);
  const Runner runner = [&](std::span<const PendingPtr> batch) { return served(launcher.run(kernels, batch)); };
  const auto readings = [&] { return readings_of(engine.counters(), kernels.counters(), *compile_seconds); };
  Service service(options.service, runner, readings);
  const int port = service.bind(options.host, options.port);  // before what takes long, for it may be taken
  std::printf("bound to http://%s:%d\n", options.host.c_str(), port);
  std::fflush(stdout);
  if (!options.write_kernels.empty()) kernels.write(options.write_kernels);
  if (!prepare(kernels, options, ends, stop)) return;
  service.listen();
  std::printf("listening on http://%s:%d\ndevice %s: %s\n", options.host.c_str(), port, device.name().c_str(),
              device.description().c_str());
  if (std::fflush(stdout) && options.port == 0)
    throw std::runtime_error("standard output takes nothing, so that nobody learns the port: give one with --port");

  const int stopping = eventfd(0, EFD_CLOEXEC);
  if (stopping < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  std::thread serving([&] { service.serve(stopping); });
  int signal = 0;
  sigwait(&ends, &signal);
  // The next one ends the program at once.
  pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
  std::printf("draining\n");
  std::fflush(stdout);
  const uint64_t one = 1;
  if (::write(stopping, &one, sizeof one) != sizeof one) throw std::runtime_error("eventfd");
  serving.join();
  if (!options.write_manifest.empty()) write(options.write_manifest, kernels.manifest());
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

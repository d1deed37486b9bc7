// samples/attention_service/readings.cpp — counters by name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "readings.h"

namespace attention_service {

std::vector<Metrics::Reading> readings_of(const tlxjit::EngineCounters& e, const tlxjit::JitCounters& j,
                                          double compile_seconds) {
  const auto counter = [](std::string_view name, std::string_view help, uint64_t value) {
    return Metrics::Reading{name, help, true, static_cast<double>(value)};
  };
  const auto gauge = [](std::string_view name, std::string_view help, uint64_t value) {
    return Metrics::Reading{name, help, false, static_cast<double>(value)};
  };
  return {
      counter("engine_compiles_total", "Compiles begun.", e.compiles),
      counter("engine_compile_failures_total", "Compiles that gave an error.", e.failures),
      {"engine_compile_seconds_total", "Seconds of compiles that came to their end.", true, compile_seconds},
      counter("engine_memory_hits_total", "Kernels that the engine had.", e.memory_hits),
      counter("engine_memory_evictions_total", "Kernels that the engine dropped.", e.memory_evictions),
      counter("engine_disk_hits_total", "Kernels that the disk cache had.", e.disk_hits),
      counter("engine_disk_misses_total", "Kernels that it did not have.", e.disk_misses),
      counter("engine_user_hits_total", "Of its hits, those of the user's directory.", e.disk.user_hits),
      counter("engine_system_hits_total", "Those of the system's directory.", e.disk.system_hits),
      counter("engine_bundle_hits_total", "Those of bundles.", e.disk.bundle_hits),
      counter("engine_tier_errors_total", "Calls to tiers of the disk cache that failed.", e.disk.errors),
      counter("engine_bad_entries_total", "Entries of the disk cache that were not whole.", e.disk.bad_entries),
      gauge("engine_loaded_modules", "Kernels that are loaded.", e.loaded_modules),
      counter("engine_module_evictions_total", "Kernels unloaded because too many were loaded.", e.module_evictions),
      counter("jit_misses_total", "Launches that found no version of their own.", j.misses),
      counter("jit_compiles_total", "Versions made.", j.compiles),
      counter("jit_failures_total", "Versions that could not be made.", j.failures),
      counter("jit_waits_total", "Launches that waited for a compile.", j.waits),
      counter("jit_stand_ins_total", "Keys that a less special version served for a while.", j.stand_ins),
      counter("jit_evictions_total", "Versions dropped.", j.evictions),
      counter("jit_held_back_total", "Keys that got no version, for there were too many.", j.held_back),
      counter("jit_queue_full_total", "Compiles that the engine's queue had no room for.", j.queue_full),
      counter("jit_refused_total", "Launches that a sealed function refused.", j.refused),
      gauge("jit_versions", "Versions that are loaded.", j.versions)};
}

}  // namespace attention_service

// samples/attention_service/options.h — the service's command line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

#include "kernels.h"
#include "service.h"

namespace attention_service {

struct Options {
  std::string host = "127.0.0.1";
  int port = 8080;
  std::string device;            ///< empty: the best
  std::set<tlxjit::Elem> elems;  ///< empty: all that the device has
  int threads = 0;               ///< of a launch on the CPU; 0: all
  tlxjit::Tier tier = tlxjit::Tier::background;
  std::vector<std::string> manifests;  ///< files whose keys are loaded before it listens
  std::vector<std::string> bundles;    ///< EngineOptions::cache_bundles
  std::string write_manifest;          ///< a file, as the service ends
  std::string write_kernels;           ///< a folder
  ServiceOptions service;
};

/// Says what is wrong and ends the program where something is, as it does after --help.
Options parse_options(int argc, char** argv);

}  // namespace attention_service

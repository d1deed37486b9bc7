// tools/tlxjit/options.h — what each command is told on the command line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tlxjit/runtime/engine.h"

namespace tlxjit::cli {

/// Taken by every command.
struct CommonOptions {
  bool json = false;
  bool quiet = false;
  std::string cpu_plugin;
  std::vector<std::string> nvrtc_directories;

  EngineOptions engine() const {
    EngineOptions options;
    options.cpu_plugin = cpu_plugin;
    options.nvrtc_directories = nvrtc_directories;
    return options;
  }
};

/// `name=text`, as options take it.
struct Named {
  std::string name, text;
};

struct CompileCommand {
  std::string file;
  std::string target;
  std::string to;  ///< empty: nothing is written
  std::string output;
  bool locations = false;
  bool lineinfo = false;
  int64_t time_limit_ms = 0;
};

struct RunCommand {
  std::string file;
  std::string device;
  std::string as;
  std::vector<Named> arguments;
  std::vector<std::pair<std::string, int64_t>> dims;
  std::vector<Named> outputs;
  bool print = false;
  uint64_t seed = 0;
  int repeat = 0;
  int64_t time_limit_ms = 0;
  std::string cache_directory;  ///< empty: the user's
  bool no_cache = false;
};

/// Which store of compiled kernels.
struct StoreChoice {
  std::string directory;  ///< empty: the user's
  std::string bundle;     ///< a file; empty: a directory
  bool system = false;    ///< the directory is root's
};

struct ExplainCommand {
  std::string what;  ///< a file, or a key of the store
  std::string target;
  StoreChoice store;
};

struct WarmCommand {
  std::vector<std::string> manifests, kernels;  ///< files
  bool no_generic = false;                      ///< the keys alone, not kernels' generic versions
  std::vector<std::string> targets;             ///< that they are for, besides those of keys
  int threads = 1;
  bool lineinfo = false;
  int64_t time_limit_ms = 0;
  std::string cache_directory;  ///< empty: the user's
};

struct CacheCommand {
  StoreChoice store;
  std::vector<std::string> keys;  ///< empty: all
  bool details = false;
  bool remove = false;
  uint64_t most_bytes = 0;
  std::string output;
};

}  // namespace tlxjit::cli

// src/runtime/options_p.h — options of an engine from the environment.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tlxjit/runtime/engine.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// A row of options.def.
struct OptionInfo {
  std::string_view field;
  const char* environment;
  std::string_view meaning;
  std::string otherwise;  ///< the default, as it would be written in the environment
};
std::vector<OptionInfo> option_table();

/// Their names in the environment, by field.
namespace environment {
#define TLXJIT_OPTION(field, name, meaning) inline constexpr const char* field = name;
#include "src/runtime/options.def"
#undef TLXJIT_OPTION
}  // namespace environment

/// Sets what the program left as it is by default and the environment names; what it says wins. Values that cannot be
/// read are left out: one sentence for each is added to `faults`, and for each variable whose name is that of an option
/// but for a letter or two. With options.read_environment false, or raised rights
/// (AT_SECURE), nothing is read.
void read_environment(EngineOptions& options, std::vector<std::string>& faults);

}  // namespace runtime
TLXJIT_NAMESPACE_END

// samples/attention_service/command_line.h — options, each before its value: of the service and of its load generator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <map>
#include <string>

namespace attention_service {

/// Says what is wrong with the command line, and ends the program with status 2.
[[noreturn]] void refuse(const std::string& message);

/// Takes the value of an option; its name is for what it refuses.
using TakeValue = std::function<void(const std::string& option, const std::string& value)>;

/// Takes all options of the command line, the last of equal ones last. At --help it prints the usage and ends the
/// program; where there is no such option, or a value is missing, it refuses.
void take_options(int argc, char** argv, const char* usage, const std::map<std::string, TakeValue>& options);

}  // namespace attention_service

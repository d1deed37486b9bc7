// samples/attention_service/command_line.cpp — the walk over the words of a command line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace attention_service {

void refuse(const std::string& message) {
  std::fprintf(stderr, "%s: %s (--help says how)\n", program_invocation_short_name, message.c_str());
  std::exit(2);
}

void take_options(int argc, char** argv, const char* usage, const std::map<std::string, TakeValue>& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      std::fputs(usage, stdout);
      std::exit(0);
    }
    const auto option = options.find(word);
    if (option == options.end()) refuse("there is no option " + word);
    if (++i == argc) refuse(word + " wants a value");
    option->second(word, argv[i]);
  }
}

}  // namespace attention_service

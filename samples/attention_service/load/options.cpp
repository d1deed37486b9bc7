// samples/attention_service/load/options.cpp — the options and their help.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "options.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "samples/attention_service/command_line.h"

namespace load {

namespace {

using attention_service::refuse;

constexpr const char* usage = R"(usage: attention_load [option]...
Sends calls to attention_service at times drawn beforehand, whether or not earlier ones were answered, and tells how long
after its time each was answered.

  --host ADDRESS, --port N  of the service (127.0.0.1, 8080)
  --rate X                  calls a second, at the times of a Poisson process (20)
  --seconds X               (20)
  --threads N               calls under way at most; later ones start late, which counts as theirs (64)
  --seed N                  of all that is drawn (1)

  --trace FILE              lengths, one sequence a call: a CSV file, from its first row on, again and again
  --column NAME             its column; left out, the first
  --lognormal M,S           without a trace: e^x, x normal with mean M and deviation S (6.6,1)
  --longest N               longer ones are cut to this (4096)

  --shapes N                kinds of calls, one with a head more than the one before; they come in the first half (1)
  --heads N                 of the first kind (8)
  --head-size N             (64)
  --dtype TYPE              bf16, f16 or f32 (bf16)

  --check N                 answers that are compared with float64, after the run (8)
  --json FILE               the figures
  --help                    this text

Exit status: 0 all answers that were checked are right, and there were some; 1 not so; 2 the command line is wrong.
)";

double number(const std::string& option, const std::string& text, double least, double most) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end || !(value >= least) || value > most) {
    char range[64];
    std::snprintf(range, sizeof range, " takes a number from %g to %g", least, most);
    refuse(option + range + ", not '" + text + "'");
  }
  return value;
}

int whole(const std::string& option, const std::string& text, int least, int most) {
  const double value = number(option, text, least, most);
  if (value != std::floor(value)) refuse(option + " takes a whole number");
  return static_cast<int>(value);
}

tlxjit::Elem elem(const std::string& option, const std::string& text) {
  for (const tlxjit::Elem e : {tlxjit::Elem::bf16, tlxjit::Elem::f16, tlxjit::Elem::f32})
    if (text == tlxjit::to_string(e)) return e;
  refuse(option + " is bf16, f16 or f32");
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options o;
  const std::map<std::string, attention_service::TakeValue> options = {
      {"--host", [&](auto&, auto& text) { o.host = text; }},
      {"--port", [&](auto& option, auto& text) { o.port = whole(option, text, 1, 65535); }},
      {"--rate", [&](auto& option, auto& text) { o.rate = number(option, text, 0.01, 1e5); }},
      {"--seconds", [&](auto& option, auto& text) { o.seconds = number(option, text, 0.01, 1e5); }},
      {"--threads", [&](auto& option, auto& text) { o.threads = whole(option, text, 1, 900); }},
      {"--seed", [&](auto& option, auto& text) { o.seed = static_cast<unsigned>(whole(option, text, 0, INT32_MAX)); }},
      {"--trace", [&](auto&, auto& text) { o.trace = text; }},
      {"--column", [&](auto&, auto& text) { o.column = text; }},
      {"--lognormal",
       [&](auto& option, auto& text) {
         const size_t comma = text.find(',');
         if (comma == std::string::npos) refuse(option + " takes two numbers, say 6.6,1");
         o.mean = number(option, text.substr(0, comma), 0, 20);
         o.deviation = number(option, text.substr(comma + 1), 0, 10);
       }},
      {"--longest", [&](auto& option, auto& text) { o.longest = whole(option, text, 1, 1 << 24); }},
      {"--shapes", [&](auto& option, auto& text) { o.shapes = whole(option, text, 1, 64); }},
      {"--heads", [&](auto& option, auto& text) { o.heads = whole(option, text, 1, 64); }},
      {"--head-size", [&](auto& option, auto& text) { o.head_size = whole(option, text, 16, 256); }},
      {"--dtype", [&](auto& option, auto& text) { o.elem = elem(option, text); }},
      {"--check", [&](auto& option, auto& text) { o.checked = whole(option, text, 0, 1000); }},
      {"--json", [&](auto&, auto& text) { o.json = text; }},
  };
  attention_service::take_options(argc, argv, usage, options);
  return o;
}

}  // namespace load

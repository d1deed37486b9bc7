// samples/attention_service/options.cpp — the options and their help.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "options.h"

#include <charconv>

#include "command_line.h"

namespace attention_service {

namespace {

constexpr const char* usage = R"(usage: attention_service [option]...
Answers jagged attention over HTTP: POST /v1/attention, GET /metrics, GET /healthz. SIGTERM lets it answer what it has
and end.

  --host ADDRESS          to listen on (127.0.0.1)
  --port N                0: a free one, which the output tells (8080)
  --device NAME           cpu, cuda:0, ...; left out, the best there is
  --threads N             of a launch on the CPU; 0: as many as there are (0)
  --tier wait|background|sealed|warn
                          a number of heads that is new: wait compiles its own version of the kernel first; background
                          serves it at once with a generic one, made before the service listens, until its own is
                          there; sealed refuses it; warn tells standard error its key and serves it with a generic one
                          (background)

Kernels that are brought along:

  --bundle FILE           compiled ones, as tlxjit cache export writes them; may be repeated
  --manifest FILE         keys whose versions are loaded before the service listens; may be repeated
  --write-manifest FILE   the keys of the versions that were loaded, as the service ends
  --write-kernels FOLDER  the kernels' text, NAME.tlx, for tlxjit warm

What is served:

  --dtypes TYPE,...       f32, bf16, f16; left out, all that the device has
  --head-sizes N,...      elements of a head (64,128)
  --groups N,...          heads that share a key head (1,2,4,8)
  --heads N               heads of a call at most (128)
  --tokens N              tokens of a call at most (32768)
  --sequences N           sequences of a call at most (1024)
  --body-bytes N          bytes of a call at most (67108864)
  --json-bytes N          and as JSON (1048576)

What waits:

  --queue N               calls that wait at most; more get 429 (64)
  --held-bytes N          bytes of all calls that are in the service; more get 429 (536870912)
  --deadline-ms N         a call that does not say otherwise is answered within this time, or with 504 (30000)
  --batch N               calls of a launch at most (64)
  --batch-bytes N         and bytes of their tensors (268435456)
  --linger-ms N           how long a call may wait for company while nothing runs (0)

Connections:

  --connections N         open at a time, at most 900; more get 429 (256)
  --idle-ms N             without a request (5000)
  --header-ms N           for a request's header, all of it (5000)
  --body-ms N             for its body (20000)
  --write-ms N            for its answer (20000)

  --help                  this text

Clients are refused until it listens; SIGTERM ends it before that, too.

Exit status: 0 ended by SIGTERM or SIGINT, all calls answered; 1 something failed; 2 the command line is wrong.
)";

int64_t number(const std::string& option, std::string_view text, int64_t least, int64_t most) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    refuse(option + " takes a number from " + std::to_string(least) + " to " + std::to_string(most) + ", not '" +
           std::string(text) + "'");
  return value;
}

/// What stands between commas.
std::vector<std::string_view> parts(std::string_view text) {
  std::vector<std::string_view> all;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    all.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return all;
}

std::set<int> numbers(const std::string& option, std::string_view text, int least, int most, int multiple) {
  std::set<int> values;
  for (const std::string_view part : parts(text)) {
    const auto value = static_cast<int>(number(option, part, least, most));
    if (value % multiple) refuse(option + " takes multiples of " + std::to_string(multiple));
    values.insert(value);
  }
  return values;
}

std::set<tlxjit::Elem> elems(const std::string& option, std::string_view text) {
  std::set<tlxjit::Elem> values;
  for (const std::string_view part : parts(text)) {
    const auto elem = tlxjit::parse_elem(part);
    if (elem != tlxjit::Elem::f32 && elem != tlxjit::Elem::bf16 && elem != tlxjit::Elem::f16)
      refuse(option + " takes f32, bf16 and f16, not '" + std::string(part) + "'");
    values.insert(*elem);
  }
  return values;
}

tlxjit::Tier tier(const std::string& option, std::string_view text) {
  using tlxjit::Tier;
  for (const auto& [name, value] : {std::pair("wait", Tier::wait),
                                    {"background", Tier::background},
                                    {"sealed", Tier::sealed},
                                    {"warn", Tier::warn}})
    if (text == name) return value;
  refuse(option + " is wait, background, sealed or warn, not '" + std::string(text) + "'");
}

template <class T>
TakeValue to(T& value, int64_t least, int64_t most) {
  return [&value, least, most](const std::string& option, std::string_view text) {
    value = T(number(option, text, least, most));
  };
}

std::map<std::string, TakeValue> table(Options& o) {
  constexpr int64_t hour_ms = 3600 * 1000, tib = int64_t{1} << 40;
  ServiceOptions& s = o.service;
  return {
      {"--host", [&](const std::string&, std::string_view text) { o.host = text; }},
      {"--port", to(o.port, 0, 65535)},
      {"--device", [&](const std::string&, std::string_view text) { o.device = text; }},
      {"--threads", to(o.threads, 0, 4096)},
      {"--tier", [&](const std::string& option, std::string_view text) { o.tier = tier(option, text); }},
      {"--bundle", [&](const std::string&, const std::string& text) { o.bundles.push_back(text); }},
      {"--manifest", [&](const std::string&, const std::string& text) { o.manifests.push_back(text); }},
      {"--write-manifest", [&](const std::string&, std::string_view text) { o.write_manifest = text; }},
      {"--write-kernels", [&](const std::string&, std::string_view text) { o.write_kernels = text; }},
      {"--dtypes", [&](const std::string& option, std::string_view text) { o.elems = elems(option, text); }},
      {"--head-sizes", [&](const std::string& option,
                           std::string_view text) { s.served.head_sizes = numbers(option, text, 16, 256, 8); }},
      {"--groups",
       [&](const std::string& option, std::string_view text) { s.served.groups = numbers(option, text, 1, 128, 1); }},
      {"--heads", to(s.served.heads, 1, 1024)},
      {"--tokens", to(s.served.tokens, 1, 1 << 24)},
      {"--sequences", to(s.served.sequences, 1, 1 << 20)},
      {"--body-bytes", to(s.body_bytes, 1, int64_t{1} << 30)},
      {"--json-bytes", to(s.json_bytes, 1, 64 << 20)},
      {"--queue", to(s.queue.waiting, 1, 4096)},
      {"--held-bytes", to(s.held_bytes, 1, tib)},
      {"--deadline-ms", to(s.deadline, 1, hour_ms)},
      {"--batch", to(s.queue.batch, 1, 64)},
      {"--batch-bytes", to(s.queue.batch_bytes, 1, int64_t{1} << 33)},
      {"--linger-ms", to(s.queue.linger, 0, hour_ms)},
      {"--connections", to(s.connections, 1, 900)},  // httplib answers no socket from 1024 on
      {"--idle-ms", to(s.limits.idle, 1, hour_ms)},
      {"--header-ms", to(s.limits.header, 1, hour_ms)},
      {"--body-ms", to(s.limits.body, 1, hour_ms)},
      {"--write-ms", to(s.limits.write, 1, hour_ms)},
  };
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options o;
  take_options(argc, argv, usage, table(o));
  return o;
}

}  // namespace attention_service

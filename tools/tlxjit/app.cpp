// tools/tlxjit/app.cpp — commands and options.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/app.h"

#include <charconv>
#include <filesystem>

#include "tools/tlxjit/commands.h"
#include "tools/tlxjit/stores.h"

namespace tlxjit::cli {

namespace {

constexpr const char* about =
    "Looks at, compiles and runs tlxjit's kernels from their text, and looks after the cache of compiled ones.";

constexpr const char* exit_codes =
    "Exit codes:\n"
    "  0  done\n"
    "  1  refused: a fault of the kernel, of its arguments, or of what was looked at\n"
    "  2  the command line is wrong\n"
    "  3  the surroundings: files, memory, devices, drivers, compilers\n"
    "  4  a fault of tlxjit itself\n"
    "With --json, standard output is one document with the members command, ok, exit_code and those that the help of\n"
    "the command lists, or, of a failure, error: {kind, stage, code, message, file?, line?, log?, key?}. A ? marks\n"
    "what may not be there. --help gives its text in the member help, --version its number in the member version.";

std::string check_named(const std::string& text) {
  return text.find('=') == std::string::npos || text[0] == '=' ? "'" + text + "' is not of the form NAME=TEXT" : "";
}

Named named(const std::string& text) {
  const size_t at = text.find('=');
  return {text.substr(0, at), text.substr(at + 1)};
}

std::string check_dim(const std::string& text) {
  if (std::string fault = check_named(text); !fault.empty()) return fault;
  const std::string number = named(text).text;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error == std::errc() && end == number.data() + number.size() && value >= 0 && value <= INT32_MAX) return {};
  return "'" + text + "': a dim is a number from 0 to 2147483647";
}

/// Stores take absolute paths alone. What `..` is behind a link, the store's own walk finds.
std::string absolute(std::string path) {
  std::error_code error;
  auto whole = std::filesystem::absolute(path, error).string();
  return error ? path : whole;
}

std::string check_seed(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? "" : "a seed is a number from 0 to 2^64 - 1";
}

std::string check_key(const std::string& text) {
  return is_key(text) ? "" : "'" + text + "' is no key: 32 hexadecimal digits in lower case";
}

/// Adds commands to an app.
class Builder {
 public:
  explicit Builder(Invocation& to) : to_(to) {}

  std::unique_ptr<CLI::App> run() {
    auto app = std::make_unique<CLI::App>(about, "tlxjit");
    app->set_version_flag("--version", "tlxjit " TLXJIT_VERSION, "Print the version and end");
    app->set_help_flag("-h,--help", "Print this help and end");
    app->footer(exit_codes);
    app->require_subcommand(1);
    common(*app);
    devices(*app);
    compile(*app);
    run(*app);
    explain(*app);
    warm(*app);
    cache(*app);
    completions(*app);
    return app;
  }

 private:
  /// A command that ends in calling `fn`, which gives a Result<Report>.
  template <class Fn>
  CLI::App& command(CLI::App& parent, const char* name, const char* description, Fn fn) {
    CLI::App& app = *parent.add_subcommand(name, description);
    const std::string full = parent.get_parent() ? parent.get_name() + " " + name : name;
    app.final_callback([&to = to_, full, fn] {
      to.command = full;
      to.run = fn;
    });
    common(app);
    return app;
  }

  void common(CLI::App& app) {
    CommonOptions& common = to_.common;
    constexpr const char* group = "Common options";
    app.add_flag("--json", common.json, "One JSON document on standard output, errors too")->group(group);
    app.add_flag("-q,--quiet", common.quiet, "Nothing on standard error but errors")->group(group);
    app.add_option("--cpu-plugin", common.cpu_plugin,
                   "File of the CPU plug-in (else TLXJIT_CPU_PLUGIN, then near the program)")
        ->type_name("FILE")
        ->group(group);
    app.add_option("--nvrtc-dir", common.nvrtc_directories,
                   "Folder of libnvrtc, looked at first (then TLXJIT_NVRTC_DIR and the loader's places)")
        ->allow_extra_args(false)
        ->type_name("DIR")
        ->group(group);
  }

  void kernel_file(CLI::App& app, std::string& file) {
    app.add_option("file", file, "Text of a kernel, as tlxjit::print writes it; - is standard input")
        ->type_name("FILE.tlx")
        ->required();
  }

  void target(CLI::App& app, std::string& target) {
    app.add_option("--target", target,
                   "What to lower for: cpu, sm_90a; default: the text's own where it is lowered, else cpu")
        ->type_name("TARGET");
  }

  void time_limit(CLI::App& app, int64_t& ms) {
    app.add_option("--time-limit", ms, "Longest time of the compile, in milliseconds; 0: any")
        ->check(CLI::Range(int64_t{0}, int64_t{1} << 40).description(""))
        ->type_name("MS");
  }

  void devices(CLI::App& app) {
    command(app, "devices", "List what can be opened, and say why others cannot", [&to = to_] {
      return cli::devices(to.common);
    }).footer("JSON: devices: [{name, target, description, units, can_launch, can_compile, error?}], refused: [text].");
  }

  void compile(CLI::App& app) {
    auto options = std::make_shared<CompileCommand>();
    CLI::App& sub = command(app, "compile", "Verify and compile a kernel, and write one of the forms it passes through",
                            [options, &to = to_] { return cli::compile(*options, to.common); });
    kernel_file(sub, options->file);
    target(sub, options->target);
    sub.add_option("--to", options->to, "The form that is written; default: none, the kernel is compiled and told of")
        ->check(CLI::IsMember({"portable", "lowered", "source", "ptx", "cubin", "llvm-ir", "hsaco"}))
        ->type_name("FORM");
    sub.add_option("-o,--output", options->output, "Its file; default: standard output")->type_name("FILE");
    sub.add_flag("--locations", options->locations, "Source locations in portable and lowered text");
    sub.add_flag("--lineinfo", options->lineinfo, "Line tables in PTX and cubin, for profilers");
    time_limit(sub, options->time_limit_ms);
    sub.footer(
        "What is known of the kernel goes to standard error: signature, resources, registers, spills, whatever makes "
        "it\n"
        "slower than written. portable, lowered and source need no compiler, ptx and cubin NVRTC, llvm-ir the CPU "
        "plug-in, none a GPU.\n"
        "JSON: kernel, signature?, target?, resources?: {threads, shared_bytes, workspace_words, tensor_maps, ops},\n"
        "times_ms?: {verify, lower, emit, compile, load, look_up}, report?: {registers, spill_store_bytes, "
        "spill_load_bytes,\n"
        "stack_bytes, barriers, diagnostics, remarks}, to?, bytes?, file? or text?.");
  }

  void run(CLI::App& app) {
    struct Texts {
      std::vector<std::string> arguments, dims, outputs;
    };
    auto options = std::make_shared<RunCommand>();
    auto texts = std::make_shared<Texts>();
    CLI::App& sub = command(app, "run", "Launch a kernel on made or given data, and tell what it wrote",
                            [options, texts, &to = to_] {
                              for (const auto& text : texts->arguments) options->arguments.push_back(named(text));
                              for (const auto& text : texts->outputs) options->outputs.push_back(named(text));
                              for (const auto& text : texts->dims)
                                options->dims.emplace_back(named(text).name, std::stoll(named(text).text));
                              return cli::run(*options, to.common);
                            });
    kernel_file(sub, options->file);
    sub.add_option("-a,--arg", texts->arguments,
                   "A tensor's elements: zeros, ones, random, arange, a number, or a file: .npy, else its raw bytes; a "
                   "scalar's value. Tensors that are only written begin as zeros. May be repeated")
        ->allow_extra_args(false)
        ->check(check_named)
        ->type_name("NAME=VALUE");
    sub.add_option("-d,--dim", texts->dims, "The size of a dim; those of .npy files need not be said. May be repeated")
        ->allow_extra_args(false)
        ->check(check_dim)
        ->type_name("NAME=N");
    sub.add_option(
           "--out", texts->outputs,
           "Writes a tensor after the first call: .npy (bf16 and f8 as f32), else its raw bytes. May be repeated")
        ->allow_extra_args(false)
        ->check(check_named)
        ->type_name("NAME=FILE");
    sub.add_flag("--print", options->print, "Print the first 1024 elements of what is written");
    sub.add_option("--device", options->device, "cpu, cuda:0, …; default: the best that there is")->type_name("NAME");
    sub.add_option("--as", options->as, "On the CPU: run what is lowered for this target, say sm_90a")
        ->type_name("TARGET");
    sub.add_option("--repeat", options->repeat, "Calls to time after the first one; the median is told")
        ->check(CLI::Range(0, 1000000).description(""))
        ->type_name("N");
    sub.add_flag("--no-cache", options->no_cache, "Compile anew, and keep nothing on disk");
    sub.add_option("--cache-dir", options->cache_directory,
                   "Directory of compiled kernels; default: as of `tlxjit cache`")
        ->transform(absolute)
        ->type_name("DIR");
    sub.add_option("--seed", options->seed, "Of random elements")->check(check_seed)->type_name("N");
    time_limit(sub, options->time_limit_ms);
    sub.footer(
        "Random floats lie in [-1, 1), random integers in -8…7 or 0…15; the same seed gives the same on every "
        "machine.\n"
        "What the first call wrote is told with a checksum (XXH3, 128 bits) of its bytes. Times are from the launch "
        "to\n"
        "the end of its work, as a program that waits for it sees them.\n"
        "JSON: kernel, signature, device, target, dims: {name: size},\n"
        "times_ms: {verify, lower, emit, compile, load, look_up}, from_cache, first_ms,\n"
        "outputs: [{name, elem, dims, bytes, checksum, min?, max?, mean?, non_finite?, elements?, file?}],\n"
        "repeat?: {calls, median_ms, min_ms, max_ms}, log: [text], printed: [line], printed_left_out?.\n"
        "The figures are of the finite elements.");
  }

  void explain(CLI::App& app) {
    auto options = std::make_shared<ExplainCommand>();
    CLI::App& sub = command(app, "explain", "Tell what a kernel is made of, what its calls are checked for, its key",
                            [options, &to = to_] { return cli::explain(*options, to.common); });
    sub.add_option("what", options->what, "Text of a kernel, - for standard input, or the key of a cache's entry")
        ->type_name("FILE.tlx|KEY")
        ->required();
    target(sub, options->target);
    store(sub, options->store);
    sub.footer(
        "JSON: kernel, level, target, signature, resources: {threads, shared_bytes, shared_limit, workspace_words,\n"
        "tensor_maps, ops}, parameters: [{name, kind, elem, extents?, read?, "
        "written?}],\n"
        "rings: [{stages, fields, at?}], tasks: [{name, warps, replicas, registers?, first_warp?, one_thread?, at?}],\n"
        "buffers: [{slots, elements, bytes, offset, swizzle, at?}], barriers: [{name, slots, arrivals, at?}],\n"
        "launch_checks: [text], key: {key?, made_of: [text], unknown?}; of a key also entry: {bytes, image_bytes, "
        "image_target,\n"
        "store}.");
  }

  void store(CLI::App& app, StoreChoice& choice) {
    auto* directory = app.add_option("--dir", choice.directory,
                                     "Directory of the cache; default: TLXJIT_CACHE_DIR, $XDG_CACHE_HOME/tlxjit, "
                                     "$HOME/.cache/tlxjit")
                          ->transform(absolute)
                          ->type_name("DIR");
    auto* bundle = app.add_option("--bundle", choice.bundle, "A bundle, as export writes it, in place of a directory")
                       ->transform(absolute)
                       ->type_name("FILE")
                       ->excludes(directory);
    app.add_flag("--system", choice.system,
                 "The directory is the system's: root's, with all that is in it; default: TLXJIT_SYSTEM_CACHE_DIR")
        ->excludes(bundle);
  }

  void warm(CLI::App& app) {
    auto options = std::make_shared<WarmCommand>();
    CLI::App& sub = command(
        app, "warm", "Compile kernels' generic versions, and the keys of JitFunctions' manifests, into the disk cache",
        [options, &to = to_] { return cli::warm(*options, to.common); });
    sub.add_option("manifest", options->manifests, "Manifests, or single keys, as JSON; - is standard input")
        ->type_name("FILE.json");
    sub.add_option("-k,--kernel", options->kernels,
                   "Portable text of a generic kernel, as tlxjit::print writes it of what the generator gives. May be "
                   "repeated; keys find theirs by its hash")
        ->allow_extra_args(false)
        ->type_name("FILE.tlx")
        ->required();
    sub.add_flag("--no-generic", options->no_generic,
                 "The keys alone: not each kernel's generic version, which `prepare` and calls without a version of "
                 "their own want");
    sub.add_option("--target", options->targets,
                   "Generic versions for this target, too: cpu, sm_90a. Those of a kernel that keys name are for what "
                   "these are for; else, for what any key is for. May be repeated")
        ->allow_extra_args(false)
        ->type_name("TARGET");
    sub.add_option("-j,--threads", options->threads, "Threads that compile")
        ->check(CLI::Range(1, 64).description(""))
        ->type_name("N");
    sub.add_flag("--lineinfo", options->lineinfo, "Line tables, as with CompileOptions::lineinfo");
    sub.add_option("--cache-dir", options->cache_directory, "Directory of the cache; default: as of `tlxjit cache`")
        ->transform(absolute)
        ->type_name("DIR");
    time_limit(sub, options->time_limit_ms);
    sub.footer(
        "Keys for sm_90a need NVRTC and no GPU. A program finds what was compiled if its tlxjit, its compilers and, "
        "for\n"
        "the CPU, its processor are those of this one. The exit code is 1 if a version failed, or a key's kernel was "
        "not\n"
        "given; the others are there. It is 3 if what was compiled is not in the cache.\n"
        "JSON: keys, generic: versions, compiled, found, failed, other_kernels: keys of kernels that were not given, "
        "not_kept,\n"
        "errors: [error with kernel: a name, key?: the manifest's, as text, promises, hash?: 32 digits that name what "
        "is\n"
        "compiled], log: [text].");
    sub.parse_complete_callback([options] {
      if (options->manifests.empty() && options->targets.empty()) throw CLI::RequiredError("manifest, or --target,");
      if (options->no_generic && options->manifests.empty())
        throw CLI::RequiredError("manifest, where --no-generic is given,");
    });
  }

  template <class Fn>
  CLI::App& store_command(CLI::App& parent, const char* name, const char* description, const char* members,
                          const std::shared_ptr<CacheCommand>& options, Fn fn) {
    CLI::App& sub = command(parent, name, description, [options, fn, &to = to_] { return fn(*options, to.common); });
    store(sub, options->store);
    sub.footer(std::string("A directory that is named must be there; one that never was a cache is told, as warning.\n"
                           "JSON: store, warning?, ") +
               members + ".");
    return sub;
  }

  void cache(CLI::App& app) {
    CLI::App& cache = *app.add_subcommand("cache", "Look after compiled kernels on disk");
    cache.require_subcommand(1);
    common(cache);
    auto options = std::make_shared<CacheCommand>();
    store_command(cache, "ls", "List the entries, those used last first",
                  "entries: [{key, bytes, last_use?}], with --long also kernel, target, image_bytes, and\n"
                  "as?: what it is lowered for, promises?: what it counts on in calls, or bad: why",
                  options, cache_ls)
        .add_flag("-l,--long", options->details, "Kernel, target and promises too, which reads every entry");
    store_command(cache, "stat", "Count the entries and their bytes",
                  "entries, bytes, largest_bytes, last_use?, oldest_use?", options, cache_stat);
    store_command(cache, "verify", "Check that every entry is whole; the exit code is 1 if one is not",
                  "good, bad: [{key, why}], removed", options, cache_verify)
        .add_flag("--remove", options->remove, "Take bad entries away; the exit code is 0 then");
    store_command(cache, "trim", "Take away the entries that were used longest ago",
                  "removed, removed_bytes, left_behind: files of writers that died", options, cache_trim)
        .add_option("--to", options->most_bytes,
                    "Bytes that may stay, say 512M or 2G: K, M, G, T are powers of 1024, and so are KB, KiB, …")
        ->transform(CLI::AsSizeValue(false))
        ->type_name("SIZE")
        ->required();
    store_command(cache, "clear", "Take all entries away", "removed, removed_bytes, left_behind", options, cache_clear);
    CLI::App& bundle =
        store_command(cache, "export",
                      "Write entries to a bundle, one file that a service ships; where one is not whole, or there is "
                      "none, nothing is written and the exit code is 1",
                      "file, entries, bytes", options, cache_export);
    bundle.add_option("file", options->output, "The bundle")->type_name("FILE")->required();
    bundle.add_option("key", options->keys, "Keys of the entries; default: all")->check(check_key)->type_name("KEY");
  }

  void completions(CLI::App& app) {
    auto shell = std::make_shared<std::string>();
    CLI::App& sub = command(app, "completion", "Print a script that completes command lines in a shell",
                            [shell, &app]() -> Result<Report> {
                              Report report;
                              report.text = completion(app, *shell);
                              report.json["script"] = report.text;
                              return report;
                            });
    sub.footer("JSON: script.");
    sub.add_option("shell", *shell, "bash: source <(tlxjit completion bash); zsh: the same, after compinit")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh"}))
        ->type_name("SHELL");
  }

  Invocation& to_;
};

}  // namespace

std::unique_ptr<CLI::App> make_app(Invocation& to) { return Builder(to).run(); }

}  // namespace tlxjit::cli

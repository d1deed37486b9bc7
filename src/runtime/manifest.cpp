// src/runtime/manifest.cpp — keys of JitFunctions as JSON, and compiling them ahead of their calls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <optional>
#include <set>
#include <thread>

#include "src/runtime/block_signals_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/jit_state_p.h"
#include "src/runtime/manifest_p.h"

TLXJIT_NAMESPACE_BEGIN

using runtime::Json;

namespace runtime {

namespace {

Json key_object(const JitState& state, const Family& family, std::span<const int64_t> codes) {
  Json arguments = Json::array();
  for (const Signature::Argument& a : family.signature().arguments) arguments.push_back(text_of(a));
  Json key{{"function", state.name()}, {"ir", family.ir_hash()}, {"target", state.device_target()}};
  if (!state.as().empty()) key["as"] = state.as();
  key["policies"] = family.policies();
  key["arguments"] = std::move(arguments);
  key["codes"] = std::vector<int64_t>(codes.begin(), codes.end());
  key["promises"] = family.text(codes);
  return key;
}

/// Text with bytes that are no UTF-8, such as a name of the user's, is written with replacements.
std::string dump(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

Error bad_manifest(const std::string& what) {
  return error_of(ErrorKind::user, Stage::parse, ErrorCode::invalid_text, "the manifest: " + what);
}

/// The inverse of text_of.
std::optional<Signature::Argument> parse_argument(std::string_view text) {
  Signature::Argument a;
  if (const size_t colon = text.rfind(": "); colon != text.npos) {
    a.name = text.substr(0, colon);
    text.remove_prefix(colon + 2);
  }
  if (const size_t open = text.find('['); open != text.npos) {
    if (text.size() != open + 3 || text.back() != ']' || text[open + 1] < '1' || text[open + 1] > '5')
      return std::nullopt;
    a.is_tensor = true;
    a.rank = text[open + 1] - '0';
    text = text.substr(0, open);
  }
  const auto elem = parse_elem(text);
  if (!elem) return std::nullopt;
  a.elem = *elem;
  return a;
}

/// A key that was asked for.
struct Wanted {
  const Family* family = nullptr;
  CallClass c;
};

/// The key that an object of a manifest names. The kernel is built for it if that has not been done.
Result<Wanted> read_key(JitState& state, const Json& object) {
  const auto text = [&](const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  // As JSON has them: what is no UTF-8 is replaced there.
  const auto is_same = [&](const char* what, const std::string& here) {
    return dump(text(what), -1) == dump(here, -1);
  };
  const auto is_not = [&](const char* what, const std::string& here) {
    return bad_manifest(std::string("a key's ") + what + " is `" + text(what) + "`, and this function's `" + here +
                        "`: make the manifest anew");
  };
  if (!object.is_object()) return bad_manifest("a key must be an object");
  if (!is_same("function", state.name())) return is_not("function", state.name());
  // One without `as` may be older than that field: its target is what was compiled for.
  const bool is_older = text("as").empty() && text("target") == state.target();
  if (!is_older && text("target") != state.device_target()) return is_not("target", state.device_target());
  if (!is_older && text("as") != state.as()) return is_not("as", state.as());
  const auto arguments = object.find("arguments");
  if (arguments == object.end() || !arguments->is_array() || arguments->size() > max_arguments)
    return bad_manifest("a key has a list of arguments");
  Signature signature;
  signature.target = state.target();
  for (const Json& argument : *arguments) {
    auto parsed = argument.is_string() ? parse_argument(argument.get<std::string>()) : std::nullopt;
    if (!parsed) return bad_manifest("an argument is written `bf16[2]` or `scale: f32`, not " + dump(argument, -1));
    signature.arguments.push_back(std::move(*parsed));
  }
  auto family = state.family(signature);
  if (!family) return family.error();
  if (text("ir") != (*family)->ir_hash()) return is_not("ir", (*family)->ir_hash());
  if (!is_same("policies", (*family)->policies())) return is_not("policies", (*family)->policies());
  const auto codes = object.find("codes");
  std::vector<int64_t> numbers;
  if (codes != object.end() && codes->is_array())
    for (const Json& code : *codes)
      if (code.is_number_integer() && (!code.is_number_unsigned() || code.get<uint64_t>() <= INT64_MAX))
        numbers.push_back(code.get<int64_t>());
  if (codes == object.end() || numbers.size() != codes->size() || !(*family)->accepts(numbers))
    return bad_manifest("a key has as many codes, integers, as the function looks at, each of which a call can have");
  Wanted wanted{*family, {}};
  std::copy(numbers.begin(), numbers.end(), wanted.c.codes.begin());
  wanted.c.size = numbers.size();
  (*family)->finish(wanted.c);
  return wanted;
}

/// What the threads that warm share.
class Warming {
 public:
  Warming(JitState& state, std::vector<Json> keys, const WarmOptions& options)
      : state_(state), keys_(std::move(keys)), options_(options) {}

  Result<WarmReport> run() {
    const size_t helpers = std::min(static_cast<size_t>(options_.threads), keys_.size()) - (keys_.empty() ? 0 : 1);
    {
      std::vector<std::jthread> threads;
      try {
        const BlockSignals blocked;
        threads.reserve(helpers);
        for (size_t i = 0; i < helpers; ++i) threads.emplace_back([this] { work(); });
      } catch (const std::exception&) {  // no thread, or no memory for one: those that there are do it
      }
      work();
    }
    if (fault_) return *std::move(fault_);
    look_again();
    report_.left = keys_.size() - done_;
    return std::move(report_);
  }

 private:
  using Key = std::pair<const Family*, std::vector<int64_t>>;
  struct Warmed {
    const Json* text;
    Key key;
    bool present;
  };
  size_t& count_of(const Warmed& warmed) { return warmed.present ? report_.present : report_.compiled; }

  /// What is thrown, say for want of memory, is kept for the thread that warms, and ends the others.
  void work() noexcept {
    try {
      work_off();
    } catch (...) {
      const Error error = caught(Stage::compile);
      std::lock_guard lock(mutex_);
      stop(error);
    }
  }
  void stop(Error error) {
    stopped_ = true;
    if (!fault_) fault_ = std::move(error);
  }
  void work_off() {
    std::unique_lock lock(mutex_);
    while (next_ < keys_.size() && !stopped_) {
      const Json& key = keys_[next_++];
      lock.unlock();
      auto warmed = guarded(Stage::compile, [&]() -> Result<Warmed> {
        auto wanted = read_key(state_, key);
        if (!wanted) return wanted.error();
        auto present = state_.warm(*wanted->family, wanted->c);
        if (!present) return present.error();
        const auto codes = wanted->c.view();
        return Warmed{&key, {wanted->family, {codes.begin(), codes.end()}}, *present};
      });
      lock.lock();
      ++done_;
      if (!warmed) {
        fail(std::move(warmed).error(), key);
      } else {
        ++count_of(*warmed);
        warmed_.push_back(*std::move(warmed));
      }
      if (options_.progress && !stopped_) tell(key);
    }
  }
  /// Later keys, or calls meanwhile, may have had earlier ones unloaded.
  void look_again() {
    const auto list = state_.loaded();
    const std::set<Key> loaded(list.begin(), list.end());
    for (const Warmed& warmed : warmed_) {
      if (loaded.contains(warmed.key)) continue;
      --count_of(warmed);
      fail(error_of(ErrorKind::user, Stage::compile, ErrorCode::out_of_resources,
                    "`" + state_.name() +
                        "`: the key's version was unloaded again for others: EngineOptions::loaded_modules bounds what "
                        "all have loaded, or calls came meanwhile"),
           *warmed.text);
    }
  }
  void fail(Error error, const Json& key) {
    if (error.key.empty()) error.key = dump(key, -1);
    report_.errors.push_back(std::move(error));
  }
  /// Under the lock: one at a time.
  void tell(const Json& key) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    const std::string text = dump(key, -1);
    const auto left = static_cast<double>(keys_.size() - done_);
    const auto goes_on = call_host(Stage::compile, "WarmOptions::progress", [&]() -> Result<bool> {
      return options_.progress({done_, keys_.size(), text, passed.count() / static_cast<double>(done_) * left});
    });
    if (!goes_on)
      stop(goes_on.error());
    else if (!*goes_on)
      stopped_ = true;
  }

  JitState& state_;
  const std::vector<Json> keys_;
  const WarmOptions& options_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  size_t next_ = 0, done_ = 0;
  bool stopped_ = false;
  std::optional<Error> fault_;
  std::vector<Warmed> warmed_;
  WarmReport report_;
};

}  // namespace

Result<std::vector<Json>> read_manifest(std::string_view text) {
  Json json = parse_json(text);
  if (json.is_discarded())
    return bad_manifest("it is no JSON, or lists and objects in it are nested deeper than " +
                        std::to_string(deepest_json));
  if (!json.is_object()) return bad_manifest("it must be an object");
  if (!json.contains("tlxjit_manifest")) return std::vector<Json>{std::move(json)};
  if (json["tlxjit_manifest"] != 1) return bad_manifest("its format must be 1, no other is known");
  const auto keys = json.find("keys");
  if (keys == json.end() || !keys->is_array()) return bad_manifest("it must have a list `keys`");
  return std::vector<Json>(std::make_move_iterator(keys->begin()), std::make_move_iterator(keys->end()));
}

std::string key_json(const JitState& state, const Family& family, std::span<const int64_t> codes) {
  return dump(key_object(state, family, codes), -1);
}

}  // namespace runtime

std::vector<std::string> JitFunction::keys() const {
  std::vector<std::string> keys;
  if (!state_) return keys;
  for (const auto& [family, codes] : state_->loaded()) keys.push_back(runtime::key_json(*state_, *family, codes));
  return keys;
}

std::string JitFunction::manifest() const {
  Json json{{"tlxjit_manifest", 1}, {"keys", Json::array()}};
  if (state_)
    for (const auto& [family, codes] : state_->loaded())
      json["keys"].push_back(runtime::key_object(*state_, *family, codes));
  return runtime::dump(json, 1) + "\n";
}

Result<WarmReport> JitFunction::warm(std::string_view manifest, const WarmOptions& options) const {
  return runtime::guarded(Stage::compile, [&]() -> Result<WarmReport> {
    if (!state_)
      return runtime::error_of(ErrorKind::user, Stage::compile, ErrorCode::bad_argument,
                               "a JitFunction that was moved from is warmed here");
    if (options.threads < 1 || options.threads > 64)
      return runtime::error_of(ErrorKind::user, Stage::compile, ErrorCode::bad_argument,
                               "WarmOptions::threads is 1 to 64, not " + std::to_string(options.threads));
    auto keys = runtime::read_manifest(manifest);
    if (!keys) return keys.error();
    return runtime::Warming(*state_, std::move(*keys), options).run();
  });
}

TLXJIT_NAMESPACE_END

// tools/tlxjit/cache.cpp — `tlxjit cache`: the entries of a store of compiled kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "src/runtime/entry_p.h"
#include "src/runtime/guard_p.h"
#include "tlxjit/ir/text.h"
#include "tools/tlxjit/commands.h"
#include "tools/tlxjit/progress.h"
#include "tools/tlxjit/promises.h"
#include "tools/tlxjit/stores.h"
#include "tools/tlxjit/visible.h"

namespace tlxjit::cli {

namespace {

using TimePoint = std::chrono::system_clock::time_point;

/// `2026-11-30T10:03:31Z`; empty where the store does not know.
std::string time_of(TimePoint at) {
  if (at == TimePoint()) return {};
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(at)));
}

struct Opened {
  std::shared_ptr<Store> store;
  std::vector<StoredEntry> entries;  ///< those used last first, then by key
  std::string warning = {};

  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const StoredEntry& entry : entries) sum += entry.bytes;
    return sum;
  }
  Report report() const {
    Report report;
    report.json["store"] = store->describe();
    if (warning.empty()) return report;
    report.json["warning"] = warning;
    report.notes = "warning: " + warning + "\n";
    return report;
  }
};

Result<Opened> open_entries(const CacheCommand& command, bool writes = false) {
  auto store = open_store(command.store, writes);
  if (!store) return store.error();
  auto entries = (*store)->list();
  if (!entries) return entries.error();
  std::ranges::sort(*entries, [](const StoredEntry& a, const StoredEntry& b) {
    return a.last_use != b.last_use ? a.last_use > b.last_use : a.key < b.key;
  });
  return Opened{std::move(*store), std::move(*entries), no_cache_text(command.store)};
}

Json entry_json(const StoredEntry& entry) {
  Json json{{"key", entry.key}, {"bytes", entry.bytes}};
  if (const std::string time = time_of(entry.last_use); !time.empty()) json["last_use"] = time;
  return json;
}

/// An entry, or what is wrong with it; an Error where it cannot be read. Nothing where it has gone meanwhile.
Result<std::optional<Result<runtime::Entry>>> checked(Store& store, const std::string& key) {
  auto bytes = store.get(key);
  if (!bytes) return bytes.error();
  if (!*bytes) return std::optional<Result<runtime::Entry>>();
  return std::optional(runtime::decode(**bytes, key));
}

/// Anyone can write an entry: what is in it must not write rows of its own.
std::string on_a_line(std::string_view text) { return visible(text, ""); }

}  // namespace

Result<Report> cache_ls(const CacheCommand& command, const CommonOptions& common) {
  auto opened = open_entries(command);
  if (!opened) return opened.error();
  Report report = opened->report();
  Json& list = report.json["entries"] = Json::array();
  Progress progress("ls", opened->entries.size(), !command.details || common.quiet || common.json);
  for (const StoredEntry& entry : opened->entries) {
    Json json = entry_json(entry);
    std::string details;
    if (command.details) {
      auto check = checked(*opened->store, entry.key);
      if (!check) return check.error();
      if (*check && **check) {
        const runtime::Entry& facts = ***check;
        json["kernel"] = facts.kernel;
        json["target"] = facts.target;
        json["image_bytes"] = facts.image.size();
        details = fmt::format("  {}  {}", on_a_line(facts.kernel), on_a_line(facts.target));
        if (const auto module = parse(facts.module)) {
          json["as"] = module->target;
          json["promises"] = promises_of(*module);
          if (!facts.target.starts_with(module->target)) details += on_a_line(" as " + module->target);
          details += "  " + on_a_line(promises_of(*module));
        }
      } else {
        json["bad"] = *check ? (**check).error().message : "gone meanwhile";
        details = "  bad: " + json["bad"].get<std::string>();
      }
    }
    const std::string time = time_of(entry.last_use);
    report.text += fmt::format("{}  {:>10}  {:<20}{}\n", entry.key, entry.bytes, time.empty() ? "-" : time, details);
    list.push_back(std::move(json));
    progress.step(entry.key);
  }
  return report;
}

Result<Report> cache_stat(const CacheCommand& command, const CommonOptions&) {
  auto opened = open_entries(command);
  if (!opened) return opened.error();
  Report report = opened->report();
  const auto& entries = opened->entries;
  uint64_t largest = 0;
  for (const StoredEntry& entry : entries) largest = std::max(largest, entry.bytes);
  report.json["entries"] = entries.size();
  report.json["bytes"] = opened->bytes();
  report.json["largest_bytes"] = largest;
  report.text = fmt::format("{}: {}, {}", opened->store->describe(), count_text(entries.size(), "entry"),
                            bytes_text(opened->bytes()));
  if (!entries.empty()) report.text += ", the largest " + bytes_text(largest);
  report.text += '\n';
  // Sorted: the newest is first, those of no known time are last.
  if (entries.empty() || entries.front().last_use == TimePoint()) return report;
  const auto oldest = std::ranges::find_if(entries.rbegin(), entries.rend(),
                                           [](const StoredEntry& entry) { return entry.last_use != TimePoint(); });
  report.json["last_use"] = time_of(entries.front().last_use);
  report.json["oldest_use"] = time_of(oldest->last_use);
  report.text +=
      fmt::format("last used {}, the oldest {}\n", time_of(entries.front().last_use), time_of(oldest->last_use));
  return report;
}

Result<Report> cache_verify(const CacheCommand& command, const CommonOptions& common) {
  auto opened = open_entries(command, command.remove);
  if (!opened) return opened.error();
  Report report = opened->report();
  Json bad = Json::array();
  uint64_t good = 0, removed = 0;
  Progress progress("verify", opened->entries.size(), common.quiet || common.json);
  for (const StoredEntry& entry : opened->entries) {
    auto check = checked(*opened->store, entry.key);
    if (!check) return check.error();
    progress.step(entry.key);
    if (!*check) continue;
    if (**check) {
      ++good;
      continue;
    }
    const std::string why = (**check).error().message;
    bad.push_back({{"key", entry.key}, {"why", why}});
    report.text += fmt::format("{}  {}\n", entry.key, why);
    if (!command.remove) continue;
    TLXJIT_TRY(opened->store->remove(entry.key));
    ++removed;
  }
  report.text += fmt::format("{}: {} good, {} bad{}\n", opened->store->describe(), good, bad.size(),
                             command.remove ? fmt::format(", {} removed", removed) : "");
  report.exit = bad.size() > removed ? exit_refused : exit_done;
  report.json["good"] = good;
  report.json["bad"] = std::move(bad);
  report.json["removed"] = removed;
  return report;
}

namespace {

Result<Report> taken_away(const CacheCommand& command, uint64_t most_bytes) {
  auto store = open_store(command.store, true);
  if (!store) return store.error();
  const Opened opened{std::move(*store), {}, no_cache_text(command.store)};
  auto trimmed = opened.store->trim(most_bytes);
  if (!trimmed) return trimmed.error();
  Report report = opened.report();
  report.json["removed"] = trimmed->entries;
  report.json["removed_bytes"] = trimmed->bytes;
  report.json["left_behind"] = trimmed->left_behind;
  report.text = fmt::format("{}: {} removed, {}\n", opened.store->describe(), count_text(trimmed->entries, "entry"),
                            bytes_text(trimmed->bytes));
  return report;
}

}  // namespace

Result<Report> cache_trim(const CacheCommand& command, const CommonOptions&) {
  return taken_away(command, command.most_bytes);
}

Result<Report> cache_clear(const CacheCommand& command, const CommonOptions&) { return taken_away(command, 0); }

Result<Report> cache_export(const CacheCommand& command, const CommonOptions& common) {
  auto opened = open_entries(command);
  if (!opened) return opened.error();
  std::vector<std::string> keys = command.keys;
  if (keys.empty())
    for (const StoredEntry& entry : opened->entries) keys.push_back(entry.key);
  if (keys.empty())
    return runtime::error_of(ErrorKind::user, Stage::cache, ErrorCode::bad_argument,
                             "there is no entry in " + opened->store->describe() + ", and no bundle is written" +
                                 (opened->warning.empty() ? "" : ": " + opened->warning));
  std::vector<BundledEntry> entries;
  uint64_t bytes = 0;
  Progress progress("export", keys.size(), common.quiet || common.json);
  for (const std::string& key : keys) {
    auto entry = entry_of(*opened->store, key);
    if (!entry) return entry.error();
    bytes += entry->size();
    entries.push_back({key, std::move(*entry)});
    progress.step(key);
  }
  auto written = write_bundle(command.output, entries);
  if (!written) {
    Error error = std::move(written).error();
    if (error.code == ErrorCode::bad_content)
      error.log +=
          (error.log.empty() ? "" : "\n") + std::string("`tlxjit cache verify --remove` takes bad entries away");
    return error;
  }
  Report report = opened->report();
  report.json["file"] = command.output;
  report.json["entries"] = *written;
  report.json["bytes"] = bytes;
  report.text = fmt::format("{}: {}, {}\n", command.output, count_text(*written, "entry"), bytes_text(bytes));
  if (*written < entries.size()) {
    const size_t left_out = entries.size() - *written;
    report.json["left_out"] = left_out;
    report.text +=
        fmt::format("{} left out, of which others differ in their compiler at most\n", count_text(left_out, "entry"));
  }
  return report;
}

}  // namespace tlxjit::cli

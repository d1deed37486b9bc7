// tools/tlxjit/explain.cpp — `tlxjit explain`: what a kernel is made of, what a call is checked for, what its key is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include "src/passes/place_tasks_p.h"
#include "src/runtime/backend_p.h"
#include "src/runtime/entry_p.h"
#include "src/runtime/key_p.h"
#include "src/runtime/registry_p.h"
#include "tlxjit/ir/text.h"
#include "tlxjit/ir/verify.h"
#include "tools/tlxjit/commands.h"
#include "tools/tlxjit/kernel_file.h"
#include "tools/tlxjit/stores.h"
#include "tools/tlxjit/tensor_use.h"

namespace tlxjit::cli {

namespace {

std::string shape_text(const Type& type) {
  std::string text;
  for (int axis = 0; axis < type.shape.rank; ++axis) text += fmt::format("{}x", type.shape[axis]);
  return text + to_string(type.elem);
}

void add_place(Json& json, const Module& module, const Op& op) {
  const Location& location = module.location(op);
  if (location.known()) json["at"] = to_string(location);
}

Json parameters_of(const Lowered& kernel) {
  Json list = Json::array();
  const auto uses = tensor_uses(kernel.module, kernel.abi);
  const auto& parameters = kernel.plan.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    Json json = json_of(parameters[i]);
    if (parameters[i].is_tensor) {
      json["read"] = uses[i].read;
      json["written"] = uses[i].written;
    }
    list.push_back(std::move(json));
  }
  return list;
}

/// Declarations of the portable text.
Json rings_of(const Module& module) {
  Json list = Json::array();
  for (const auto& op : module.body.ops) {
    if (op->code != OpCode::ring) continue;
    Json json{{"stages", module.type(op->result()).slots}, {"fields", op->attrs.text("fields")}};
    add_place(json, module, *op);
    list.push_back(std::move(json));
  }
  return list;
}

Json tasks_of(const Lowered& kernel) {
  Json list = Json::array();
  const auto placed = kernel.target.registers > 0 ? place_tasks(kernel.module) : Result<Placement>(Placement());
  size_t place = 0;
  for (const auto& op : kernel.module.body.ops) {
    if (op->code != OpCode::task) continue;
    Json json{{"name", op->attrs.text("name")},
              {"warps", op->attrs.integer("warps")},
              {"replicas", op->attrs.integer("replicas")}};
    if (const int64_t registers = op->attrs.integer("registers")) json["registers"] = registers;
    if (placed && place < placed->tasks.size()) {
      json["first_warp"] = placed->tasks[place].first_warp;
      json["one_thread"] = placed->tasks[place].elected;
    }
    ++place;
    add_place(json, kernel.module, *op);
    list.push_back(std::move(json));
  }
  return list;
}

Json buffers_of(const Module& module) {
  Json list = Json::array();
  for (const auto& op : module.body.ops) {
    if (op->code != OpCode::buffer) continue;
    const Type& type = module.type(op->result());
    Json json{{"slots", type.slots},
              {"elements", shape_text(type)},
              {"bytes", type.slots * type.shape.elements() * bits(type.elem) / 8},
              {"offset", op->attrs.integer("offset")},
              {"swizzle", op->attrs.integer("swizzle")}};
    add_place(json, module, *op);
    list.push_back(std::move(json));
  }
  return list;
}

Json barriers_of(const Module& module) {
  Json list = Json::array();
  for (const auto& op : module.body.ops) {
    if (op->code != OpCode::barrier) continue;
    Json json{{"name", op->attrs.text("name")},
              {"slots", module.type(op->result()).slots},
              {"arrivals", op->attrs.integer("count")}};
    add_place(json, module, *op);
    list.push_back(std::move(json));
  }
  return list;
}

std::string word_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A row's members in their order; of a truth value the name.
std::string row_text(const Json& row) {
  std::string text;
  for (const auto& [name, value] : row.items()) {
    if (!text.empty()) text += "  ";
    if (value.is_boolean())
      text += (value.get<bool>() ? "" : "not ") + name;
    else
      text += name == "name" ? word_of(value) : name + " " + word_of(value);
  }
  return text;
}

std::string text_of_all(const Json& json) {
  std::string out = fmt::format("{}\n{} text, for {}\n", json["signature"].get<std::string>(), word_of(json["level"]),
                                word_of(json["target"]));
  const auto list = [&](std::string_view heading, const auto& lines) {
    if (lines.empty()) return;
    out += fmt::format("\n{}\n", heading);
    for (const std::string& line : lines) out += "  " + line + "\n";
  };
  std::vector<std::string> lines;
  for (const auto& [name, value] : json["resources"].items())
    lines.push_back(fmt::format("{:<16} {}", name, word_of(value)));
  list("resources", lines);
  for (const char* part : {"parameters", "rings", "tasks", "buffers", "barriers"}) {
    lines.clear();
    for (const Json& row : json[part]) lines.push_back(row_text(row));
    list(part, lines);
  }
  list("checked at each launch", json["launch_checks"].get<std::vector<std::string>>());
  lines = json["key"]["made_of"].get<std::vector<std::string>>();
  if (json["key"].contains("key")) lines.insert(lines.begin(), word_of(json["key"]["key"]) + ", of:");
  if (json["key"].contains("unknown")) lines.push_back("not known: " + word_of(json["key"]["unknown"]));
  list("key", lines);
  if (json.contains("entry")) list("entry", std::vector{row_text(json["entry"])});
  return out;
}

/// All but the key.
Json facts_of(const Module& module, const Lowered& kernel) {
  Json json;
  json["kernel"] = module.name;
  json["level"] = module.level == Level::portable ? "portable" : "lowered";
  json["target"] = kernel.target.name;
  json["signature"] = kernel.plan.signature();
  json["resources"] = {{"threads", kernel.abi.threads},
                       {"shared_bytes", kernel.abi.shared_bytes},
                       {"shared_limit", kernel.target.shared_limit},
                       {"workspace_words", kernel.abi.workspace_words},
                       {"tensor_maps", kernel.abi.maps.size()},
                       {"ops", numbered_ops(kernel.module).size()}};
  json["parameters"] = parameters_of(kernel);
  json["rings"] = rings_of(module);
  json["tasks"] = tasks_of(kernel);
  json["buffers"] = buffers_of(kernel.module);
  json["barriers"] = barriers_of(kernel.module);
  json["launch_checks"] = kernel.plan.checks();
  return json;
}

/// The lines of a key's material that stand before the kernel's text, and how long that is.
Json made_of(std::string_view material) {
  const size_t text = material.find("\ntlx 1 ");
  const size_t end = text == std::string_view::npos ? 0 : text + 1;
  Json lines = lines_of(std::string(material.substr(0, end)));
  lines.push_back("the kernel's text without locations, " + bytes_text(material.size() - end));
  return lines;
}

/// The key under which an engine keeps the kernel, or why it keeps none.
Json key_of(const Module& module, const std::string& target, const CommonOptions& common) {
  const std::string text = print(module);
  auto material = [&]() -> Result<std::string> {
    const Engine engine(common.engine());
    auto device = engine.device(target);
    if (!device) return device.error();
    runtime::Registry registry(common.engine());
    auto backend = registry.open(target);
    if (!backend) return backend.error();
    auto compiler = (*backend)->compiler();
    if (!compiler) return compiler.error();
    return runtime::KernelMaker::material(
        {module, text, *device, *backend, tlxjit::CompileOptions(), runtime::Deadline()}, *compiler);
  }();
  Json key;
  if (material) key["key"] = runtime::key_text(*material);
  key["made_of"] = made_of(material ? *material : text);
  if (!material) key["unknown"] = material.error().message;
  return key;
}

Result<Report> explain_file(const ExplainCommand& command, const CommonOptions& common) {
  auto module = read_kernel(command.what);
  if (!module) return module.error();
  auto lowered = lower_for(*module, target_of(*module, command.target, "cpu"));
  if (!lowered) return lowered.error();
  Report report;
  report.json = facts_of(*module, **lowered);
  report.json["key"] = key_of(*module, (*lowered)->target.name, common);
  report.text = text_of_all(report.json);
  return report;
}

Result<Report> explain_key(const ExplainCommand& command) {
  auto store = open_store(command.store, false);
  if (!store) return store.error();
  auto bytes = entry_of(**store, command.what);
  if (!bytes) return bytes.error();
  auto entry = runtime::decode(*bytes, command.what);
  if (!entry) return entry.error();
  auto module = parse(entry->module);
  if (!module) return module.error();
  TLXJIT_TRY(first_of(verify(*module)));
  auto lowered = lower_for(*module, module->target);
  if (!lowered) return lowered.error();
  Report report;
  report.json = facts_of(*module, **lowered);
  report.json["key"] = {{"key", command.what}, {"made_of", made_of(entry->material)}};
  report.json["entry"] = {{"bytes", bytes->size()},
                          {"image_bytes", entry->image.size()},
                          {"image_target", entry->target},
                          {"store", (*store)->describe()}};
  report.text = text_of_all(report.json);
  return report;
}

}  // namespace

Result<Report> explain(const ExplainCommand& command, const CommonOptions& common) {
  return is_key(command.what) ? explain_key(command) : explain_file(command, common);
}

}  // namespace tlxjit::cli

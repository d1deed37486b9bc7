// src/codegen/emit_kernel.cpp — the frame of a kernel: parameters, module-level scalars, roles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include "src/codegen/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN

Emitter::Emitter(const Module& module, const Abi& abi, const Placement& placement, const TileLayouts& layouts,
                 GpuTarget& target)
    : module_(module),
      abi_(abi),
      placement_(placement),
      layouts_(layouts),
      target_(target),
      ranges_(module),
      aliases_(module) {
  names_.resize(module.value_count());
}

void Emitter::fail(const Op& op, const std::string& message, ErrorCode code) {
  if (failed_) return;
  failed_ = true;
  error_.kind = ErrorKind::user;
  error_.stage = Stage::emit;
  error_.code = code;
  error_.message = std::string(info(op.code).text) + ": " + message;
  error_.location = module_.location(op);
}

Result<std::string> Emitter::run(const std::string& entry) {
  Writer kernel;
  out_ = &kernel;
  for (const AbiScalar& dim : abi_.dims) names_[dim.value] = parameter_name('d', dim.value, dim.name);
  for (const AbiScalar& scalar : abi_.scalars) names_[scalar.value] = parameter_name('s', scalar.value, scalar.name);
  kernel.open(target_.signature(*this, entry) + " {");
  target_.setup(*this);
  module_scalars();
  roles();
  kernel.close();
  if (failed_) return error_;
  return target_.prelude() + kernel.text();
}

void Emitter::module_scalars() {
  // Only what tasks read: the grid's expression is the host's.
  std::vector<bool> needed(module_.value_count());
  for (const auto& op : module_.body.ops)
    for (const Block& region : op->regions)
      walk(region, [&](const Op& inner) {
        for (Value v : inner.operands) needed[v] = true;
      });
  for (const AbiTensor& tensor : abi_.tensors)
    if (tensor.direct)
      for (Value extent : tensor.extents) needed[extent] = true;  // stores compare with them
  const auto& ops = module_.body.ops;
  for (size_t i = ops.size(); i-- > 0;)
    for (Value v : ops[i]->results)
      if (needed[v] && ops[i]->code != OpCode::tensor)
        for (Value operand : ops[i]->operands) needed[operand] = true;
  for (const auto& op : ops)
    if (info(op->code).scope == Scope::pure && !op->results.empty() && needed[op->result()])
      scalar_op(*op);
    else if (op->code == OpCode::sms && needed[op->result()])
      fail(*op, "only the host knows it; kernels read num_programs");
    else if (op->code == OpCode::math && op->attrs.text("mode") == "precise")
      fail(*op, "this target has fast functions only, which flush subnormals");
}

void Emitter::roles() {
  // Tasks of one group of warps share a branch, whose first statement sets the group's registers.
  const auto& tasks = placement_.tasks;
  const int groups = placement_.groups();
  bool first = true;
  for (int g = 0; g < groups;) {
    int end = g + 1;  // a branch covers the groups of an aligned task, or one shared group
    std::vector<const TaskPlace*> here;
    for (const TaskPlace& place : tasks) {
      const int from = place.first_warp / 4, to = (place.first_warp + place.total_warps() + 3) / 4;
      if (from < g || from >= end) continue;
      here.push_back(&place);
      end = std::max(end, to);
    }
    if (end == groups && !first)
      out_->open("} else {");
    else if (first && end == groups)
      out_->open("{");
    else
      out_->open(fmt::format("{}if (wg < {}) {{", first ? "" : "} else ", end));
    first = false;
    if (const int registers = placement_.registers[static_cast<size_t>(g)]; registers > 0)
      target_.registers(*this, registers);
    for (const TaskPlace* place : here) {
      std::string test;
      const int from = place->first_warp, to = from + place->total_warps();
      if (place->elected && place->replicas == 1)
        test = fmt::format("warp == {} && {}", from, target_.elect());
      else if (place->elected)
        test = fmt::format("warp >= {} && warp < {} && warp % {} == {} && {}", from, to, place->warps,
                           from % place->warps, target_.elect());
      else if (from != 4 * g || to != 4 * end)
        test = fmt::format("warp >= {} && warp < {}", from, to);
      out_->open(test.empty() ? "{" : "if (" + test + ") {");
      task(*place);
      out_->close();
    }
    // `} else …` of the next branch closes this one.
    g = end;
    Writer& w = *out_;
    if (g == groups)
      w.close();
    else
      w.dedent();
  }
}

void Emitter::task(const TaskPlace& place) {
  place_ = &place;
  std::fill(std::begin(asked_), std::end(asked_), false);
  Writer* outer = out_;
  Writer body(outer->depth());
  out_ = &body;
  block(place.task->regions[0]);
  flush_all();
  out_ = outer;
  context_lines(*outer);
  outer->append(body.text());
  place_ = nullptr;
}

std::string Emitter::ask(Context what, const char* name) {
  asked_[static_cast<size_t>(what)] = true;
  if (what == Context::row || what == Context::col || what == Context::lane || what == Context::warp)
    asked_[static_cast<size_t>(Context::thread)] = true;
  return name;
}

void Emitter::context_lines(Writer& w) {
  const auto asked = [&](Context what) { return asked_[static_cast<size_t>(what)]; };
  const int from = place_->first_warp, warps = place_->warps;
  if (asked(Context::replica))
    w.line(warps == 1 ? fmt::format("const i32 replica = (i32)warp - {};", from)
                      : fmt::format("const i32 replica = (i32)(warp - {}) / {};", from, warps));
  if (asked(Context::thread)) {
    const bool aligned = (warps & (warps - 1)) == 0 && from % warps == 0;
    w.line(aligned ? fmt::format("const u32 tid = threadIdx.x & {};", 32 * warps - 1)
                   : fmt::format("const u32 tid = (threadIdx.x - {}) % {};", 32 * from, 32 * warps));
  }
  if (asked(Context::lane)) w.line("const u32 lane = tid & 31;");
  if (asked(Context::warp)) w.line("const u32 iwarp = tid >> 5;");
  if (asked(Context::row)) w.line("const i32 frow = (i32)((tid >> 5) * 16 + ((tid & 31) >> 2));");
  if (asked(Context::col)) w.line("const i32 fcol = (i32)((tid & 3) * 2);");
}

void Emitter::issue(const std::string& statement) {
  if (place_->elected) return out_->line(statement);
  out_->line("if (" + thread() + " == 0) { " + statement + " }");
}

TLXJIT_NAMESPACE_END

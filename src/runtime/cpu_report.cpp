// src/runtime/cpu_report.cpp — failures of the CPU plug-in as errors with the user's lines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/cpu_report_p.h"

#include <algorithm>
#include <iterator>

#include "src/ir/ring_barriers_p.h"
#include "src/runtime/elements_text_p.h"
#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

const Op* op_at(const std::vector<const Op*>& ops, uint32_t number) {
  return number < ops.size() ? ops[number] : nullptr;
}

std::string count(int64_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::string name_of(const Op* op, const char* otherwise) {
  const std::string name(op ? op->attrs.text("name") : "");
  return name.empty() ? otherwise : name;
}

std::string line_of(const Module& module, const std::vector<const Op*>& ops, const tlxjit_cpu_blocked& b) {
  const Op* wait = op_at(ops, b.wait_op);
  std::string line = "program " + std::to_string(b.program) + ": " + name_of(op_at(ops, b.task_op), "a task") +
                     " (replica " + std::to_string(b.replica) + ") waits ";
  if (wait && wait->code == OpCode::flag_wait) {
    line += "until element " + std::to_string(b.element) + " of `" + name_of(op_at(ops, b.object_op), "a tensor") +
            "` is " + std::string(wait->attrs.text("pred")) + " " + std::to_string(b.value) + ": it is " +
            std::to_string(b.present);
  } else if (wait && wait->code == OpCode::cluster_sync) {
    line += "for the cluster: " + count(b.arrivals, "instance") + " missing";
  } else {
    line += "for phase " + std::to_string(b.phase) + " of `" + name_of(op_at(ops, b.object_op), "a barrier") +
            "`, slot " + std::to_string(b.slot) + ": " + count(b.arrivals, "arrival");
    if (b.bytes > 0) line += " and " + count(b.bytes, "byte");
    line += " missing";
    if (b.bytes < 0) line += ", " + count(-int64_t{b.bytes}, "byte") + " more than expected";
  }
  if (wait) line += "; " + to_string(module.location(*wait));
  return line;
}

Error deadlock(const Module& module, const tlxjit_cpu_failure& failure) {
  const auto ops = numbered_ops(module);
  const size_t listed = std::min<size_t>(failure.blocked_count, std::size(failure.blocked));
  Error error = error_of(ErrorKind::user, Stage::run, ErrorCode::deadlock,
                         "deadlock in `" + module.name +
                             "`: all that is left of a program waits; the log lists who "
                             "waits for what");
  for (size_t i = 0; i < listed; ++i) {
    error.log += (i ? "\n" : "") + line_of(module, ops, failure.blocked[i]);
    const Op* wait = op_at(ops, failure.blocked[i].wait_op);
    if (wait && !error.location.known()) error.location = module.location(*wait);
  }
  if (listed < failure.blocked_count) error.log += "\nand " + std::to_string(failure.blocked_count - listed) + " more";
  return error;
}

std::string where(const std::vector<const Op*>& ops, const tlxjit_cpu_place& at) {
  const Op* task = op_at(ops, at.task_op);
  std::string text = name_of(task, "a task");
  if (task && task->attrs.integer("replicas", 1) > 1) text += "[" + std::to_string(at.replica) + "]";
  return text + " of program " + std::to_string(at.program);
}

Error failed_assertion(const Module& module, const tlxjit_cpu_failure& failure) {
  const auto ops = numbered_ops(module);
  const Op* op = op_at(ops, failure.op);
  std::string message = "assertion in `" + module.name + "`: " + std::string(op ? op->attrs.text("message") : "") +
                        " (" + where(ops, failure.at);
  if (failure.at.element >= 0) message += ", element " + std::to_string(failure.at.element);
  Error error = error_of(ErrorKind::user, Stage::run, ErrorCode::assertion_failed, message + ")");
  if (op) error.location = module.location(*op);
  return error;
}

/// Who fills and drains a ring, with their lines.
std::string sides_of(const Module& module, const RingBarriers& ring) {
  std::vector<std::string> lines;
  for (const auto& task : module.body.ops) {
    if (task->code != OpCode::task) continue;
    walk(task->regions[0], [&](const Op& op) {
      if (op.code != OpCode::wait) return;
      const bool fills = op.operands[0] == ring.empty->result();
      if (!fills && op.operands[0] != ring.full->result()) return;
      std::string line =
          name_of(task.get(), "a task") + (fills ? " fills it: " : " drains it: ") + to_string(module.location(op));
      if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
    });
  }
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

Error uneven_ring(const Module& module, const tlxjit_cpu_failure& failure, const std::string& message) {
  const Op* const full = op_at(numbered_ops(module), failure.op);
  std::string name = name_of(full, "a ring");
  name = name.substr(0, name.rfind(".full"));
  Error error = error_of(ErrorKind::user, Stage::run, ErrorCode::invalid_kernel,
                         "`" + name + "` of `" + module.name + "`: " + message + " when program " +
                             std::to_string(failure.at.program) +
                             " ended; one value decides every task's trip count; the log lists who fills and drains "
                             "the ring");
  const auto rings = ring_barriers(module);
  for (const RingBarriers& ring : *rings) {
    if (ring.full != full) continue;
    error.location = module.location(*full);
    error.log = sides_of(module, ring);
  }
  return error;
}

}  // namespace

std::string printed_line(const Module& module, uint32_t op_number, const tlxjit_cpu_place& at,
                         const void* const* values) {
  const auto ops = numbered_ops(module);
  const Op* op = op_at(ops, op_number);
  if (!op) return {};
  std::string line = module.name + " " + where(ops, at) + ": ";
  const std::string_view text = op->attrs.text("text");
  size_t from = 0;
  for (size_t i = 0; i < op->operands.size(); ++i) {
    const size_t place = text.find("{}", from);  // there is one: a rule of the op
    line += text.substr(from, place - from);
    line += elements_text(module.type(op->operands[i]), values[i]);
    from = place + 2;
  }
  return line.append(text.substr(from));
}

Error cpu_error(const Module& module, const tlxjit_cpu_failure& failure, Stage stage) {
  if (failure.status == TLXJIT_CPU_DEADLOCK) return deadlock(module, failure);
  if (failure.status == TLXJIT_CPU_ASSERT) return failed_assertion(module, failure);
  const std::string message(failure.message, std::find(std::begin(failure.message), std::end(failure.message), '\0'));
  if (failure.status == TLXJIT_CPU_UNEVEN) return uneven_ring(module, failure, message);
  Error error = error_of(ErrorKind::internal, stage, ErrorCode::internal_error, "CPU: " + message);
  if (failure.status == TLXJIT_CPU_UNSUPPORTED) {
    error.kind = ErrorKind::user;
    error.code = ErrorCode::unsupported;
  } else if (failure.status == TLXJIT_CPU_COMPILER) {
    error.code = ErrorCode::compiler_failed;
    error.message = "CPU: LLVM refused the kernel's code, which is a fault of tlxjit";
    error.log = message;
  } else if (failure.status == TLXJIT_CPU_INLINE) {
    error.kind = ErrorKind::user;
    error.code = ErrorCode::compiler_failed;
    error.message = "CPU: LLVM refused the inline text of `" + module.name + "`";
    error.log = message;
  } else if (failure.status == TLXJIT_CPU_MEMORY) {
    error.kind = ErrorKind::environment;
    error.code = ErrorCode::out_of_resources;
  } else if (failure.status == TLXJIT_CPU_TOO_MANY) {
    error.kind = ErrorKind::user;
    error.code = ErrorCode::out_of_resources;
  } else if (failure.status == TLXJIT_CPU_BAD_IMAGE) {
    error.kind = ErrorKind::environment;
    error.code = ErrorCode::bad_content;
  } else if (failure.status == TLXJIT_CPU_POLICY) {
    error.kind = ErrorKind::environment;
    error.code = ErrorCode::unsupported;
  }
  if (const auto ops = numbered_ops(module); const Op* op = op_at(ops, failure.op)) {
    error.location = module.location(*op);
    if (failure.status == TLXJIT_CPU_OUTSIDE || failure.status == TLXJIT_CPU_STEP) {
      error.kind = ErrorKind::user;
      error.code = ErrorCode::invalid_kernel;
      error.message = "CPU: `" + module.name + "`: " + std::string(info(op->code).text) + ": " + message;
    }
  }
  return error;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END

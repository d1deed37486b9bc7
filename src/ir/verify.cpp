// src/ir/verify.cpp — where ops may stand and what they may see; every op's own rules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/ir/verify.h"

#include <algorithm>
#include <set>

#include "src/ir/check_p.h"
#include "src/ir/ring_barriers_p.h"
#include "src/ir/verify_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

constexpr int64_t most_threads = 1024;  // of a program on a device

class Verifier {
 public:
  explicit Verifier(const Module& module)
      : module_(module),
        visible_(module.value_count(), false),
        refused_(module.value_count(), false),
        view_steps_(module.value_count(), 0),
        ended_(module.value_count(), nullptr) {}

  std::vector<Error> run() {
    for (const char* name : {"threads", "shared_bytes"})
      if (const Attr* attr = module_.attrs.find(name))
        if (const auto* n = std::get_if<int64_t>(attr); !n || *n < 0 || *n > INT32_MAX)
          report_module(std::string(name) + " is 0 to 2^31 − 1");
    if (const int64_t n = module_.attrs.integer("threads");
        module_.level == Level::lowered && module_.target != "cpu" && faults_.empty() && (n < 1 || n > most_threads))
      report_module("threads is 1 to " + std::to_string(most_threads) + " on " + module_.target);
    if (has_control(module_.name)) report_module("its name has a control character");
    if (!module_.body.args.empty()) report_module("a kernel's body has no arguments");
    block(module_.body, Place::module);
    if (!tasks_) report_module("the kernel has no task: use task()");
    if (!has_grid_) report_module("the kernel has no grid: use persistent(), dynamic(), tiles() or grid()");
    // Later rules take the earlier ones for granted.
    const auto report = [this](const Op& op, std::string what) { this->report(op, std::move(what)); };
    if (faults_.empty()) verify_launch(module_, report);
    if (faults_.empty() && !ring_barriers(module_))
      report_module("rings lists barriers after each of which stands another of as many slots");
    if (faults_.empty()) verify_signature(module_, report);
    if (faults_.empty()) verify_unfinished(module_, report);
    if (module_.level == Level::lowered && faults_.empty()) verify_lowered(module_, report);
    if (module_.level == Level::portable) {
      if (faults_.empty()) verify_cluster(module_, report);
      if (faults_.empty()) verify_schedule(module_, report);
      if (faults_.empty()) verify_views(module_, report);
      if (faults_.empty()) verify_slots(module_, report);
    }
    return std::move(faults_);
  }

 private:
  enum class Place { module, task, schedule };

  void report(const Op& op, std::string what) {
    Error error;
    error.kind = ErrorKind::user;
    error.stage = Stage::verify;
    error.code = ErrorCode::invalid_kernel;
    error.message = std::string(info(op.code).text) + ": " + std::move(what);
    if (op.location < module_.locations.size()) error.location = module_.location(op);  // one moved from has none
    faults_.push_back(std::move(error));
  }

  void report_module(std::string what) {
    Op op;
    op.code = OpCode::task;
    report(op, std::move(what));
    std::string name = module_.name;
    if (has_control(name)) std::ranges::replace_if(name, [](char c) { return has_control({&c, 1}); }, '?');
    faults_.back().message = "kernel '" + name + "': " + faults_.back().message.substr(6);
  }

  std::string misplaced(const Op& op, Place place) {
    const OpInfo& row = info(op.code);
    if (row.level != Level::both && row.level != module_.level)
      return row.level == Level::portable ? "is portable; this module is lowered"
                                          : "is lowered; this module is portable";
    const bool module_only = row.scope == Scope::declare && op.code != OpCode::var && op.code != OpCode::accumulator;
    if (module_only && place != Place::module) return "stands outside tasks only";
    if (place == Place::module && !module_only) {
      if (op.code == OpCode::replica || op.code == OpCode::program_id || op.code == OpCode::num_programs ||
          op.code == OpCode::cluster_rank)
        return "is known to programs that run: call it inside the task";
      bool scalar = row.scope == Scope::pure;
      for (Value v : op.results) scalar &= module_.type(v).is_scalar();
      const bool tensor_view = op.code == OpCode::select_axis || op.code == OpCode::window;
      if (!scalar && !tensor_view) return "stands in a task; code outside tasks forms scalars only";
    }
    if (place == Place::schedule && row.scope != Scope::pure && row.scope != Scope::control &&
        op.code != OpCode::load_scalar && op.code != OpCode::var && op.code != OpCode::set)
      return "a schedule maps indices with scalars only";
    if (op.code == OpCode::each && nested_each_) return "tiles are not iterated inside tiles";
    return {};
  }

  std::string misformed(const Op& op) {
    if (op.code != OpCode::for_ && op.code != OpCode::each && op.code != OpCode::schedule &&
        info(op.code).family != Family::reduce)
      for (const Block& region : op.regions)
        if (!region.args.empty()) return "its regions have no arguments";
    if (is_view_step(op.code)) {
      // Back ends follow a view to its buffer wherever it is used.
      constexpr uint8_t most = 16;
      const uint8_t steps = view_steps_[op.operands[0]];
      if (steps == most) return "a view is formed in at most " + std::to_string(most) + " steps";
      view_steps_[op.results[0]] = static_cast<uint8_t>(steps + 1);
    }
    return {};
  }

  void block(const Block& block, Place place) {
    const size_t mark = defined_.size();
    open(block);
    for (size_t i = 0; i < block.ops.size(); ++i) op(*block.ops[i], place, i + 1 == block.ops.size());
    close(mark);
  }

  void open(const Block& block) {
    for (Value v : block.args) define(v);
  }

  void define(Value v) {
    visible_[v] = true;
    defined_.push_back(v);
  }

  void close(size_t mark) {
    for (size_t i = mark; i < defined_.size(); ++i) {
      visible_[defined_[i]] = false;
      ended_[defined_[i]] = outermost_;
    }
    defined_.resize(mark);
  }

  /// Where a value that cannot be seen was made, and the way out.
  std::string unseen(Value v) const {
    const Op* within = v < ended_.size() ? ended_[v] : nullptr;
    if (!within) return "uses a value that is made later";
    const Op* def = module_.def(v);
    const Location at = def && def->location < module_.locations.size() ? module_.location(*def) : Location();
    const std::string made = at.known() ? " (made at " + to_string(at) + ")" : "";
    if (within != outermost_ && within->code == OpCode::task)
      return "uses a value of task '" + std::string(within->attrs.text("name")) + "'" + made +
             ", which no other task sees; pass it on through a ring, a buffer or a tensor";
    const Type& type = module_.type(v);
    return "uses a value of a loop, branch or other region that has ended" + made + "; " +
           (type.variable || is_value(type) ? "give it its first value before the region and assign to it inside"
                                            : "use it inside the region");
  }

  /// What is wrong with an op by itself or where it stands.
  std::string fault_of(const Op& op, Place place, bool last) {
    for (Value v : op.operands)
      if (v >= visible_.size() || !visible_[v]) return unseen(v);
    if (std::string what = check_op(module_, op); !what.empty()) return what;
    if (std::string what = misplaced(op, place); !what.empty()) return what;
    if (std::string what = misformed(op); !what.empty()) return what;
    if (op.code == OpCode::yield && !last) return "is the last op of its region";
    const int deepest = module_.level == Level::portable ? max_nesting : max_lowered_nesting;
    if (nesting_ == deepest && !op.regions.empty())
      return "regions nest at most " + std::to_string(deepest) + " deep, that of the task included";
    return {};
  }

  bool is_refused(Value v) const { return v < refused_.size() && refused_[v]; }

  void op(const Op& op, Place place, bool last) {
    // One that is refused is there all the same.
    const bool is_grid = op.code == OpCode::grid || op.code == OpCode::schedule, second = is_grid && has_grid_;
    has_grid_ |= is_grid;
    tasks_ += op.code == OpCode::task;
    // What uses a refused op's results says nothing: the cause has been told.
    const bool follows = std::ranges::any_of(op.operands, [&](Value v) { return is_refused(v); });
    std::string what = follows ? std::string() : fault_of(op, place, last);
    if (follows || !what.empty()) {
      if (!follows) report(op, std::move(what));
      for (Value v : op.results) refused_[v] = true;
      return;
    }
    if (op.code == OpCode::dim || op.code == OpCode::scalar || op.code == OpCode::tensor)
      if (!names_.insert(std::string(op.attrs.text("name"))).second)
        report(op, "the name '" + std::string(op.attrs.text("name")) + "' is taken");
    if (op.code == OpCode::task && !task_names_.insert(std::string(op.attrs.text("name"))).second)
      report(op, "the name '" + std::string(op.attrs.text("name")) + "' is taken by another task");
    if (second)
      report(op, op.code == OpCode::grid ? "a kernel has one grid, from grid() or from its schedule"
                                         : "a kernel has one schedule, and no grid() beside it");

    ++nesting_;
    if (op.code == OpCode::while_) {  // region 1 sees the values of region 0
      const size_t mark = defined_.size();
      for (const Block& region : op.regions) {
        open(region);
        for (size_t i = 0; i < region.ops.size(); ++i) this->op(*region.ops[i], place, i + 1 == region.ops.size());
      }
      close(mark);
    } else {
      if (op.code == OpCode::task) place = Place::task;
      if (op.code == OpCode::schedule) place = Place::schedule;
      if (place != Place::module && !outermost_) outermost_ = &op;
      nested_each_ += op.code == OpCode::each;
      for (const Block& region : op.regions) block(region, place);
      nested_each_ -= op.code == OpCode::each;
      if (outermost_ == &op) outermost_ = nullptr;
    }
    --nesting_;
    for (Value v : op.results) define(v);
  }

  const Module& module_;
  std::vector<bool> visible_, refused_;
  std::vector<uint8_t> view_steps_;  // parts and transpositions between a view and its buffer
  std::vector<Value> defined_;
  std::vector<const Op*> ended_;   // of values whose region has ended: the task or schedule that has it
  const Op* outermost_ = nullptr;  // the task or schedule that is being looked at
  std::vector<Error> faults_;
  std::set<std::string> names_, task_names_;
  int tasks_ = 0;
  int nested_each_ = 0;
  int nesting_ = 0;  // regions that are open
  bool has_grid_ = false;
};

}  // namespace

std::vector<Error> verify(const Module& module) { return Verifier(module).run(); }

Result<void> first_of(const std::vector<Error>& faults) {
  if (faults.empty()) return {};
  Error error = faults.front();
  if (faults.size() > 1) {
    error.message += " (and " + std::to_string(faults.size() - 1) + " more)";
    for (size_t i = 1; i < faults.size(); ++i) error.log += (error.log.empty() ? "" : "\n") + to_string(faults[i]);
  }
  return error;
}

TLXJIT_NAMESPACE_END

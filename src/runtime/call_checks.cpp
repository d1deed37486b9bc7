// src/runtime/call_checks.cpp — what a call is compared with, told to people. bind.cpp does the comparing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>

#include "src/runtime/call_plan_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

std::vector<std::string> CallPlan::checks() const {
  std::vector<std::string> out;
  const auto number = [](int64_t n) { return std::to_string(n); };
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const TensorPlan& plan = tensors_[i];
    const Parameter& parameter = parameters_.all[i];
    const std::string name = "`" + parameter.name + "`";
    out.push_back(parameter.text() + ": this element type and rank, innermost stride 1, within its buffer");
    for (size_t axis = 0; axis < plan.extents.size(); ++axis)
      if (plan.extents[axis].dim < 0)
        out.push_back(name + ": extent " + number(static_cast<int64_t>(axis)) + " is " + parameter.extents[axis]);
    if (plan.align > 1)
      out.push_back(name + " begins at a multiple of " + number(static_cast<int64_t>(plan.align)) + " bytes");
    for (size_t axis = 0; axis < plan.strides.size(); ++axis)
      if (plan.strides[axis] >= 0)
        out.push_back(name + ": stride " + number(static_cast<int64_t>(axis)) + " is " + number(plan.strides[axis]));
    if (plan.narrow) out.push_back(name + ": all elements lie less than 2^31 elements from the first");
    if (!plan.mapped) {
      out.push_back(name + " begins at a multiple of its element's " + number(bytes(plan.elem)) + " bytes");
      continue;
    }
    out.push_back(name +
                  " is copied by tensor maps: it begins at a multiple of 16 bytes, and its strides are multiples " +
                  "of 16 bytes below 2^34");
    if (plan.stored) out.push_back(name + " is stored by tensor maps: its rows are multiples of 16 bytes");
    if (plan.ragged >= 0) out.push_back(name + " is jagged: at most 2^30 rows of less than 2^34 bytes");
  }
  for (const DimPlan& dim : dims_) {
    std::string where;
    for (const Parameter& parameter : parameters_.all)
      for (const std::string& extent : parameter.extents)
        if (extent == dim.name) where += (where.empty() ? "`" : ", `") + parameter.name + "`";
    out.push_back(dim.name + " is " + number(dim.least) + " to " + number(dim.most) +
                  (dim.multiple == 1 ? "" : ", a multiple of " + number(dim.multiple)) + ", the same in " + where);
  }
  for (size_t i = tensors_.size(); i < parameters_.all.size(); ++i) {
    std::string text = parameters_.all[i].text() + ": this type";
    const ScalarPlan& plan = scalars_[i - tensors_.size()];
    if (plan.above) {
      char least[32];
      std::snprintf(least, sizeof least, "%g", *plan.above);
      text += std::string(", finite and above ") + least;
    }
    if (plan.least != INT64_MIN) text += ", at least " + number(plan.least);
    if (plan.most != INT64_MAX) text += ", at most " + number(plan.most);
    if (plan.multiple != 1) text += ", a multiple of " + number(plan.multiple);
    out.push_back(std::move(text));
  }
  std::string grid = "the grid, " + (grid_ < 0 ? "1 program" : grid_text_) + ", is below 2^31";
  if (cluster_) grid += " and a multiple of the cluster of " + number(cluster_->attrs.integer("size"));
  out.push_back(std::move(grid));
  return out;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END

// samples/attention_service/call.cpp — what the service takes of a call's numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "call.h"

#include <cmath>

namespace attention_service {

namespace {

template <class T, class Name>
std::string listed(const std::set<T>& values, Name&& name) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + std::string(name(value));
  return text;
}

}  // namespace

void check(Call& call, const Served& served) {
  const Shape& shape = call.shape;
  if (!served.elems.contains(shape.elem))
    throw Refusal{422, std::string("tensors of ") + tlxjit::to_string(shape.elem) + " are not served here, only " +
                           listed(served.elems, [](tlxjit::Elem e) { return tlxjit::to_string(e); })};
  if (!served.head_sizes.contains(shape.head_size))
    throw Refusal{422, "heads of " + std::to_string(shape.head_size) + " elements are not served here, only of " +
                           listed(served.head_sizes, [](int size) { return std::to_string(size); })};
  if (shape.heads < 1 || shape.key_heads < 1) throw Refusal{400, "there is at least one head, and one key head"};
  if (shape.heads > served.heads)
    throw Refusal{
        422, std::to_string(shape.heads) + " heads are more than the " + std::to_string(served.heads) + " served here"};
  if (shape.heads % shape.key_heads)
    throw Refusal{
        400, std::to_string(shape.key_heads) + " key heads do not divide " + std::to_string(shape.heads) + " heads"};
  if (!served.groups.contains(shape.heads / shape.key_heads))
    throw Refusal{422, "groups of " + std::to_string(shape.heads / shape.key_heads) +
                           " heads per key head are not served here, only of " +
                           listed(served.groups, [](int group) { return std::to_string(group); })};
  if (!(shape.scale > 0) || !std::isfinite(shape.scale)) throw Refusal{400, "the scale is a finite number above 0"};
  if (call.lengths.empty()) throw Refusal{400, "a call has at least one sequence"};
  if (call.lengths.size() > static_cast<size_t>(served.sequences))
    throw Refusal{422, "a call has at most " + std::to_string(served.sequences) + " sequences"};
  if (call.deadline > served.longest_deadline)
    throw Refusal{422, "a deadline is at most " + std::to_string(served.longest_deadline.count()) + " ms away"};
  call.tokens = 0;
  for (const int32_t length : call.lengths) {
    if (length < 0) throw Refusal{400, "a length is at least 0, not " + std::to_string(length)};
    call.tokens += length;
  }
  if (call.tokens > served.tokens)
    throw Refusal{
        422, std::to_string(call.tokens) + " tokens are more than the " + std::to_string(served.tokens) + " of a call"};
}

}  // namespace attention_service

// samples/attention_service/kernels.cpp — compiles kernels, here or beside.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.h"

namespace attention_service {

using tlxjit::Elem, tlxjit::Executable, tlxjit::Result;

Kernels::Kernels(const tlxjit::Engine& engine, tlxjit::Device device, Tier tier, std::function<void()> made)
    : engine_(engine), device_(std::move(device)), tier_(tier), made_(std::move(made)) {
  if (tier_ == Tier::background) thread_ = std::thread([this] { compile_in_background(); });
}

Kernels::~Kernels() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::set<Elem> Kernels::elems(const tlxjit::Device& device) {
  if (device.name() == tlxjit::Device::cpu) return {Elem::f32, Elem::bf16, Elem::f16};
  return {Elem::bf16, Elem::f16};
}

Kernels::Key Kernels::key(const Shape& shape) {
  return {shape.elem, shape.head_size, shape.heads / shape.key_heads, shape.causal};
}

Result<Executable> Kernels::compile(const Shape& shape) const {
  tlxjit::AttentionOptions options;
  options.elem = shape.elem;
  options.head = shape.head_size;
  options.causal = shape.causal;
  options.jagged = true;
  options.group = shape.heads / shape.key_heads;
  options.lse = false;
  return engine_.compile(tlxjit::attention(tlxjit::attention_config(device_.target(), options)), device_);
}

bool Kernels::ready(const Shape& shape) {
  if (tier_ == Tier::wait) return true;
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = kernels_.try_emplace(key(shape));
  if (is_new) {
    wanted_.push_back(shape);
    changed_.notify_all();
  }
  return found->second.has_value();
}

Result<Executable> Kernels::executable(const Shape& shape) {
  std::unique_lock lock(mutex_);
  const auto found = kernels_.find(key(shape));
  if (found != kernels_.end() && found->second) {
    Result<Executable> result = *found->second;
    if (!result) kernels_.erase(found);
    return result;
  }
  lock.unlock();
  Result<Executable> result = compile(shape);
  lock.lock();
  if (result) kernels_[key(shape)] = result;
  return result;
}

void Kernels::compile_in_background() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ended_ || !wanted_.empty(); });
    if (ended_) return;
    const Shape shape = wanted_.front();
    wanted_.pop_front();
    lock.unlock();
    Result<Executable> result = compile(shape);
    lock.lock();
    kernels_[key(shape)] = std::move(result);
    lock.unlock();
    made_();
    lock.lock();
  }
}

}  // namespace attention_service

// backends/nvidia/workspaces.cpp — the hidden words of a kernel's launches, one array for each stream.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/workspaces_p.h"

#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

/// A thread, for as long as anything is its own; then no other has its address.
class Workspaces::Thread {
 public:
  /// The calling one. While its thread-local objects are destroyed, it is another with each call.
  static std::shared_ptr<const Thread> own() {
    static thread_local bool over = false;
    static thread_local struct Holder {
      std::shared_ptr<Thread> thread = std::make_shared<Thread>();
      ~Holder() {
        thread->ended_.store(true, std::memory_order_release);
        over = true;
      }
    } holder;
    return over ? std::make_shared<Thread>() : holder.thread;
  }
  bool ended() const { return ended_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> ended_ = false;
};

Workspaces::~Workspaces() {
  for (Node* node = head_.load(); node;) delete std::exchange(node, node->next);
}

Workspaces::Node* Workspaces::find(CuStream stream, const Thread* thread) const {
  for (Node* n = head_.load(std::memory_order_acquire); n; n = n->next)
    if (n->stream == stream && n->thread.load(std::memory_order_relaxed) == thread) return n;
  return nullptr;
}

/// One that was an ended thread's, and that no work is at any more. Under the lock.
Workspaces::Node* Workspaces::spare() {
  const auto ended = [](const Node* n) { return n->owner && n->owner->ended() && !n->captured; };
  int count = 0;
  for (Node* n = head_.load(); n; n = n->next) {
    if (n->spare) return n;
    n->waited_for = ended(n);  // a thread that ends later may have launched behind the wait
    count += n->waited_for;
  }
  if (count < most_ended || !context_->synchronize()) return nullptr;
  Node* found = nullptr;
  for (Node* n = head_.load(); n; n = n->next)
    if (n->waited_for) n->spare = true, found = n;
  return found;
}

Result<CuDevicePtr> Workspaces::of(CuStream stream, bool capturing) {
  constexpr uintptr_t per_thread = 2;
  std::shared_ptr<const Thread> thread;
  if (reinterpret_cast<uintptr_t>(stream) == per_thread) thread = Thread::own();
  const auto use = [&](Node* node) {
    if (capturing) node->captured.store(true, std::memory_order_relaxed);
    return node->memory.address();
  };
  if (Node* node = find(stream, thread.get())) return use(node);
  std::lock_guard lock(mutex_);
  if (Node* node = find(stream, thread.get())) return use(node);
  if (capturing)
    return runtime::error_of(ErrorKind::user, Stage::launch, ErrorCode::capturing,
                             "the first launch on a stream allocates a workspace, which a capture forbids: launch once "
                             "on this stream before the capture begins");
  const BesideCaptures beside(context_->driver());
  if (Node* node = thread ? spare() : nullptr) {
    node->spare = false;
    node->thread.store(thread.get(), std::memory_order_relaxed);  // before the address of the one before is free
    node->owner = thread;
    return node->memory.address();
  }
  auto memory = DeviceBuffer::allocate(context_, bytes_);
  if (!memory) return memory.error();
  TLXJIT_TRY(memory->fill(0, stream));
  TLXJIT_TRY(synchronize(*context_, stream));
  auto* node = new Node{stream, std::move(*memory), head_.load(std::memory_order_relaxed), thread, thread.get()};
  head_.store(node, std::memory_order_release);
  return node->memory.address();
}

void Workspaces::clear(CuStream stream, CuDevicePtr words) {
  const BesideCaptures beside(context_->driver());
  if (!synchronize(*context_, stream)) return;
  std::lock_guard lock(mutex_);
  for (Node* n = head_.load(); n; n = n->next)
    if (n->memory.address() == words && n->memory.fill(0, stream)) (void)synchronize(*context_, stream);
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END

// backends/cpu/link.cpp — an object file to code in memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/link_p.h"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

#include "backends/cpu/symbols_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

namespace jitlink = llvm::jitlink;
namespace orc = llvm::orc;

/// Code in memory.
class Code {
 public:
  explicit Code(std::unique_ptr<jitlink::InProcessMemoryManager> memory) : memory_(std::move(memory)) {}
  ~Code() {
    if (!linked_) return;
    std::vector<jitlink::JITLinkMemoryManager::FinalizedAlloc> all;
    all.push_back(std::move(alloc_));
    llvm::consumeError(memory_->deallocate(std::move(all)));
  }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  jitlink::JITLinkMemoryManager& memory() { return *memory_; }
  void keep(jitlink::JITLinkMemoryManager::FinalizedAlloc alloc) {
    alloc_ = std::move(alloc);
    linked_ = true;
  }

 private:
  const std::unique_ptr<jitlink::InProcessMemoryManager> memory_;
  jitlink::JITLinkMemoryManager::FinalizedAlloc alloc_;
  bool linked_ = false;
};

/// One link. Everything answers at once, so that it is over when jitlink::link returns. Code has no unwind tables, no
/// debugger hooks, and sees no symbol of the host but those of symbols().
class Link final : public jitlink::JITLinkContext {
 public:
  Link(Code& code, std::vector<TaskCode>& tasks, llvm::Error& fault)
      : JITLinkContext(nullptr), code_(code), tasks_(tasks), fault_(fault) {}

  jitlink::JITLinkMemoryManager& getMemoryManager() override { return code_.memory(); }
  void notifyFailed(llvm::Error error) override { fault_ = llvm::joinErrors(std::move(fault_), std::move(error)); }

  void lookup(const LookupMap& wanted, std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> then) override {
    jitlink::AsyncLookupResult found;
    std::vector<std::string> missing;
    for (const auto& [name, how] : wanted) {
      const void* address = symbol(*name);
      if (!address) missing.push_back((*name).str());
      found[name] = {orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    }
    if (missing.empty()) return then->run(std::move(found));
    std::sort(missing.begin(), missing.end());
    std::string names;
    for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
    then->run(llvm::createStringError("Symbols not found: [ " + names + " ]"));
  }

  llvm::Error notifyResolved(jitlink::LinkGraph& graph) override {
    for (TaskCode& task : tasks_) task.entry = nullptr;
    for (const jitlink::Symbol* symbol : graph.defined_symbols())
      for (size_t i = 0; symbol->hasName() && i < tasks_.size(); ++i)
        if (*symbol->getName() == task_name(i)) tasks_[i].entry = symbol->getAddress().toPtr<TaskFunction>();
    for (size_t i = 0; i < tasks_.size(); ++i)
      if (!tasks_[i].entry) return llvm::createStringError("the object has no " + task_name(i));
    return llvm::Error::success();
  }

  void notifyFinalized(jitlink::JITLinkMemoryManager::FinalizedAlloc alloc) override { code_.keep(std::move(alloc)); }

 private:
  Code& code_;
  std::vector<TaskCode>& tasks_;
  llvm::Error& fault_;
};

/// Whether the system had no memory to map.
bool is_no_memory(const llvm::Error& fault) {
  bool is = false;
  llvm::visitErrors(fault, [&](const llvm::ErrorInfoBase& one) {
    const std::error_code code = one.convertToErrorCode();
    // The other is of mmap where the memory that may be locked is used up.
    is = is || code == std::errc::not_enough_memory || code == std::errc::resource_unavailable_try_again;
  });
  return is;
}

}  // namespace

std::string task_name(size_t i) { return "task_" + std::to_string(i); }

llvm::Error link(std::span<const char> object, Program& program) {
  auto memory = jitlink::InProcessMemoryManager::Create();
  if (!memory) return memory.takeError();
  const auto names = std::make_shared<orc::SymbolStringPool>();  // outlives all that has a name
  auto graph = jitlink::createLinkGraphFromObject({{object.data(), object.size()}, "kernel"}, names);
  if (!graph) return graph.takeError();
  auto code = std::make_shared<Code>(std::move(*memory));
  llvm::Error fault = llvm::Error::success();
  jitlink::link(std::move(*graph), std::make_unique<Link>(*code, program.tasks, fault));
  if (is_no_memory(fault)) {
    llvm::consumeError(std::move(fault));
    throw std::bad_alloc();
  }
  if (fault) return fault;
  program.code = std::move(code);
  return llvm::Error::success();
}

bool may_make_code(std::string& why) {
  const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return true;  // that is another fault
  const bool may = mprotect(page, bytes, PROT_READ | PROT_EXEC) == 0;
  const int refused = errno;
  munmap(page, bytes);
  if (!may)
    why = std::string("this process may not make memory executable (mprotect PROT_EXEC: ") + std::strerror(refused) +
          "), so kernels cannot be compiled for the CPU; a policy forbids it: seccomp, SELinux (execmem), systemd's "
          "MemoryDenyWriteExecute or prctl PR_SET_MDWE";
  return may;
}

}  // namespace cpu
TLXJIT_NAMESPACE_END

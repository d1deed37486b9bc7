// backends/cpu/host.cpp — the CPU that code is made for: its features, not what its name promises.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/host_p.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

const char* cpu_name() {
  static const auto* name = new std::string(llvm::sys::getHostCPUName());
  return name->c_str();
}

const char* cpu_features() {
  static const auto* text = [] {
    std::vector<std::string> features;
    for (const auto& feature : llvm::sys::getHostCPUFeatures())
      features.push_back((feature.second ? "+" : "-") + feature.first().str());
    std::sort(features.begin(), features.end(),
              [](const std::string& a, const std::string& b) { return a.substr(1) < b.substr(1); });
    auto* all = new std::string;
    for (const std::string& feature : features) *all += (all->empty() ? "" : ",") + feature;
    return all;
  }();
  return text->c_str();
}

namespace {

/// What x86-64 passes floats and addresses in; LLVM has no code without it.
constexpr std::string_view of_the_abi[] = {"64bit", "sse", "sse2"};

}  // namespace

llvm::Expected<llvm::orc::JITTargetMachineBuilder> host_machine(std::string_view without) {
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();  // with the features of cpu_features
  if (!builder) return builder;
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  const std::string known = "," + std::string(cpu_features()) + ",";
  while (!without.empty()) {
    const std::string name(without.substr(0, without.find(',')));
    without.remove_prefix(std::min(without.size(), name.size() + 1));
    if (known.find("+" + name + ",") == std::string::npos && known.find("-" + name + ",") == std::string::npos)
      return llvm::createStringError("there is no CPU feature '" + name + "'; there are " + cpu_features());
    if (std::ranges::find(of_the_abi, name) != std::end(of_the_abi))
      return llvm::createStringError("no code for this host is without the CPU feature '" + name +
                                     "', for its calling convention needs it");
    builder->getFeatures().AddFeature(name, false);
  }
  return builder;
}

int vector_bits(const llvm::TargetMachine& machine) {
  const llvm::MCSubtargetInfo& features = *machine.getMCSubtargetInfo();
  if (!machine.getTargetTriple().isX86()) return 128;
  if (features.checkFeatures("+avx512f,+avx512vl")) return 512;
  return features.checkFeatures("+avx2") ? 256 : 128;
}

}  // namespace cpu
TLXJIT_NAMESPACE_END

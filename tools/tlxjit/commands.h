// tools/tlxjit/commands.h — the commands, one a source file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tools/tlxjit/options.h"
#include "tools/tlxjit/report.h"

namespace tlxjit::cli {

Result<Report> devices(const CommonOptions& common);
Result<Report> compile(const CompileCommand& command, const CommonOptions& common);
Result<Report> run(const RunCommand& command, const CommonOptions& common);
Result<Report> explain(const ExplainCommand& command, const CommonOptions& common);
Result<Report> warm(const WarmCommand& command, const CommonOptions& common);
Result<Report> cache_ls(const CacheCommand& command, const CommonOptions& common);
Result<Report> cache_stat(const CacheCommand& command, const CommonOptions& common);
Result<Report> cache_verify(const CacheCommand& command, const CommonOptions& common);
Result<Report> cache_trim(const CacheCommand& command, const CommonOptions& common);
Result<Report> cache_clear(const CacheCommand& command, const CommonOptions& common);
Result<Report> cache_export(const CacheCommand& command, const CommonOptions& common);

}  // namespace tlxjit::cli

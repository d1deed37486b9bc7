// src/core/error.cpp — names of error kinds, stages and codes; how an error prints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/core/error.h"

TLXJIT_NAMESPACE_BEGIN

std::string to_string(const Location& location) {
  if (!location.known()) return "<unknown>";
  return location.file + ":" + std::to_string(location.line);
}

const char* to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::user: return "user error";
    case ErrorKind::environment: return "environment error";
    case ErrorKind::internal: return "internal error";
  }
  return "error";
}

const char* to_string(Stage stage) {
  switch (stage) {
    case Stage::build: return "build";
    case Stage::verify: return "verify";
    case Stage::parse: return "parse";
    case Stage::lower: return "lower";
    case Stage::emit: return "emit";
    case Stage::compile: return "compile";
    case Stage::load: return "load";
    case Stage::launch: return "launch";
    case Stage::run: return "run";
    case Stage::cache: return "cache";
  }
  return "unknown stage";
}

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_kernel: return "invalid_kernel";
    case ErrorCode::invalid_text: return "invalid_text";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::bad_argument: return "bad_argument";
    case ErrorCode::out_of_resources: return "out_of_resources";
    case ErrorCode::compiler_failed: return "compiler_failed";
    case ErrorCode::library_missing: return "library_missing";
    case ErrorCode::driver_failed: return "driver_failed";
    case ErrorCode::deadlock: return "deadlock";
    case ErrorCode::internal_error: return "internal_error";
    case ErrorCode::timed_out: return "timed_out";
    case ErrorCode::assertion_failed: return "assertion_failed";
    case ErrorCode::disk_failed: return "disk_failed";
    case ErrorCode::untrusted: return "untrusted";
    case ErrorCode::bad_content: return "bad_content";
    case ErrorCode::not_compiled: return "not_compiled";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::forked: return "forked";
    case ErrorCode::capturing: return "capturing";
    case ErrorCode::host_threw: return "host_threw";
  }
  return "unknown";
}

std::string to_string(const Error& error) {
  std::string text;
  if (error.location.known()) text += to_string(error.location) + ": ";
  text += std::string(to_string(error.kind)) + " in " + to_string(error.stage) + ": " + error.message;
  if (!error.log.empty()) text += "\n" + error.log;
  return text;
}

TLXJIT_NAMESPACE_END

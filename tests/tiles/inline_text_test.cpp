// tests/tiles/inline_text_test.cpp — inline text of the CPU: LLVM's inline assembly.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>

#include "backends/cpu/sanitizers_p.h"
#include "tests/tiles/fixture.h"

namespace tiles_test {
namespace {

using testing::HasSubstr;

#ifdef __x86_64__

TEST(InlineText, OnScalarsAndTiles) {
  Data<Elem::i32> x({10}), out({10}), one({1});
  for (int i = 0; i < 10; ++i) x[i] = i * i;
  Kernel k{"inline"};
  const Tensor tx = k.tensor<int32_t>("x", {10}), to = k.tensor<int32_t>("o", {10}), t1 = k.tensor<int32_t>("1", {1});
  in_task(k, [&](Task& t) {
    const Tile a = tx.load_tile({0}, {10});
    to.store({0}, k.inline_text("cpu", "leal 3($1,$2,2), $0", "=r,r,r", Elem::i32, {a, k.program_id() + 5}));
    t1.store({0}, t.full<int32_t>(
                      {1}, k.inline_text("cpu",
                                         "# see .text\n.BYTE 0x90\n.Lhere${:uid}: popcntl $1, $0 ${:comment} = / .rept",
                                         "=r,r", Elem::i32, {0xf0f})));
  });
  TLXJIT_MUST(run(k, {x, out, one}));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(out[i], i * i + 13);
  EXPECT_EQ(one[0], 8);
}

#endif

Error refusal(const char* target, const char* text, const char* constraints, uint32_t* line) {
  Kernel k{"inline"};
  const Tensor to = k.tensor<int32_t>("o", {1});
  in_task(k, [&](Task& t) {
    *line = __LINE__ + 1;
    const Scalar x = k.inline_text(target, text, constraints, Elem::i32, {k.program_id()});
    to.store({0}, t.full<int32_t>({1}, x));
  });
  auto exe = engine().compile(k, cpu());
  EXPECT_FALSE(exe.ok());
  return exe.ok() ? Error{} : exe.error();
}

TEST(InlineText, ThatIsNoAssemblyIsRefusedWithItsLine) {
  uint32_t line = 0;
  Error error = refusal("cpu", "nosuchinstruction $1, $0", "=r,r", &line);
  EXPECT_EQ(error.code, ErrorCode::compiler_failed);
  EXPECT_EQ(error.kind, ErrorKind::user);
  EXPECT_EQ(error.message, "CPU: LLVM refused the inline text of `inline`");
  EXPECT_THAT(error.log, HasSubstr("invalid instruction mnemonic"));
  EXPECT_EQ(error.location.line, line);

  error = refusal("cpu", "nop", "=r,r,r", &line);
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, HasSubstr("constraints '=r,r,r' for these operands"));
  EXPECT_EQ(error.location.line, line);

  error = refusal("cpu", "nop", "={nowhere},r", &line);
  EXPECT_EQ(error.code, ErrorCode::compiler_failed);
  EXPECT_THAT(error.log, HasSubstr("couldn't allocate output register"));
  EXPECT_EQ(error.location.line, line);

  error = refusal("sm_90a", "mov.u32 $0, $1;", "=r,r", &line);
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, HasSubstr("inline text for sm_90a"));
  EXPECT_EQ(error.location.line, line);
}

TEST(InlineText, WhatLlvmFindsLateIsTheUsersFaultToo) {
  const std::pair<const char*, const char*> cases[] = {
      {"mov $9, $0", "there is no operand $9: there are 2, from $0 on"},
      {"mov ${2:k}, $0", "there is no operand $2: there are 2, from $0 on"},
      {"mov $99999999999, $0", "there is no operand $99999999999: there are 2, from $0 on"},
      {"mov $, $0", "a $ is followed by no operand's number; a plain one is written $$"},
      {"mov $1, ${", "a $ is followed by no operand's number; a plain one is written $$"},
      {"mov $1, $", "a $ is followed by no operand's number; a plain one is written $$"},
      {"mov $1, ${0", "${0 ends with }, after one letter at most: ${0:k}"},
      {"mov $1, ${0:", "${0 ends with }, after one letter at most: ${0:k}"},
      {"mov $1, ${0:kk}", "${0 ends with }, after one letter at most: ${0:k}"},
      {"${:", "${: has no }"},
      {"${:foo}", "there is no ${:foo}, only private, comment and uid"},
      {"$( mov $( $1, $0 $)", "$( stands inside $( … $)"},
      {"call a_symbol_that_nothing_has", "Symbols not found: [ a_symbol_that_nothing_has ]"},
      {"call tlxjit_libm_sin; call other_symbol_that_nothing_has", "other_symbol_that_nothing_has"},
      {"task_0:", "symbol 'task_0' is already defined"},
      {".include \"/etc/passwd\"", "strings and characters are not taken: write their numbers"},
      {".include file", "the directive .include is not taken: instructions, labels and data"},
      {"nop; .incbin \"/dev/zero\"", "strings and characters are not taken"},
      {"$(.rept$) 1000000000\nnop\n.endr", "the directive .rept is not taken"},
      {".macro m\nm\nm\n.endm\nm", "the directive .macro is not taken"},
      {"mov $1, $0;.SPACE 1 << 40", "the directive .space is not taken"},
      {"mov $1, $0; .LCOMM big, 1", "the directive .lcomm is not taken"},
      {"mov $1, $0; ${:private}COMM big, 1", "the directive .lcomm is not taken"},
      {"movl $$1, $0; .long foo@IMGREL", "of relocations, @PLT and @GOTPCREL are taken"},
      {"movl $$1, $0; .quad (-9223372036854775807-1)/-1", "there is no / in instructions and data"},
      {"movl $$1, $0; .quad (-9223372036854775807-1) % -1", "a % is followed by a register's name"},
      {"movl $$1, $0\na0=foo\na1=a0+a0", "symbols are given no values here"},
      {"1:.text", "the directive .text is not taken"},
      {". = . + 1", "symbols are given no values here"},
  };
  for (const auto& [text, log] : cases) {
    SCOPED_TRACE(text);
    uint32_t line = 0;
    const Error error = refusal("cpu", text, "=r,r", &line);
    EXPECT_EQ(error.code, ErrorCode::compiler_failed);
    EXPECT_EQ(error.kind, ErrorKind::user);
    EXPECT_EQ(error.stage, Stage::compile);
    EXPECT_EQ(error.message, "CPU: LLVM refused the inline text of `inline`");
    EXPECT_THAT(error.log, HasSubstr(log));
    EXPECT_EQ(error.location.line, line);
  }
}

TEST(InlineText, ConstraintsThatAreNoRegistersAreRefused) {
  const char* const in_memory = "the result is in a register, as =r says, not in memory";
  const std::pair<const char*, const char*> cases[] = {
      {"=m,r", in_memory},
      {"=rm,r", in_memory},
      {"=&m,r", in_memory},
      {"=m,0", in_memory},
      {"=o,r", in_memory},
      {"=V,r", in_memory},
      {"={memory},r", in_memory},
      {"=Ym,r", in_memory},
      {"=r,*m", "an operand is no pointer: leave the * out"},
      {"=r,r,!i", "a label (!) is no operand here"},
      {"=m|r,r", "alternatives (|) are not taken: one constraint an operand"},
      {"=r,^r", "constraints of two letters (^) are not taken"},
      {"=@ccz,r", "an @ stands in {@cc…} only"},
  };
  for (const auto& [constraints, log] : cases) {
    SCOPED_TRACE(constraints);
    uint32_t line = 0;
    const Error error = refusal("cpu", "nop", constraints, &line);
    EXPECT_EQ(error.kind, ErrorKind::user);
    EXPECT_EQ(error.log, "constraints '" + std::string(constraints) + "': " + log);
    EXPECT_EQ(error.location.line, line);
  }
}

TEST(InlineText, ThatIsLongOrDeepIsRefused) {
  uint32_t line = 0;
  const auto log_of = [&](const std::string& text) { return refusal("cpu", text.c_str(), "=r,r", &line).log; };
  EXPECT_EQ(log_of("mov $1, $0" + std::string(5000, '\n')), "it is longer than 4096 bytes: call a function");
  EXPECT_EQ(log_of("mov $1, $0; .byte " + std::string(33, '(') + "1" + std::string(33, ')')),
            "parentheses nest at most 32 deep");
}

TEST(InlineText, OfTwoThatAreFoundLateTheOneNamedIsToBlame) {
  Kernel k{"inline"};
  const Tensor to = k.tensor<int32_t>("o", {1});
  uint32_t line = 0;
  in_task(k, [&](Task& t) {
    const Scalar x = k.inline_text("cpu", "mov ${1:k}, ${0:k} # $$ ${:comment}", "=r,r", Elem::i32, {k.program_id()});
    line = __LINE__ + 1;
    const Scalar y = k.inline_text("cpu", "call a_symbol_that_nothing_has", "=r,0", Elem::i32, {x});
    to.store({0}, t.full<int32_t>({1}, y));
  });
  const auto exe = engine().compile(k, cpu());
  ASSERT_FALSE(exe.ok());
  EXPECT_EQ(exe.error().kind, ErrorKind::user);
  EXPECT_EQ(exe.error().location.line, line) << to_string(exe.error());
}

#if !TLXJIT_ASAN && !TLXJIT_TSAN  // whose memory is not given back at once
size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t all = 0, pages = 0;
  file >> all >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(InlineText, RefusedCompilesLeaveNothingBehind) {
  const char* const texts[] = {"mov $9, $0", "${", "${:foo}", "bogus $0", "call a_symbol_that_nothing_has"};
  size_t settled = 0;
  uint32_t line = 0;
  constexpr int rounds = 1000;
  for (int i = 0; i < rounds; ++i) {
    refusal("cpu", texts[static_cast<size_t>(i) % std::size(texts)], "=r,r", &line);
    if (i == rounds / 5) settled = resident_bytes();
  }
  malloc_trim(0);
  // A compile that LLVM gives up would leave 1.5 MB each.
  EXPECT_LT(resident_bytes(), settled + (size_t{4} << 20));
}
#endif

}  // namespace
}  // namespace tiles_test

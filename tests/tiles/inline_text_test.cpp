// tests/tiles/inline_text_test.cpp — inline text of the CPU: LLVM's inline assembly.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

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
    t1.store({0}, t.full<int32_t>({1}, k.inline_text("cpu", "popcntl $1, $0", "=r,r", Elem::i32, {0xf0f})));
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

}  // namespace
}  // namespace tiles_test

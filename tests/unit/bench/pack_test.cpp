// tests/unit/bench/pack_test.cpp — packed parameters have the places that the kernel's cubin declares.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/gpu/pack.h"

#include "bench/common/stages.h"
#include "tests/unit/nvidia/nvrtc_fixture.h"
#include "tlxjit/kernels/attention.h"
#include "tlxjit/kernels/gemm.h"

namespace tlxjit::bench {
namespace {

class Pack : public nvidia::WithNvrtc {
 protected:
  Result<void> record(const nvidia::TensorMapSpec& spec, nvidia::CuTensorMap& map) {
    map.opaque[0] = 0x1000 + specs.size();
    specs.push_back(spec);
    return {};
  }

  Packed pack_and_check(const Generated& made, const Call& call) {
    auto packed = pack(made.lowered, made.emitted.abi, call,
                       [&](const nvidia::TensorMapSpec& spec, nvidia::CuTensorMap& map) { return record(spec, map); });
    EXPECT_TRUE(packed) << to_string(packed.error());
    if (!packed) return {};
    const auto code = compile_source(*nvrtc, made.emitted.source, made.emitted.entry);
    EXPECT_TRUE(code) << to_string(code.error());
    if (!code) return {};
    const auto declared = declared_parameters(code->cubin, code->entry);
    EXPECT_FALSE(declared.empty());
    const auto fits = check_parameters(packed->params, declared);
    EXPECT_TRUE(fits) << to_string(fits.error());
    return *packed;
  }

  template <class T>
  static T value(const Packed& packed, size_t parameter) {
    T v;
    std::memcpy(&v, packed.params.buffer().bytes().data() + packed.params.offsets()[parameter], sizeof v);
    return v;
  }

  std::vector<nvidia::TensorMapSpec> specs;
};

TEST_F(Pack, Gemm) {
  const auto made = generate([] { return gemm(gemm_config("sm_90a")); });
  ASSERT_TRUE(made) << to_string(made.error());
  Call call;
  call.tensors = {{"a", {0x100, {4096}}}, {"b", {0x200, {4096}}}, {"d", {0x300, {2048}}}};
  call.dims = {{"M", 1024}, {"N", 2048}, {"K", 4096}};
  call.sms = 132;
  const Packed packed = pack_and_check(*made, call);
  EXPECT_EQ(packed.grid, 64u);  // 8 × 8 tiles
  ASSERT_EQ(specs.size(), 3u);
  for (const nvidia::TensorMapSpec& spec : specs) {
    EXPECT_EQ(spec.rank, 2u);
    EXPECT_EQ(spec.swizzle, 128u);
    EXPECT_EQ(spec.box[0], 64u);
    const bool is_d = spec.base == 0x300;
    EXPECT_EQ(spec.dims[0], is_d ? 2048u : 4096u);
    EXPECT_EQ(spec.byte_strides[0], is_d ? 4096u : 8192u);
    EXPECT_EQ(spec.dims[1], spec.base == 0x200 ? 2048u : 1024u);
  }
  EXPECT_EQ(value<uint64_t>(packed, 1), 0x1001u);
  EXPECT_EQ(value<int32_t>(packed, 3), 1024);
  EXPECT_EQ(value<int32_t>(packed, 4), 2048);
  EXPECT_EQ(value<int32_t>(packed, 5), 4096);
}

TEST_F(Pack, AttentionHeadMajor) {
  const auto made = generate([] { return attention(attention_config("sm_90a", {.causal = true})); });
  ASSERT_TRUE(made) << to_string(made.error());
  Call call;
  const std::vector<int64_t> strides = {4 * 512 * 128, 128, 512 * 128};  // of [B, S, H, D] that stands as [B, H, S, D]
  call.tensors = {{"q", {0x100, strides}},
                  {"k", {0x200, strides}},
                  {"v", {0x300, strides}},
                  {"out", {0x400, strides}},
                  {"lse", {0x500, {4 * 512, 512}}}};
  call.dims = {{"B", 2}, {"S", 512}, {"H", 4}};
  call.scalars = {{"scale", 0.5}};
  call.sms = 132;
  call.workspace = 0x600;
  const Packed packed = pack_and_check(*made, call);
  EXPECT_EQ(packed.grid, 32u);
  ASSERT_EQ(specs.size(), 4u);
  for (const nvidia::TensorMapSpec& spec : specs) {
    EXPECT_EQ(spec.dims, (std::array<uint64_t, 5>{128, 4, 512, 2, 0}));
    EXPECT_EQ(spec.byte_strides, (std::array<uint64_t, 4>{512 * 256, 256, 4 * 512 * 256, 0}));
    EXPECT_EQ(spec.box[0], 64u);
    EXPECT_EQ(spec.box[1], 1u);
  }
  EXPECT_EQ(value<uint64_t>(packed, 4), 0x500u);  // lse
  EXPECT_EQ(value<int64_t>(packed, 5), 2048);
  EXPECT_EQ(value<float>(packed, 10), 0.5f);
  EXPECT_EQ(value<uint64_t>(packed, 11), 0x600u);
}

TEST_F(Pack, FaultsNameWhatIsMissing) {
  const auto made = generate([] { return gemm(gemm_config("sm_90a")); });
  ASSERT_TRUE(made);
  Call call;
  call.dims = {{"M", 1}, {"N", 1}};
  const auto encode = [](const nvidia::TensorMapSpec&, nvidia::CuTensorMap&) { return Result<void>(); };
  EXPECT_NE(to_string(pack(made->lowered, made->emitted.abi, call, encode).error()).find("'K'"), std::string::npos);
  call.dims["K"] = 8;
  EXPECT_NE(to_string(pack(made->lowered, made->emitted.abi, call, encode).error()).find("'a'"), std::string::npos);
}

}  // namespace
}  // namespace tlxjit::bench

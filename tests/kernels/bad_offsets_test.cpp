// tests/kernels/bad_offsets_test.cpp — jagged attention with offsets that are nonsense: nothing outside is touched.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "tests/kernels/fixture.h"

namespace kernels_test {

constexpr int64_t rows = 300, heads = 2, head_size = 64;

std::string text_of(const std::vector<int32_t>& offsets) {
  std::string text = "offsets";
  for (int32_t x : offsets) text += " " + std::to_string(x);
  return text;
}

/// Bad in every way: decreasing, negative, beyond the rows.
std::vector<std::vector<int32_t>> bad_offsets() {
  const auto t = static_cast<int32_t>(rows);
  std::vector<std::vector<int32_t>> list = {
      {0, 200, 100, 290, 20, t},
      {t, 0},
      {t, 150, 0},
      {-5, 30, 60, t},
      {-1, -1, -1},
      {-500, -300, 100, t},
      {0, t + 1},
      {0, 130, t + 1000, t + 2000},
      {t + 5, t + 300},
      {INT32_MIN, INT32_MAX},
      {INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX},
      {0, INT32_MAX, 0, INT32_MIN, t},
      {5},
      {INT32_MIN},
  };
  Random r(seed_of_today());
  for (int i = 0; i < 12; ++i) {
    std::vector<int32_t> offsets(static_cast<size_t>(r.integer(1, 9)));
    for (int32_t& x : offsets)
      x = static_cast<int32_t>(r.among<int64_t>(
          {r.integer(0, t), r.integer(0, t), r.integer(-t, 2 * t), r.integer(INT32_MIN, INT32_MAX), -1, t + 1}));
    list.push_back(std::move(offsets));
  }
  return list;
}

/// Which rows belong to a sequence once the offsets are cut to 0 … T.
std::vector<bool> rows_in_sequences(const std::vector<int32_t>& offsets) {
  std::vector<bool> in(static_cast<size_t>(rows), false);
  const auto cut = [](int32_t x) { return std::clamp<int64_t>(x, 0, rows); };
  for (size_t b = 0; b + 1 < offsets.size(); ++b)
    for (int64_t s = cut(offsets[b]); s < cut(offsets[b + 1]); ++s) in[static_cast<size_t>(s)] = true;
  return in;
}

/// A tensor in the midst of 256 rows of NaN on each side: more than any copy reaches.
template <class T>
struct Zone {
  static constexpr size_t guard = 256 * heads * head_size;
  explicit Zone(size_t count) : data(count + 2 * guard) {
    std::memset(static_cast<void*>(data.data()), 0xff, data.size() * sizeof(T));
  }
  T& operator[](size_t i) { return data[guard + i]; }
  size_t count() const { return data.size() - 2 * guard; }
  TensorArg on(const Device& device, std::initializer_list<int64_t> dims) {
    buffer = device.upload(data).value();
    return tensor<T>(static_cast<T*>(buffer.data()) + guard, dims);
  }
  void download() { ASSERT_TRUE(buffer.download(data)); }
  bool untouched(size_t i) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&data[i]);
    return std::all_of(bytes, bytes + sizeof(T), [](unsigned char b) { return b == 0xff; });
  }
  size_t strays() const {
    size_t n = 0;
    for (size_t i = 0; i < guard; ++i) n += !untouched(i) + !untouched(data.size() - 1 - i);
    return n;
  }
  std::vector<T> data;
  Buffer buffer;
};

class BadOffsets : public KernelTest {
 protected:
  Result<Executable> attention_exe(AttentionOptions o) {
    o.head = static_cast<int>(head_size), o.jagged = true;
    return compile(attention(attention_config(GetParam().target(), o)));
  }
};

/// Bad in another way than `list`: what the keys' offsets are beside the queries'.
std::vector<int32_t> other(const std::vector<int32_t>& list) { return {list.rbegin(), list.rend()}; }

/// Masks, and keys with offsets of their own.
std::vector<AttentionOptions> masks() {
  return {{}, {.causal = true}, {.causal = true, .self = false}, {.self = false, .left = 20, .right = 90}};
}

TEST_P(BadOffsets, WritesStayInsideAndNothingIsReadFromOutside) {
  for (const AttentionOptions& o : masks()) {
    auto exe = attention_exe(o);
    TLXJIT_MUST(exe);
    for (const std::vector<int32_t>& list : bad_offsets()) {
      SCOPED_TRACE(text_of(list) + "; " + exe->signature());
      constexpr size_t n = rows * heads * head_size;
      Zone<bf16> q(n), k(n), v(n), out(n);
      Zone<float> lse(rows * heads);
      Zone<int32_t> offsets(list.size()), key_offsets(list.size());
      Random r(7);
      for (auto* x : {&q, &k, &v})
        for (size_t i = 0; i < n; ++i) (*x)[i] = bf16(r.real());
      for (size_t i = 0; i < list.size(); ++i) offsets[i] = list[i], key_offsets[i] = other(list)[i];
      const auto dims = {rows, heads, head_size};
      const auto bounds = {static_cast<int64_t>(list.size())};
      std::vector<Argument> arguments = {q.on(device(), dims),
                                         k.on(device(), dims),
                                         v.on(device(), dims),
                                         out.on(device(), dims),
                                         lse.on(device(), {heads, rows}),
                                         offsets.on(device(), bounds)};
      if (!o.self) arguments.emplace_back(key_offsets.on(device(), bounds));
      arguments.emplace_back(0.125f);
      TLXJIT_MUST(exe->launch(Stream(), arguments));
      TLXJIT_MUST(device().synchronize());
      out.download();
      lse.download();
      EXPECT_EQ(out.strays() + lse.strays(), 0u) << "elements outside the tensors were written";
      // What is outside is NaN, and so would be all that is computed from it. Offsets that decrease may lose rows.
      const std::vector<bool> in = rows_in_sequences(list);
      for (size_t i = 0; i < n; ++i) {
        const size_t row = i / (heads * head_size);
        if (out.untouched(Zone<bf16>::guard + i)) continue;
        ASSERT_TRUE(in[row]) << "row " << row << " is of no sequence";
        ASSERT_FALSE(std::isnan(static_cast<float>(out[i]))) << "row " << row;
      }
      for (size_t i = 0; i < rows * heads; ++i) {
        const size_t row = i % rows;
        if (lse.untouched(Zone<float>::guard + i)) continue;
        ASSERT_TRUE(in[row]) << "row " << row << " is of no sequence";
        ASSERT_FALSE(std::isnan(lse[i])) << "row " << row;
      }
    }
  }
}

/// 2^32 + n is no n.
TEST_P(BadOffsets, OffsetsOf64BitsAreNotCut) {
  AttentionOptions o;
  o.offsets = Elem::i64;
  auto exe = attention_exe(o);
  TLXJIT_MUST(exe);
  constexpr size_t n = rows * heads * head_size;
  constexpr int64_t beyond = int64_t{1} << 32;
  std::vector<bf16> results[2];
  const std::vector<int64_t> lists[] = {{-beyond, 100, beyond + 7, beyond + 20, INT64_MAX}, {0, 100, rows, rows, rows}};
  for (size_t which = 0; which < 2; ++which) {
    Zone<bf16> q(n), k(n), v(n), out(n);
    Zone<float> lse(rows * heads);
    Zone<int64_t> offsets(lists[which].size());
    Random r(8);
    for (auto* x : {&q, &k, &v})
      for (size_t i = 0; i < n; ++i) (*x)[i] = bf16(r.real());
    for (size_t i = 0; i < lists[which].size(); ++i) offsets[i] = lists[which][i];
    const auto dims = {rows, heads, head_size};
    TLXJIT_MUST(exe->launch({q.on(device(), dims), k.on(device(), dims), v.on(device(), dims), out.on(device(), dims),
                             lse.on(device(), {heads, rows}), offsets.on(device(), {5}), 0.125f}));
    TLXJIT_MUST(device().synchronize());
    out.download();
    EXPECT_EQ(out.strays(), 0u);
    for (size_t i = 0; i < n; ++i) results[which].push_back(out[i]);
  }
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(results[0][i].bits, results[1][i].bits) << i;
}

#ifndef TLXJIT_TEST_GPU

char what_runs[1024];

void say_and_end(int) {
  (void)!write(STDERR_FILENO, what_runs, std::strlen(what_runs));
  _exit(1);
}

/// Memory that ends, or begins, where no access is allowed.
class Pages {
 public:
  Pages(size_t bytes, bool at_end) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    inside_ = (bytes + page - 1) / page * page;
    all_ = static_cast<char*>(mmap(nullptr, inside_ + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (all_ == MAP_FAILED || mprotect(all_ + guard, inside_, PROT_READ | PROT_WRITE) != 0) std::abort();
    data_ = all_ + guard + (at_end ? inside_ - bytes : 0);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(all_, inside_ + 2 * guard); }
  void* data() const { return data_; }

 private:
  static constexpr size_t guard = size_t{16} << 20;
  char* all_;
  char* data_;
  size_t inside_;
};

TEST_P(BadOffsets, NoAccessOutsideThePages) {
  std::signal(SIGSEGV, say_and_end);
  std::signal(SIGBUS, say_and_end);
  for (const AttentionOptions& o : masks()) {
    auto exe = attention_exe(o);
    TLXJIT_MUST(exe);
    for (const std::vector<int32_t>& list : bad_offsets())
      for (bool at_end : {false, true}) {
        std::snprintf(what_runs, sizeof what_runs, "an access outside the tensors, at their %s: %s, %s\n",
                      at_end ? "end" : "begin", text_of(list).c_str(), exe->signature().c_str());
        constexpr size_t n = rows * heads * head_size;
        const Pages q(2 * n, at_end), k(2 * n, at_end), v(2 * n, at_end), out(2 * n, at_end);
        const Pages lse(4 * rows * heads, at_end), offsets(4 * list.size(), at_end),
            key_offsets(4 * list.size(), at_end);
        std::copy(list.begin(), list.end(), static_cast<int32_t*>(offsets.data()));
        std::copy(list.rbegin(), list.rend(), static_cast<int32_t*>(key_offsets.data()));
        const auto matrix = [](const Pages& p) { return tensor<bf16>(p.data(), {rows, heads, head_size}); };
        const auto bounds = [&](const Pages& p) {
          return tensor<int32_t>(p.data(), {static_cast<int64_t>(list.size())});
        };
        std::vector<Argument> arguments = {
            matrix(q), matrix(k), matrix(v), matrix(out), tensor<float>(lse.data(), {heads, rows}), bounds(offsets)};
        if (!o.self) arguments.emplace_back(bounds(key_offsets));
        arguments.emplace_back(0.125f);
        TLXJIT_MUST(exe->launch(Stream(), arguments));
      }
  }
  std::signal(SIGSEGV, SIG_DFL);
  std::signal(SIGBUS, SIG_DFL);
}

#endif

INSTANTIATE_TEST_SUITE_P(On, BadOffsets, places, place_name);

}  // namespace kernels_test

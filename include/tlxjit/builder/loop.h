// include/tlxjit/builder/loop.h — counted loops, and the tiles of a schedule.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tlxjit/builder/tile.h"

TLXJIT_NAMESPACE_BEGIN

class Task;

/// Whether `fn` is a std::function or a pointer that holds nothing.
template <class Fn>
bool is_empty(const Fn& fn) {
  if constexpr (std::is_pointer_v<Fn> || requires { fn.operator bool(); })
    return !fn;
  else
    return false;
}

/// The sequence of tiles that a program works through; the same in every instance that iterates it.
class TLXJIT_API Tiles {
 public:
  /// `fn` takes as many indices as the schedule yields.
  template <class Fn>
  void each(Fn&& fn, std::source_location at = std::source_location::current()) const {
    if (is_empty(fn)) return run({}, -1, at);
    run([&](std::vector<Index>& i) { call(fn, i); }, wanted<Fn>(), at);
  }
  int indices() const;
  /// The tiles of which replica r of the task's n takes every n-th, from the r-th on.
  Tiles split(const Task& task, std::source_location at = std::source_location::current()) const;

 private:
  friend class Kernel;
  /// How many indices a function takes; -1: a list of any length.
  template <class Fn>
  static constexpr int wanted() {
    if constexpr (std::is_invocable_v<Fn&, std::vector<Index>&>)
      return -1;
    else if constexpr (std::is_invocable_v<Fn&, Index>)
      return 1;
    else if constexpr (std::is_invocable_v<Fn&, Index, Index>)
      return 2;
    else if constexpr (std::is_invocable_v<Fn&, Index, Index, Index>)
      return 3;
    else
      return 4;
  }
  template <class Fn>
  static void call(Fn& fn, std::vector<Index>& i) {
    if constexpr (std::is_invocable_v<Fn&, std::vector<Index>&>)
      fn(i);
    else if constexpr (std::is_invocable_v<Fn&, Index>)
      fn(std::move(i[0]));
    else if constexpr (std::is_invocable_v<Fn&, Index, Index>)
      fn(std::move(i[0]), std::move(i[1]));
    else if constexpr (std::is_invocable_v<Fn&, Index, Index, Index>)
      fn(std::move(i[0]), std::move(i[1]), std::move(i[2]));
    else
      fn(std::move(i[0]), std::move(i[1]), std::move(i[2]), std::move(i[3]));
  }
  void run(const std::function<void(std::vector<Index>&)>& fn, int wanted, std::source_location at) const;
  std::shared_ptr<BuilderState> state_;
  Value value_ = no_value;
  bool split_ = false;
};

/// What a schedule makes of tile number t: whether there is such a tile, and its indices.
struct TileAt {
  Tile taken;  ///< b1; tiles that are not taken are skipped
  std::vector<Index> indices;
};

/// A counted loop: `k.range(n).each([&](Index i) { … })`. It counts upwards: a step of a call that is below 1 ends the
/// launch with an error on the CPU, and is not looked at by a GPU, where the loop may not end.
class TLXJIT_API Range {
 public:
  template <class Fn>
  void each(Fn&& fn, std::source_location at = std::source_location::current()) const {
    if (is_empty(fn))
      run({}, at);
    else if constexpr (std::is_invocable_v<Fn&>)
      run([&](Index&) { fn(); }, at);
    else
      run([&](Index& i) { fn(std::move(i)); }, at);
  }

 private:
  friend class Kernel;
  void run(const std::function<void(Index&)>& fn, std::source_location at) const;
  std::shared_ptr<BuilderState> state_;
  Value low_ = no_value, high_ = no_value, step_ = no_value;
};

struct PersistentOptions {
  int group = 0;  ///< tiles of the first axis that are walked together for the sake of the cache; 0: row by row
};

TLXJIT_NAMESPACE_END

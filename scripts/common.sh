# scripts/common.sh — what the scripts share: timed stages and the build. Sourced, from the repository's root.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# stage <name> <command>...: runs the command and prints the seconds it took.
stage() {
  local name="$1" start="$SECONDS"
  shift
  echo "== $name"
  "$@"
  echo "== $name: $((SECONDS - start)) s"
}

# build_preset <preset> [option of `cmake --build`]...: configures and builds; quiet unless it fails.
build_preset() {
  local preset="$1" launcher=() log
  shift
  # LLVM's and our own objects come back from ccache where there is one.
  if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  log="$(mktemp)"
  if ! { cmake --preset "$preset" "${launcher[@]}" && cmake --build --preset "$preset" -j "$(nproc)" "$@"; } >"$log" 2>&1; then
    grep -v '^\[[0-9]*/[0-9]*\] Building' "$log" | tail -n 200 >&2
    rm -f "$log"
    echo "the build of preset $preset failed" >&2
    return 1
  fi
  tail -n 1 "$log"
  rm -f "$log"
}

# has_nvidia_gpu: true where an NVIDIA driver is loaded.
has_nvidia_gpu() { [ -e /dev/nvidiactl ]; }

#!/usr/bin/env bash
# run — runs what is in this bundle: GPU tests first, each with a time limit, then benchmarks; keeps the results.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   run [option]... [-- argument of each benchmark...]
#
# --self-check       only says whether every program starts with the libraries in here
# --time-limit S     seconds for one test (default 120)
# --bench-limit S    seconds for one benchmark (default 900)
# --budget S         starts nothing more after S seconds (default: no end)
# --filter PATTERN   tests whose `program.Suite.Case` matches this shell pattern
# --no-tests         no tests
# --no-benches       no benchmarks
# --bench NAME       this benchmark only; may be given more than once
# --results FILE     the archive (default results.tar.gz)
#
# NVRTC is looked for in TLXJIT_NVRTC_DIR, in Python's nvidia wheels, in the CUDA toolkit. The archive has a log for
# each program or test, the JSON results and summary.txt. Exit status 1: something failed.
set -uo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

self_check=0 time_limit=120 bench_limit=900 budget=0 filter='*' tests=1 benches=1 chosen=() archive=results.tar.gz bench_args=()
while [ $# -gt 0 ]; do
  case "$1" in
    --self-check) self_check=1 ;;
    --time-limit) time_limit="$2"; shift ;;
    --bench-limit) bench_limit="$2"; shift ;;
    --budget) budget="$2"; shift ;;
    --filter) filter="$2"; shift ;;
    --no-tests) tests=0 ;;
    --no-benches) benches=0 ;;
    --bench) chosen+=("$2"); shift ;;
    --results) archive="$2"; shift ;;
    --) shift; bench_args=("$@"); break ;;
    *) sed -n '5,19s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  esac
  shift
done

# of_kind <kind>: programs of the bundle, as paths below it.
of_kind() { awk -v kind="$1" '$1 == kind { print $2 }' "$here/bundle.txt"; }

# cases <test program>: its tests, `Suite.Case` each.
cases() {
  "$1" --gtest_list_tests | awk '/^[^ ].*\.( |$)/ { suite = $1; next } /^  / && suite != "" { print suite $1 }'
}

# ---- self check: libraries come from here, or are the C library's
check_program() {
  local file="$1" name path faults=0 traced
  traced="$(LD_TRACE_LOADED_OBJECTS=1 /lib64/ld-linux-x86-64.so.2 "$here/$file" 2>&1)" || { echo "$traced"; return 1; }
  while read -r name _ path _; do
    case "$name" in
      linux-vdso* | libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | */ld-linux* | ld-linux*) ;;
      *) if [ "${path#"$here"/}" = "$path" ]; then echo "  $file: $name comes from $path"; faults=1; fi ;;
    esac
  done <<<"$traced"
  return "$faults"
}

if [ "$self_check" = 1 ]; then
  failed=0 passed=0
  while read -r kind file; do
    ok=1
    check_program "$file" || ok=0
    if [ "$kind" = test ] && [ "$ok" = 1 ]; then
      [ "$(cases "$here/$file" | wc -l)" -gt 0 ] || { echo "  $file: lists no tests"; ok=0; }
    fi
    if [ "$ok" = 1 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $kind $file"; fi
  done <"$here/bundle.txt"
  echo "self check: $passed passed, $failed failed"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
  exit
fi

# ---- where NVRTC is
has_nvrtc() { compgen -G "$1/libnvrtc.so*" >/dev/null && [[ "$1" != */stubs* && "$1" != */compat* ]]; }
find_nvrtc() {
  local dir
  if [ -n "${TLXJIT_NVRTC_DIR:-}" ]; then echo "$TLXJIT_NVRTC_DIR"; return; fi
  {
    if command -v python3 >/dev/null; then
      python3 -c 'import site, sys
for p in sys.path + site.getsitepackages() + [site.getusersitepackages()]:
    for d in ("cu13", "cuda_nvrtc"): print(f"{p}/nvidia/{d}/lib")' 2>/dev/null
    fi
    [ -z "${CUDA_HOME:-}" ] || printf '%s\n' "$CUDA_HOME/lib64" "$CUDA_HOME/targets/x86_64-linux/lib"
    printf '%s\n' /usr/local/cuda/lib64 /usr/local/cuda/targets/x86_64-linux/lib /usr/local/cuda-13*/lib64 /usr/lib/x86_64-linux-gnu
  } | while read -r dir; do
    if has_nvrtc "$dir"; then echo "$dir"; break; fi
  done
}
TLXJIT_NVRTC_DIR="$(find_nvrtc)"
export TLXJIT_NVRTC_DIR
export TLXJIT_DISK_CACHE=0

# A stub or a compatibility copy of the driver must never be loaded in place of the driver.
kept=""
IFS=: read -ra folders <<<"${LD_LIBRARY_PATH:-}"
for folder in "${folders[@]}"; do
  case "$folder" in *stubs* | *compat*) echo "left out of LD_LIBRARY_PATH: $folder" ;; *) kept+="${kept:+:}$folder" ;; esac
done
if [ -n "$kept" ]; then export LD_LIBRARY_PATH="$kept"; else unset LD_LIBRARY_PATH; fi

# ---- results
work="$(mktemp -d)"
results="$work/results"
mkdir -p "$results"
export TLXJIT_RESULTS="$results"
passed=0 failed=0 skipped=0 left_out=0

finish() {
  trap - EXIT
  echo "$passed passed, $failed failed, $skipped skipped, $left_out not started, $SECONDS s" | tee -a "$results/summary.txt"
  tar -C "$work" -czf "$archive" results && echo "results: $archive"
  rm -rf "$work"
  # In a trap, `exit` alone would give the status from before it.
  if [ "$failed" = 0 ] && [ "$left_out" = 0 ]; then exit "$1"; else exit 1; fi
}
trap 'finish "$?"' EXIT
trap 'exit 1' INT TERM

{
  echo "commit $(cat "$here/commit.txt")"
  echo "date $(date -u +%Y-%m-%dT%H:%M:%SZ)"
  echo "nvrtc ${TLXJIT_NVRTC_DIR:-not found}"
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | sed 's/^/gpu /' || echo "gpu none"
} | tee "$results/summary.txt"

# note <verdict> <name> <seconds>
note() { printf '%-8s %s (%s s)\n' "$1" "$2" "$3" | tee -a "$results/summary.txt"; }

over_budget() { [ "$budget" -gt 0 ] && [ "$SECONDS" -ge "$budget" ]; }

# limited <seconds> <name> <command>...: runs it; its output goes to the log of that name.
limited() {
  local limit="$1" name="$2" log="$results/${2//\//_}.log" start="$SECONDS" rc
  shift 2
  timeout --kill-after=10 "$limit" "$@" >"$log" 2>&1 </dev/null
  rc=$?
  if [ "$rc" = 124 ] || [ "$rc" = 137 ]; then
    failed=$((failed + 1)); note TIMEOUT "$name" $((SECONDS - start))
  elif [ "$rc" != 0 ]; then
    failed=$((failed + 1)); note FAILED "$name" $((SECONDS - start)); tail -n 25 "$log"
  elif grep -q '^\[  SKIPPED \]' "$log"; then
    skipped=$((skipped + 1)); note SKIPPED "$name" $((SECONDS - start))
  else
    passed=$((passed + 1)); note passed "$name" $((SECONDS - start))
  fi
}

if [ "$tests" = 1 ]; then
  for file in $(of_kind test); do
    program="${file##*/}"
    if ! listed="$(cases "$here/$file")" || [ -z "$listed" ]; then
      failed=$((failed + 1)); note FAILED "$program: lists no tests" 0
      continue
    fi
    for case in $listed; do
      name="$program.$case"
      # shellcheck disable=SC2053
      [[ "$name" == $filter ]] || continue
      if over_budget; then left_out=$((left_out + 1)); continue; fi
      limited "$time_limit" "$name" "$here/$file" "--gtest_filter=$case" "--gtest_output=json:$results/${name//\//_}.json"
    done
  done
fi

if [ "$benches" = 1 ]; then
  for kind in bench gbench; do
    for file in $(of_kind "$kind"); do
      program="${file##*/}"
      if [ ${#chosen[@]} -gt 0 ] && [[ " ${chosen[*]} " != *" $program "* ]]; then continue; fi
      if over_budget; then left_out=$((left_out + 1)); continue; fi
      own=()
      [ "$kind" = bench ] || own=("--benchmark_out=$results/$program.json" --benchmark_out_format=json)
      limited "$bench_limit" "$program" "$here/$file" "${own[@]}" "${bench_args[@]}"
      cat "$results/$program.log"
    done
  done
fi

# What failed was counted; the last command's own status says nothing.
exit 0

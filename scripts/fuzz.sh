#!/usr/bin/env bash
# Builds the fuzz targets with libFuzzer and the address and undefined-behaviour sanitizers, and runs each of them, one after
# the other. What it finds is in build-fuzz/found; what it learns is in build-fuzz/corpus, beside the corpora in tests/fuzz.
# Usage: scripts/fuzz.sh SECONDS [TARGET...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=$1
shift
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || mapfile -t targets < <(ls tests/fuzz/corpus)
build=build-fuzz

find_clang() {
  local candidate
  for candidate in ${CLANGXX:-clang++ clang++-19 clang++-16 clang++-15 clang++-14}; do
    if command -v "$candidate" >/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "fuzz: clang with libFuzzer is missing: apt-get install clang" >&2
  exit 1
}

clang=$(find_clang)
[[ -e $build/build.ninja ]] || cmake -G Ninja -S . -B "$build" -DCMAKE_CXX_COMPILER="$clang" \
  -DCMAKE_C_COMPILER="${clang/clang++/clang}" -DREMOTECL_FUZZ=ON -DREMOTECL_SANITIZE=address -DREMOTECL_BENCH=OFF \
  -DREMOTECL_WERROR=ON
programs=("${targets[@]/#/remotecl_}")
ninja -C "$build" "${programs[@]/%/_fuzz}"

export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export ASAN_OPTIONS=detect_stack_use_after_return=1
mkdir -p "$build/found"
for target in "${targets[@]}"; do
  mkdir -p "$build/corpus/$target"
  # Sessions have threads that end later than an input: leaks are looked for at the end.
  "$build/bin/remotecl_${target}_fuzz" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=1024 -malloc_limit_mb=68 \
    -max_len=16384 -detect_leaks=0 -print_final_stats=1 -artifact_prefix="$build/found/$target-" \
    "$build/corpus/$target" "tests/fuzz/corpus/$target"
done

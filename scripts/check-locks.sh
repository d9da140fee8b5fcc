#!/usr/bin/env bash
# Has clang check which locks are held (runtime/base/mutex.h), in all C++ of the product, without building it. What it
# finds is an error. Usage: scripts/check-locks.sh [FILE...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build-lint
cmake -G Ninja -S . -B $build -DCMAKE_CXX_COMPILER=clang++ -DREMOTECL_WERROR=ON -DREMOTECL_TESTS=OFF -DREMOTECL_BENCH=OFF \
  >/dev/null
# Headers that are precompiled once take most of the time off each file.
ninja -C $build -t targets all | sed -n 's/^\(.*cmake_pch\.hxx\.[a-z]*\): .*/\1/p' | xargs ninja -C $build --quiet

# Each file's own command, without the object that it would make.
python3 - "$build" "$@" <<'RUN'
import concurrent.futures, json, os, shlex, subprocess, sys

build, *wanted = sys.argv[1:]
entries = [entry for entry in json.load(open(f"{build}/compile_commands.json")) if "/cpp/" in entry["file"]]
entries = [entry for entry in entries if not wanted or any(entry["file"].endswith(name) for name in wanted)]


def check(entry):
    words = shlex.split(entry["command"])
    words = words[words.index(next(word for word in words if word.endswith("clang++"))) :]
    output = words.index("-o")
    words = [*words[:output], *words[output + 2 :], "-fsyntax-only"]
    return subprocess.run(words, cwd=entry["directory"], capture_output=True, text=True, errors="replace")


with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    results = list(pool.map(check, entries))
for result in results:
    sys.stderr.write(result.stderr)
print(f"{len(results)} files checked")
sys.exit(not results or any(result.returncode for result in results))
RUN

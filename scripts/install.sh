#!/usr/bin/env bash
# Builds the package and installs it into .venv, and shows how far the compiler has come; with the argument "demo"
# without the benchmark program. What pip says is shown when it fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

options=(--config-settings=build-dir=build-wheel)
if [[ ${1:-} == demo ]]; then  # what compiles soonest
  options=(--config-settings={build-dir=build-demo,cmake.build-type=Demo,cmake.define.REMOTECL_{BENCH=OFF,GROUP=100}})
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
[[ -t 1 ]] && line='\r\033[Kbuilding remotecl: %d of %d' || line='building remotecl: %d of %d\n'

# "[12/230] Building CXX object ...": each on a terminal, else every 25th.
show() {
  local done=0 all=0
  while IFS= read -r text; do
    printf '%s\n' "$text" >> "$log"
    [[ $text =~ \[([0-9]+)/([0-9]+)\]\  ]] || continue
    done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    # shellcheck disable=SC2059  # the format is ours
    if [[ -t 1 ]] || ((done % 25 == 0)); then printf "$line" "$done" "$all"; fi
  done
  [[ ! -t 1 || $all -eq 0 ]] || echo
}

.venv/bin/python -m pip install --verbose --disable-pip-version-check --no-build-isolation --no-deps --no-index \
  --force-reinstall "${options[@]}" . 2>&1 | show ||
  { cat "$log" >&2; exit 1; }

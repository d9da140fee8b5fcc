#!/usr/bin/env bash
# Runs a command in a clean clone of the last commit, in a fresh root of another Debian release: what its user has who
# installs nothing but git and make. Needs root and mmdebstrap.
# Usage: scripts/debian-root.sh SUITE COMMAND [ARGUMENT...]     for example: scripts/debian-root.sh trixie make demo
set -euo pipefail
[[ $# -ge 2 ]] || { echo "usage: $0 SUITE COMMAND [ARGUMENT...]" >&2; exit 2; }
source "$(dirname "${BASH_SOURCE[0]}")/roots.sh"
suite=$1
shift

mkdir -p "$roots_tree/build-debian"
root=$(mktemp --directory "$roots_tree/build-debian/root.XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT
base_root "$suite" "$root"
git clone --quiet --no-hardlinks "$roots_tree" "$root/remotecl"
in_root "$root" bash -c 'cd /remotecl && exec "$@"' bash "$@"

#!/usr/bin/env bash
# Runs a command in a clean clone of the last commit, in a fresh root of another Debian release: what its user has who
# installs nothing but git and make. Needs root and mmdebstrap; the release's packages come from this machine's mirror,
# and what apt and pip are told here (APT's Acquire options, PIP_*) holds there, too.
# Usage: scripts/debian-root.sh SUITE COMMAND [ARGUMENT...]     for example: scripts/debian-root.sh trixie make demo
# The base of a release is made once, in build-debian; remove SUITE.tar there to make it anew.
set -euo pipefail
[[ $# -ge 2 ]] || { echo "usage: $0 SUITE COMMAND [ARGUMENT...]" >&2; exit 2; }
readonly suite=$1 tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly bases=$tree/build-debian
shift
[[ $(id -u) -eq 0 ]] || { echo "debian-root: a root of its own needs root: run this as root or with sudo" >&2; exit 1; }
command -v mmdebstrap >/dev/null || { echo "debian-root: mmdebstrap is missing: apt-get install mmdebstrap" >&2; exit 1; }

mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 '/debian/\?$') || mirror=
mkdir -p "$bases"
if [[ ! -e $bases/$suite.tar ]]; then
  mapfile -t options < <(apt-config dump | sed -En 's/^(Acquire::(https?|Check)[^ ]* ".+";)$/--aptopt=\1/p')
  mmdebstrap --quiet --variant=apt --include=ca-certificates,git,make "${options[@]}" "$suite" "$bases/$suite.new.tar" $mirror
  mv "$bases/$suite.new.tar" "$bases/$suite.tar"
fi

root=$(mktemp --directory "$bases/root.XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT
tar --extract --file "$bases/$suite.tar" --directory "$root" --numeric-owner --exclude='./dev/*'
cp --dereference /etc/resolv.conf /etc/hosts "$root/etc/"
git clone --quiet --no-hardlinks "$tree" "$root/remotecl"
settings=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
mapfile -t -O ${#settings[@]} settings < <(env | grep '^PIP_' || true)
# The certificates of a mirror that has an authority of its own.
if [[ -n ${PIP_CERT:-} ]]; then install -D -m 644 "$PIP_CERT" "$root$PIP_CERT"; fi

# Mounts and processes end with the command.
# shellcheck disable=SC2016
unshare --mount --propagation private --pid --fork --kill-child bash -c '
  root=$1
  shift
  for folder in /dev /sys; do mount --rbind "$folder" "$root$folder"; done
  mount -t proc proc "$root/proc"
  mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
  exec env --ignore-environment "$@"
' bash "$root" "${settings[@]}" chroot "$root" bash -c 'cd /remotecl && exec "$@"' bash "$@"

# shellcheck shell=bash
# Roots of other Debian systems, for scripts that source this. They need root, and `base_root` needs mmdebstrap; packages
# come from this machine's mirror, and what apt and pip are told here (APT's Acquire options, PIP_*) holds there, too.

roots_tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# base_root SUITE FOLDER: a fresh root of a Debian release with git and make. The base of a release is made once, in
# build-debian; remove SUITE.tar there to make it anew.
base_root() {
  local suite=$1 root=$2 bases=$roots_tree/build-debian mirror options
  command -v mmdebstrap >/dev/null || { echo "$0: mmdebstrap is missing: apt-get install mmdebstrap" >&2; return 1; }
  mkdir -p "$bases" "$root"
  if [[ ! -e $bases/$suite.tar ]]; then
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 '/debian/\?$') || mirror=
    mapfile -t options < <(apt-config dump | sed -En 's/^(Acquire::(https?|Check)[^ ]* ".+";)$/--aptopt=\1/p')
    # shellcheck disable=SC2086  # no mirror is no argument
    mmdebstrap --quiet --variant=apt --include=ca-certificates,git,make "${options[@]}" "$suite" "$bases/$suite.new.tar" $mirror
    mv "$bases/$suite.new.tar" "$bases/$suite.tar"
  fi
  tar --extract --file "$bases/$suite.tar" --directory "$root" --numeric-owner --exclude='./dev/*'
}

# in_root ROOT COMMAND...: mounts and processes end with the command.
in_root() {
  local root=$1 settings=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
  shift
  [[ $(id -u) -eq 0 ]] || { echo "$0: a root of its own needs root: run this as root or with sudo" >&2; return 1; }
  mapfile -t -O ${#settings[@]} settings < <(env | grep '^PIP_' || true)
  cp --dereference /etc/resolv.conf /etc/hosts "$root/etc/"
  # The certificates of a mirror that has an authority of its own.
  if [[ -n ${PIP_CERT:-} && -e $PIP_CERT ]]; then install -D -m 644 "$PIP_CERT" "$root$PIP_CERT"; fi
  # shellcheck disable=SC2016
  unshare --mount --propagation private --pid --fork --kill-child bash -c '
    root=$1
    shift
    for folder in /dev /sys; do mount --rbind "$folder" "$root$folder"; done
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    exec env --ignore-environment "$@"
  ' bash "$root" "${settings[@]}" chroot "$root" "$@"
}

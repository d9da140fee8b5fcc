#!/usr/bin/env bash
# Runs a program of this machine in a small virtual machine that has RDMA without hardware: Debian's kernel under QEMU,
# with Soft-RoCE (rdma_rxe) on a dummy interface that has the addresses 10.9.0.1 and fd09::1. The guest sees this
# machine's files and can write to /run only. Installs what is missing. About 13 s, most of it the guest's start.
# Usage: scripts/rdma-guest.sh PROGRAM [ARGUMENT...]
# Ends with the program's exit status; with 1 if none is reported in time, or by three guests whose kernel stops early
# (under emulation some panic as they start); with 77, loudly, where there cannot be a guest: on another processor,
# or where nothing can be downloaded. RDMA_GUEST_MEMORY (1024 MiB) and RDMA_GUEST_SECONDS (600) are its limits. Starting
# takes the guest 5 s of processor time, however long that is.
set -euo pipefail
[[ $# -gt 0 ]] || { echo "usage: $0 PROGRAM [ARGUMENT...]" >&2; exit 2; }
readonly scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly cache=$scripts/../build/rdma-guest
packages=(qemu-system-x86 busybox-static cpio kmod xz-utils iproute2
  rdma-core ibverbs-providers ibverbs-utils libibverbs-dev librdmacm-dev perftest)
export DEBIAN_FRONTEND=noninteractive PATH=$PATH:/usr/sbin:/sbin

fail() { echo "rdma-guest: $*" >&2; exit 1; }
skip() {
  printf 'rdma-guest: ******** SKIPPED: %s; nothing was tested ********\n' "$*" >&2
  exit 77
}

as_root() {
  if [[ $(id -u) -eq 0 ]]; then "$@"; else sudo "$@"; fi
}

updated=
update_lists() {
  [[ -z $updated ]] || return 1
  updated=yes
  as_root apt-get update -qq
}

install_packages() {
  local package missing=()
  for package in "${packages[@]}"; do
    [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      missing+=("$package")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  echo "rdma-guest: installing ${missing[*]}"
  update_lists || skip "the package lists cannot be downloaded"
  as_root apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}" >/dev/null ||
    skip "these packages cannot be installed: ${missing[*]}"
}

# The stock kernel: that of the cloud flavour has no rdma_rxe.
download_kernel() {
  local package
  package=$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image-/ { print $2; exit }')
  [[ -n $package ]] && (cd "$cache/package" && apt-get -qq -o APT::Sandbox::User=root download "$package")
}

prepare_kernel() {
  ! compgen -G "$cache/kernel/boot/vmlinuz-*" >/dev/null || return 0
  rm -rf "$cache/package" "$cache/kernel" "$cache/kernel.new"
  mkdir -p "$cache/package" "$cache/kernel.new"
  download_kernel || { update_lists && download_kernel; } || skip "the kernel's package cannot be downloaded"
  dpkg-deb --extract "$cache"/package/*.deb "$cache/kernel.new"
  rm -rf "$cache/package"
  depmod --basedir "$cache/kernel.new" "$(ls "$cache/kernel.new/lib/modules")"
  mv "$cache/kernel.new" "$cache/kernel"
}

# The modules with what they need, in the order of loading.
modules() {
  local module
  for module in virtio_pci virtio_rng 9pnet_virtio 9p crc32_generic dummy rdma_rxe rdma_ucm ib_uverbs; do
    modprobe --dirname "$cache/kernel" --set-version "$(ls "$cache/kernel/lib/modules")" --show-depends "$module" ||
      fail "the kernel has no module $module"
  done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

prepare_initramfs() {
  [[ $cache/initramfs -nt $scripts/rdma-guest-init.sh && $cache/initramfs -nt $scripts/rdma-guest.sh ]] && return
  local root=$cache/root file name
  rm -rf "$root"
  mkdir -p "$root"/{bin,modules,dev}
  cp "$(command -v busybox)" "$root/bin/busybox"
  install -m 755 "$scripts/rdma-guest-init.sh" "$root/init"
  while read -r file; do
    name=$(basename "${file%.xz}")
    if [[ $file == *.xz ]]; then xz --decompress --stdout "$file" > "$root/modules/$name"
    else cp "$file" "$root/modules/$name"; fi
    echo "$name" >> "$root/modules/order"
  done < <(modules)
  (cd "$root" && find . | cpio --quiet --create --format=newc --owner=0:0) > "$cache/initramfs.new"
  mv "$cache/initramfs.new" "$cache/initramfs"
}

# What the guest runs: the program in this folder, with the variables that tests look at.
write_command() {
  local name
  echo "cd $(printf %q "$PWD")"
  for name in $(compgen -e | grep -E '^(REMOTECL_|GTEST_|OCL_|POCL_|ASAN_|UBSAN_|TSAN_)' || true); do
    printf 'export %s=%q\n' "$name" "${!name}"
  done
  printf 'exec'
  printf ' %q' "$@"
  echo
}

# no_timer_check: on a busy machine the first ticks come late, and the kernel would take that for a broken timer.
run_guest() {
  timeout --kill-after=5 "${RDMA_GUEST_SECONDS:-600}" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 \
    -m "${RDMA_GUEST_MEMORY:-1024}" -nodefaults -no-user-config -display none -no-reboot -serial stdio \
    -device virtio-rng-pci \
    -kernel "$cache"/kernel/boot/vmlinuz-* -initrd "$cache/initramfs" \
    -append "no_timer_check console=ttyS0 quiet loglevel=1 panic=-1 mitigations=off random.trust_cpu=on" \
    -fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap \
    -device virtio-9p-pci,fsdev=host,mount_tag=host \
    -fsdev local,id=exchange,path="$exchange",security_model=none -device virtio-9p-pci,fsdev=exchange,mount_tag=exchange \
    </dev/null | sed -u 's,\r,,'
}

[[ $(uname -m) == x86_64 ]] || skip "the guest is an x86-64 machine, and this one is not"
command -v apt-get >/dev/null || skip "there is no apt-get to install QEMU and a kernel with"
install_packages
mkdir -p "$cache"
exec 9> "$cache/lock"
flock 9
prepare_kernel
prepare_initramfs
flock --unlock 9

readonly exchange=$(mktemp -d)
trap 'rm -rf "$exchange"' EXIT
write_command "$@" > "$exchange/command"
for attempt in 1 2 3; do
  rm -f "$exchange/started" "$exchange/status"
  run_guest && code=0 || code=$?
  [[ ! -s $exchange/status ]] || exit "$(<"$exchange/status")"
  [[ $code -eq 0 ]] || fail "QEMU ended with $code (124: after ${RDMA_GUEST_SECONDS:-600} s)"
  [[ -e $exchange/started ]] && what="ended without reporting the program's exit status" || what="has not started"
  echo "rdma-guest: the guest $what (attempt $attempt); load of this machine: $(cut -d ' ' -f 1-3 /proc/loadavg)" >&2
done
fail "the guest's kernel has failed each time"

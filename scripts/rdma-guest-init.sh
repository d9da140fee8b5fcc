#!/bin/busybox sh
# The first process of the guest of rdma-guest.sh: loads modules, mounts the host's files, makes the RDMA device, runs the
# command and writes its exit status to where the host looks for it.
busybox=/bin/busybox

finish() {
  [ -z "$1" ] || echo "$1" > /exchange/status
  $busybox sync
  $busybox poweroff -f
}
give_up() {
  echo "rdma-guest: $*"
  finish ""
}

# In the host's files.
inside() { $busybox chroot /host "$@" || give_up "$* has failed"; }

mount_host() {
  options=trans=virtio,version=9p2000.L,msize=512000
  $busybox mount -t 9p -o ro,cache=loose,$options host /host || give_up "the host's files are missing"
  $busybox mount -t 9p -o rw,$options exchange /exchange || give_up "the exchange folder is missing"
  $busybox mount -t proc proc /host/proc
  $busybox mount -t sysfs sys /host/sys
  $busybox mount -t cgroup2 cgroup2 /host/sys/fs/cgroup
  $busybox mount -t devtmpfs dev /host/dev
  $busybox ln -s /proc/self/fd /host/dev/fd
  $busybox mkdir -p /host/dev/shm /host/dev/pts
  $busybox mount -t tmpfs shm /host/dev/shm
  $busybox mount -t devpts pts /host/dev/pts
  $busybox mount -t tmpfs run /host/run
  $busybox mkdir -p /host/run/lock
  $busybox cp /exchange/command /host/run/command
}

make_device() {
  inside ip link set lo up
  inside ip link add rdma0 type dummy
  echo 0 > /host/proc/sys/net/ipv6/conf/rdma0/accept_dad # nobody else can have its address
  inside ip link set rdma0 mtu 4200 up
  inside ip address add 10.9.0.1/24 dev rdma0
  inside ip address add fd09::1/64 dev rdma0
  inside rdma link add rxe0 type rxe netdev rdma0
}

$busybox mkdir -p /proc /sys /dev /host /exchange
$busybox mount -t proc proc /proc
$busybox mount -t sysfs sys /sys
$busybox mount -t devtmpfs dev /dev
while read -r module; do
  $busybox insmod "/modules/$module" || echo "rdma-guest: $module cannot be loaded"
done < /modules/order
mount_host
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/run TMPDIR=/run
make_device
: > /exchange/started
$busybox chroot /host /bin/bash /run/command
finish $?

#!/usr/bin/env bash
# Transfers of a program over two servers, inside of the guest: scripts/rdma-guest.sh scripts/rdma-transfers.sh BUILD
# [MiB [ROUNDS]]. BUILD is the build folder. The first devices are those of the fake driver, by RDMA and by TCP; then one
# kernel runs on the real driver whose ICD file RDMA_DRIVER names, if it is set. Ends with 0 if every byte was right and
# REMOTECL_RDMA=require was satisfied, and the counters of the first server and of the program say that bytes went by
# RDMA and that no processor copied them. RDMA_STEP_SECONDS (600) limits each step; with RDMA_FIRST_STEP=1 the first is all.
set -euo pipefail
readonly build=$(cd "$1" && pwd) size=${2:-64} rounds=${3:-5} address=10.9.0.1 limit=${RDMA_STEP_SECONDS:-600}
export REMOTECL_SHARED_MEMORY=off
servers=()
trap 'for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null || true; done' EXIT

serve() {  # PORT RDMA [--isolate [WORDS OF THE FAKE DRIVER [LIMIT]]]
  OCL_ICD_VENDORS=$driver REMOTECL_FAKE_DRIVER=gpu=1,memory-mb=1024${4:-} "$build/bin/remotecl-server" --listen "$address:$1" --insecure "${3:---no-isolate}" --no-store \
    --rdma "$2" --metrics "$(($1 + 1000))" --log-level info ${5:+--limit "$5"} > "/run/server.$1" 2>&1 &
  servers+=($!)
  for _ in $(seq $((limit * 10))); do ! grep -q '^listening' "/run/server.$1" || return 0; sleep 0.1; done
  cat "/run/server.$1"
  return 1
}
run() {  # REMOTECL_RDMA SERVERS [SMALL OPERATIONS]
  OCL_ICD_VENDORS=$build/lib/libremotecl.so REMOTECL_RDMA=$1 REMOTECL_SERVERS=$2 \
    timeout "$limit" "$build/bin/rdma-transfers" "$size" "$rounds" "${3:-200}" > /run/transfers && cat /run/transfers && return
  cat /run/transfers
  tail -n 20 /run/server.*
  return 1
}
step() {  # NAME
  echo "---- $1 (after $SECONDS s)"
}

read_counters() {  # SERVER
  exec 3<> "/dev/tcp/127.0.0.1/$(($1 + 1000))"
  printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
  cat <&3 > /run/counters
}
counter() {  # NAME WITH
  awk -v name="remotecl_rdma_$1{with=\"$2\"}" '$1 == name { printf "%d", $2 }' /run/counters
}
# Two calls for each MiB while bytes flow. A busy machine stops them, and a second without any costs a few more.
expect_cost() {  # WHO BYTES COPIED CALLS
  awk -v who="$1" -v moved="$2" -v copied="$3" -v calls="$4" -v seconds="$spent" 'BEGIN {
    copies = copied / moved; mib = moved / 1048576
    printf "cost of %s: %.2f copies of each byte, %.2f system calls per MiB; %d s\n", who, copies, calls / mib, seconds
    if (copies > 0 || calls > 2 * mib + 8 * seconds) { print "more than 0 copies, or more than 2 system calls"; exit 1 }
  }'
}
expect_rdma() {  # that the first server has moved bytes by RDMA with the client and the other server, and says so
  local with name count moved copied calls
  read_counters 10990
  for with in client peer; do
    for name in sent_bytes_total received_bytes_total; do
      count=$(counter "$name" "$with")
      echo "$name with $with: $count"
      [[ $name == received* || $count -ge $((size << 20)) ]]  # short writes go with their headers, over TCP
    done
    moved=$(($(counter sent_bytes_total "$with") + $(counter received_bytes_total "$with")))
    copied=$(counter copied_bytes_total "$with")
    calls=$(counter system_calls_total "$with")
    expect_cost "the server with its ${with}s" "$moved" "$copied" "$calls"
  done
  read -r _ _ moved _ _ _ copied _ calls _ < <(grep '^cost client' /run/transfers)
  expect_cost "the client" "$moved" "$copied" "$calls"
  grep 'bulk data with .* goes by RDMA: rxe0:1, ' /run/server.10990
  grep -q 'host memory: the driver has no cl_khr_external_memory_dma_buf' /run/server.10990
  grep -q 'host memory: the driver takes DMA-BUFs of others' /run/server.10991
}

driver=$build/lib/libremotecl_fake_driver.so
serve 10990 require
serve 10991 require --no-isolate ,dma-buf
step "RDMA, two servers"
began=$SECONDS
run require $address:10990,$address:10991 0 # what small operations cost is no cost of these bytes
spent=$((SECONDS - began))
expect_rdma
[[ -z ${RDMA_FIRST_STEP:-} ]] || exit 0
step "RDMA, with small operations"
run require $address:10990,$address:10991
step "TCP, two servers"
run off $address:10990,$address:10991
serve 10992 off
step "one of two servers without RDMA"
run auto $address:10990,$address:10992
serve 10994 auto --isolate
step "a session with a process of its own, and another server"
run require $address:10990,$address:10994
serve 10995 auto --no-isolate "" session.host-memory=24MiB
step "a server that may lock less memory for a session than RDMA needs, and another server"
run auto $address:10990,$address:10995
grep 'there is no RDMA with .*: the session would hold more memory' /run/server.10995
if REMOTECL_RDMA=require REMOTECL_SERVERS=$address:10992 OCL_ICD_VENDORS=$build/lib/libremotecl.so \
  "$build/bin/rdma-transfers" 1 1 > /run/refused 2>&1; then echo "require was not obeyed"; exit 1; fi
cat /run/refused
if [[ -n ${RDMA_DRIVER:-} ]]; then
  driver=$RDMA_DRIVER
  serve 10993 require
  step "a kernel"
  RDMA_TRANSFERS_KERNEL=1 POCL_CACHE_DIR=/run/pocl run require $address:10993
fi

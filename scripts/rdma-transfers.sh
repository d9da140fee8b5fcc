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

serve() {  # PORT RDMA [--isolate]
  OCL_ICD_VENDORS=$driver "$build/bin/remotecl-server" --listen "$address:$1" --insecure "${3:---no-isolate}" --no-store \
    --rdma "$2" --metrics "$(($1 + 1000))" --log-level info > "/run/server.$1" 2>&1 &
  servers+=($!)
  for _ in $(seq $((limit * 10))); do ! grep -q '^listening' "/run/server.$1" || return 0; sleep 0.1; done
  cat "/run/server.$1"
  return 1
}
run() {  # REMOTECL_RDMA SERVERS
  OCL_ICD_VENDORS=$build/lib/libremotecl.so REMOTECL_RDMA=$1 REMOTECL_SERVERS=$2 \
    timeout "$limit" "$build/bin/rdma-transfers" "$size" "$rounds" > /run/transfers && cat /run/transfers && return
  cat /run/transfers
  tail -n 20 /run/server.*
  return 1
}
step() {  # NAME
  echo "---- $1 (after $SECONDS s)"
}

counter() {  # SERVER NAME WITH
  exec 3<> "/dev/tcp/127.0.0.1/$(($1 + 1000))"
  printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
  awk -v name="remotecl_rdma_$2{with=\"$3\"}" '$1 == name { printf "%d", $2 }' <&3
}
# Less than 2 calls for each MiB while bytes flow; a busy machine stops them, and each second without any costs a probe.
expect_cost() {  # WHO BYTES COPIED CALLS
  awk -v who="$1" -v moved="$2" -v copied="$3" -v calls="$4" 'BEGIN {
    copies = copied / moved; per_mib = calls * 1048576 / moved
    printf "cost of %s: %.2f copies of each byte, %.2f system calls per MiB\n", who, copies, per_mib
    if (copies > 0 || per_mib > 3) { print "more than 0 copies, or more than 3 system calls"; exit 1 }
  }'
}
expect_rdma() {  # that the first server has moved bytes by RDMA with the client and the other server, and says so
  local with name count moved copied calls
  for with in client peer; do
    for name in sent_bytes_total received_bytes_total; do
      count=$(counter 10990 "$name" "$with")
      echo "$name with $with: $count"
      [[ $name == received* || $count -ge $((size << 20)) ]]  # short writes go with their headers, over TCP
    done
    moved=$(($(counter 10990 sent_bytes_total "$with") + $(counter 10990 received_bytes_total "$with")))
    copied=$(counter 10990 copied_bytes_total "$with")
    calls=$(counter 10990 system_calls_total "$with")
    expect_cost "the server with its ${with}s" "$moved" "$copied" "$calls"
  done
  read -r _ _ moved _ _ _ copied _ calls _ < <(grep '^cost client' /run/transfers)
  expect_cost "the client" "$moved" "$copied" "$calls"
  grep 'bulk data with .* goes by RDMA: rxe0:1, ' /run/server.10990
}

driver=$build/lib/libremotecl_fake_driver.so
serve 10990 require
serve 10991 require
serve 10992 off
step "RDMA, two servers"
run require $address:10990,$address:10991
expect_rdma
[[ -z ${RDMA_FIRST_STEP:-} ]] || exit 0
step "TCP, two servers"
run off $address:10990,$address:10991
step "one of two servers without RDMA"
run auto $address:10990,$address:10992
serve 10994 auto --isolate
step "a session with a process of its own, and another server"
run require $address:10990,$address:10994
if REMOTECL_RDMA=require REMOTECL_SERVERS=$address:10992 OCL_ICD_VENDORS=$build/lib/libremotecl.so \
  "$build/bin/rdma-transfers" 1 1 > /run/refused 2>&1; then echo "require was not obeyed"; exit 1; fi
cat /run/refused
if [[ -n ${RDMA_DRIVER:-} ]]; then
  driver=$RDMA_DRIVER
  serve 10993 require
  step "a kernel"
  RDMA_TRANSFERS_KERNEL=1 POCL_CACHE_DIR=/run/pocl run require $address:10993
fi

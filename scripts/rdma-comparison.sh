#!/usr/bin/env bash
# Compares ways of moving bytes by RDMA, inside of the guest: scripts/rdma-guest.sh scripts/rdma-comparison.sh BENCH [ROUNDS].
# BENCH is remotecl-rdma-bench. Prints the medians of five of the bandwidth of 16 MiB in MB/s, and of half of a round trip
# of 8 bytes in microseconds. ucx_perftest and rstream are in the packages ucx-utils and rdmacm-utils; what is not
# installed is left out. ROUNDS (5) is how many rounds there are; each prints what it has found.
set -uo pipefail
readonly bench=$1 address=10.9.0.1 rounds=${2:-5}
readonly results=/run/comparison
mkdir -p "$results"
export UCX_TLS=rc UCX_NET_DEVICES=rxe0:1 UCX_WARN_UNUSED_ENV_VARS=n

# Server in the background, client here: the client's output.
both() {
  local server=$1 client=$2 pid
  $server > /run/server.log 2>&1 &
  pid=$!
  sleep 2
  timeout 120 $client 2>&1
  kill "$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
}
note() { [[ -z $2 ]] || echo "$2" >> "$results/$1"; }

perftest() {
  both "ib_write_bw -d rxe0 -x 1 -s 1048576 -n 16 --report_gbits -F" \
    "ib_write_bw -d rxe0 -x 1 -s 1048576 -n 16 --report_gbits -F $address" |
    awk '$1 == 1048576 { printf "%.1f\n", $4 * 125 }' >> "$results/perftest.bandwidth"
  both "ib_send_lat -d rxe0 -x 1 -s 8 -n 1000 -F" "ib_send_lat -d rxe0 -x 1 -s 8 -n 1000 -F $address" |
    awk '$1 == 8 { print $6 }' >> "$results/perftest.latency"
}
remotecl() {
  local bandwidth latency
  read -r bandwidth latency <<< "$(timeout 120 "$bench" "$1" "$address")"
  note "$2.bandwidth" "$bandwidth"
  note "$2.latency" "$latency"
}
rsockets() {
  command -v rstream >/dev/null || return
  both "rstream -b $address -S 1048576 -I 1 -C 16" "rstream -s $address -S 1048576 -I 1 -C 16" | tee -a "$results/rsockets.raw" |
    awk '/m/ && $NF+0 > 0 { printf "%.1f\n", $(NF-1) * 125 }' | tail -1 >> "$results/rsockets.bandwidth"
  both "rstream -b $address -S 64 -I 1000 -C 1" "rstream -s $address -S 64 -I 1000 -C 1" |
    awk '$NF+0 > 0 { print $NF }' | tail -1 >> "$results/rsockets.latency"
}
ucx() {
  command -v ucx_perftest >/dev/null || return
  both "ucx_perftest" "ucx_perftest $address -t ucp_put_bw -s 1048576 -n 16 -w 2 -f" |
    grep '^Final' | tee -a "$results/ucx.raw" |
    awk '{ printf "%.1f\n", $(NF - 2) * 1.048576 }' >> "$results/ucx.bandwidth"
  both "ucx_perftest" "ucx_perftest $address -t tag_lat -s 8 -n 1000 -w 10 -f" |
    grep '^Final' | tee -a "$results/ucx.raw" |
    awk '{ print $(NF - 4) }' >> "$results/ucx.latency"
}

for ((round = 0; round < rounds; ++round)); do
  perftest
  remotecl rdma remotecl
  remotecl tcp tcp
  rsockets
  ucx
  tail -n 1 "$results"/*.bandwidth "$results"/*.latency
done
head -4 "$results"/*.raw
for file in "$results"/*.bandwidth "$results"/*.latency; do
  printf '%-22s %s  (%s)\n' "$(basename "$file")" "$(sort -n "$file" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')" \
    "$(tr '\n' ' ' < "$file")"
done

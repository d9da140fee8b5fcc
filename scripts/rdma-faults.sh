#!/usr/bin/env bash
# Losses of RDMA under random commands on three servers with the fake driver, inside of the guest:
# scripts/rdma-guest.sh scripts/rdma-faults.sh BUILD [QUEUE_PAIRS [OUTAGES [CONNECTIONS [KILLS]]]]. BUILD is the build
# folder; the numbers say how many queue pairs are put into error, how often the interface goes down, how many TCP
# connections beside RDMA are disturbed, and how many daemons are killed. Ends with 0 if every byte was right, every
# command was carried out once and RDMA moved data in each part.
set -euo pipefail
readonly build=$(cd "$1" && pwd) pairs=${2:-30} outages=${3:-2} connections=${4:-20} kills=${5:-2}
export REMOTECL_RDMA=auto REMOTECL_TEST_RDMA_AT=10.9.0.1 REMOTECL_SHARED_MEMORY=off
export OCL_ICD_VENDORS=$build/lib/libremotecl_fake_driver.so

packets() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts; }
part() {  # NAME COMMAND...
  local name=$1 before moved
  shift
  before=$(packets)
  echo "---- $name"
  SECONDS=0
  "$@"
  moved=$(($(packets) - before))
  echo "$name: $moved RDMA packets, $SECONDS s"
  [[ $moved -gt 1000 ]] || { echo "RDMA was hardly used"; return 1; }
}

new_device() {  # Soft-RoCE of Linux 6.1 connects nobody any more after that
  rdma link delete rxe0
  rdma link add rxe0 type rxe netdev rdma0
}

[[ $pairs -eq 0 ]] || part "queue pairs in error" env REMOTECL_TEST_FAULTS="$pairs" \
  "$build/bin/remotecl_rdma_faults_tests" --gtest_filter='*RdmaComesBack'
for ((i = 1; i <= outages; ++i)); do
  part "interface down, $i of $outages" env REMOTECL_TEST_RDMA_LINK=rdma0 \
    "$build/bin/remotecl_rdma_faults_tests" --gtest_filter='*InterfaceHasGoneDown'
  new_device
done
[[ $connections -eq 0 ]] || part "TCP connections disturbed" env REMOTECL_TEST_FAULTS="$connections" \
  "$build/bin/remotecl_random_commands_tests" --gtest_filter='Faults*'
[[ $kills -eq 0 ]] || part "daemons killed" env REMOTECL_TEST_KILLS="$kills" "$build/bin/remotecl_kill_tests"

#!/usr/bin/env bash
# The short part of `make rdma`, inside of the guest: scripts/rdma-guest.sh scripts/rdma-short.sh BUILD. BUILD is the build
# folder. The tests of the room, those of control groups (which this kernel has), 16 MiB to, from and between two servers with what that costs, and three lost queue pairs.
set -euo pipefail
readonly build=$1
took() { echo "---- $1 (after $SECONDS s)"; }

took "tests of the room"
"$build/bin/remotecl_rdma_tests" --gtest_brief=1
took "control groups"
"$build/bin/remotecl_session_cgroup_tests" --gtest_brief=1
took "transfers"
RDMA_FIRST_STEP=1 scripts/rdma-transfers.sh "$build" 16 1
took "faults"
scripts/rdma-faults.sh "$build" 3 0 0 0
echo "make rdma-short: all of it was right, in $SECONDS s"

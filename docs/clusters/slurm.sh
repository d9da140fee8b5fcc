#!/usr/bin/env bash
#SBATCH --job-name=remotecl
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --gpus-per-node=1
#SBATCH --time=01:00:00
#
# Runs a program on the first node of a Slurm job, with the devices of all its nodes:
#
#   sbatch docs/clusters/slurm.sh python program.py
#
# One remotecl-server runs on each node, for as long as the program does. Change the lines above to what you need.
set -euo pipefail

# Activate here what has remotecl-server and the program's packages, on a file system that all nodes see, for example:
# source ~/venv/bin/activate

[[ $# -gt 0 ]] || { echo "usage: sbatch $0 PROGRAM [ARGUMENT...]" >&2; exit 2; }
nodes=$SLURM_JOB_NUM_NODES
output=$(mktemp --directory "$PWD/remotecl-$SLURM_JOB_ID-XXXXXX") # in a folder that all nodes see

# They let in only who can read this file. What travels is encrypted, by keys that the servers make and tell of here.
token="$output/token"
(umask 077 && od --read-bytes=32 --address-radix=n --format=x1 /dev/urandom | tr --delete ' \n' > "$token")

# Each listens on the first address of its node; choose another one for another network (such as InfiniBand's).
# shellcheck disable=SC2016  # the nodes, not this shell, are to expand it
srun --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}" \
  --output="$output/server-%t" \
  bash -c 'exec remotecl-server --listen "$(hostname -I | cut --delimiter=" " --fields=1):0" --token-file "$0" --tls-new' \
  "$token" &
servers=$!
trap 'kill "$servers" 2>/dev/null || true; wait "$servers" || true; rm -rf "$output"' EXIT

# "ADDRESS PIN" of each, which tells the pin first.
servers_there() {
  sed --quiet --separate '/^TLS with pin=/{s///;h}; /^listening on /{s///;G;s/\n/ /;p}' "$output"/server-* 2>/dev/null || true
}

until [[ $(servers_there | wc -l) -eq $nodes ]]; do
  if ! kill -0 "$servers" 2>/dev/null; then
    echo "a remotecl-server did not start:" >&2
    cat "$output"/server-* >&2
    exit 1
  fi
  sleep 0.2
done

# What a comma or another sign with a meaning stands for in the file's name is written as %XX.
file=$(printf %s "$token" | sed 's/%/%25/g; s/,/%2C/g; s/&/%26/g')
REMOTECL_SERVERS=$(servers_there | while read -r address pin; do echo "$address?token=$file&pin=$pin"; done |
  paste --serial --delimiters=,)
export REMOTECL_SERVERS REMOTECL_REQUIRED=1
"$@"

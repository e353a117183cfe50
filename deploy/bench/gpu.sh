#!/usr/bin/env bash
# Tests and measures a graphics processor on a machine that has nothing but a driver, and writes one JSON file.
#
#   deploy/bench/gpu.sh BINARY OUT.json [DEVICE [GRAPHS]]
#
# BINARY is a release build of antipode, dynamically linked (a static one cannot open libvulkan.so.1), about 20 MB after `strip`.
# DEVICE is an index or UUID, by default the first device that is no software. The loader comes with the package libvulkan1
# (or put libvulkan.so.1 into a folder and name it in LD_LIBRARY_PATH). Needs bash and timeout; no command here
# runs longer than four minutes, and all of them together less than ten. GRAPHS, by default those of 40 million to 87 thousand million
# states that fit the machine's memory, are measured on the CPU and with every level on the device, as far as time allows: those
# that are left out are `null`.
set -euo pipefail

if [ $# -lt 2 ] || [ $# -gt 4 ]; then
  sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
binary=$1 out=$2 device=${3:-auto} graphs=${4:-}
if [ -z "$graphs" ]; then
  graphs="lrx:11 lrx:12 lx:12 topspin:12,4 two-colour pancake:12 topspin:13,4 phase1"
  memory=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
  if [ "$memory" -ge 16 ]; then graphs="$graphs G1"; fi
  if [ "$memory" -ge 64 ]; then graphs="$graphs topspin:14,4"; fi
fi
ends=$((SECONDS + 570))
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Runs one command; its object, or null, and its exit code go into the file.
ask() {
  local name=$1 rc=0
  shift
  echo "== $binary $*" >&2
  local left=$((ends - SECONDS))
  timeout "$((left < 240 ? (left > 1 ? left : 1) : 240))" "$binary" "$@" --json >"$folder/$name" || rc=$?
  if [ ! -s "$folder/$name" ]; then echo null >"$folder/$name"; fi
  printf '  "%s": {"exit_code": %d, "answer": %s}' "$name" "$rc" "$(cat "$folder/$name")" >>"$folder/all"
  [ $rc = 0 ] || failed=1
}

failed=0
echo "{" >"$folder/all"
ask list gpu list
echo "," >>"$folder/all"
ask test gpu test --gpu "$device"
echo "," >>"$folder/all"
ask bench gpu bench --gpu "$device"
number=0
for graph in $graphs; do
  echo "," >>"$folder/all"
  ask "graph_$number" bench --only "$graph" --gpu "$device"
  number=$((number + 1))
done
printf '\n}\n' >>"$folder/all"
mv "$folder/all" "$out"
echo "== written: $out" >&2
exit $failed

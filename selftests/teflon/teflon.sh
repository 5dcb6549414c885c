#!/bin/bash
# SPDX-License-Identifier: MIT
# Somebody else's unmodified client of the NPU, TensorFlow Lite with Mesa's Teflon, on the board, as TAP: what the
# delegate computes is what TensorFlow Lite's own kernels for the CPU do. On time that no load of this machine
# stretches: mainline's driver gives a job half a second, and then resets. A program takes a while of it, so that
# clients are in each other's way.
# usage: teflon.sh [VM-OPTION VALUE]... DRIVER [PART]...
#   DRIVER     rocket, mainline's, or ork, with the interface of that one
#   PART       as of run-client (all, of which rocket is spared the client that is killed)
set -uo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
cache=${ORK_CACHE:-$HOME/.cache/ork}
client=$top/build/arm64/teflon.cpio
out=$top/build/vm-teflon
parts=(core add split chain net quirk together)

# skip REASON
skip() {
	printf '1..1\nok 1 - teflon # SKIP %s\n' "$1"
	exit
}

options=()
while [[ ${1:-} == --* ]]; do
	[ "$1" != --out ] || out=$2
	options+=("$1" "$2")
	shift 2
done
driver_name=${1:-}
case $driver_name in
rocket) driver=(--module rocket) ;;
ork) driver=(--module ork --options rocket_uapi=1) parts+=(killed) ;;
*)
	sed -n 's/^# \(usage\|  \)/\1/p' "$0" >&2
	exit 2
	;;
esac
shift
[ -e "$cache/env-teflon.mk" ] || skip "$(sed -n '1s/^setup: //p' "$cache/teflon-missing" 2>/dev/null || echo "set-up has not looked for it")"
# shellcheck source=/dev/null
. "$cache/env-teflon.mk"
echo "# mesa-teflon-delegate $TEFLON_MESA"
echo "# libtensorflow-lite $TEFLON_TFLITE"
if [ $# -gt 0 ]; then
	parts=("$@")
elif [ "$driver_name" = rocket ]; then
	echo "ok - killed # SKIP mainline's driver uses what it has freed with a killed client's file"
fi
rm -rf "$out/results"
exec "$top/selftests/vm/vm.sh" --kernel debug --icount --latency-us 1000 --out "$out" --timeout 1800 "${options[@]}" \
	"${driver[@]}" --overlay "$client" -- /teflon/bin/run-client "${parts[@]}"

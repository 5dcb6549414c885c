#!/bin/bash
# SPDX-License-Identifier: MIT
# Repeats suites on boards, twice as many at a time as there are CPUs, each of which keeps the others waiting, as TAP:
# a test that fails now and then does so here. The logs of repetitions that failed stay in build/soak.
# usage: soak.sh [REPETITIONS] [SUITE]...
set -uo pipefail

cd "$(dirname "$0")/.." || exit 1
repetitions=${1:-30}
shift $(($# > 0))
suites=("$@")
[ $# -gt 0 ] || suites=(ork_cores ork_batch ork_uapi ork_submit ork_order ork_hang ork_sync ork_prime ork_seen)
boards=$((2 * $(nproc)))
out=build/soak
rm -rf "$out"
mkdir -p "$out"

# repeat NUMBER: its TAP line, after what failed in it, and what was said of that.
repeat() {
	local log=$out/log-$1 status counted
	setpriv --pdeathsig TERM selftests/vm/vm.sh --seed "$1" --out "$out/vm-$1" --timeout 3600 -- \
		run-suites "${suites[@]}" >"$log" 2>&1 </dev/null
	status=$?
	counted=$(awk -v part="repetition $1" -v status=$status -v logs="$out" -f selftests/summary.awk "$log")
	rm -rf "$out/vm-$1"
	if [ $status = 0 ]; then
		rm "$log"
		echo "ok $1 - repetition $1: ${counted##*    }"
		return
	fi
	printf '%s\nnot ok %s\n' "$(sed -E 's/^ +(# )?/# /' <<<"$counted")" "$1 - repetition $1, status $status"
	return 1
}

failed=0
for number in $(seq "$repetitions"); do
	[ "$(jobs -rp | wc -l)" -lt "$boards" ] || wait -n || failed=1
	repeat "$number" &
done
while [ -n "$(jobs -p)" ]; do
	wait -n || failed=1
done
echo "1..$repetitions"
exit $failed

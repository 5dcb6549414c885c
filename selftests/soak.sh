#!/bin/bash
# SPDX-License-Identifier: MIT
# Repeats suites on the board beside twice as many busy loops as there are CPUs, as TAP: a test that fails now and
# then does so here. The logs of repetitions that failed stay in build/soak.
# usage: soak.sh [REPETITIONS] [SUITE]...
set -uo pipefail

cd "$(dirname "$0")/.." || exit 1
repetitions=${1:-30}
shift $(($# > 0))
suites=("$@")
[ $# -gt 0 ] || suites=(ork_cores ork_batch ork_uapi ork_submit ork_order ork_hang ork_sync ork_prime ork_seen)
out=build/soak
rm -rf "$out"
mkdir -p "$out"

for _ in $(seq $((2 * $(nproc)))); do
	setpriv --pdeathsig KILL sh -c 'while :; do :; done' &
done
loops=$(jobs -p)
# shellcheck disable=SC2064,SC2086 # as they are now, a list
trap "kill $loops" EXIT

failed=0
for number in $(seq "$repetitions"); do
	setpriv --pdeathsig TERM selftests/vm/vm.sh --seed "$number" --out "$out/vm" --timeout 3600 -- \
		run-suites "${suites[@]}" >"$out/log" 2>&1 </dev/null
	status=$?
	passed=$(grep -c '^ok' "$out/log")
	if [ $status = 0 ]; then
		echo "ok $number - repetition $number, $passed passed"
		continue
	fi
	failed=$((failed + 1))
	mv "$out/log" "$out/log-$number"
	grep '^not ok' "$out/log-$number" | sed 's/^/# /'
	echo "not ok $number - repetition $number, $passed passed, status $status"
done
echo "1..$repetitions"
[ $failed = 0 ]

#!/bin/bash
# SPDX-License-Identifier: MIT
# The tests of what decides whether a test has failed: the count of TAP lines, and the look at the kernel log.
set -uo pipefail

selftests=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source-path=SCRIPTDIR
. "$selftests/check/tap.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# counts STATUS TAP WANTED: the last line of the count.
counts() {
	local got
	got=$(printf "$2" | awk -v part=p -v status="$1" -v logs="$scratch" -f "$selftests/summary.awk" | tail -1)
	[ "$got" = "    $3" ] || echo "counted:$got, wanted: $3"
}

# skip_is TAP WANTED: how a skipped test is listed.
skip_is() {
	rm -f "$scratch/skipped"
	counts 0 "$1" "0 passed, 0 failed, 1 skipped"
	[ "$(cat "$scratch/skipped")" = "$2" ] || echo "listed: $(cat "$scratch/skipped")"
}

# log_is clean|dirty LINE
log_is() {
	local got=clean
	printf '%s\n' "[    1.000000] ork: up" "$2" >"$scratch/log"
	"$selftests/vm/dmesg-clean" --file "$scratch/log" >/dev/null || got=dirty
	[ "$got" = "$1" ] || echo "found $got: $2"
}

passes="1 passed, 0 failed, 0 skipped"
fails="0 passed, 1 failed, 0 skipped"
check "a test that passed is counted" counts 0 '1..1\nok 1 a\n' "$passes"
check "a failed test is counted, and its exit status is not a second one" counts 1 '1..1\nnot ok 1 a\n' "$fails"
check "a skipped test is counted apart" counts 0 '1..1\nok 1 a # SKIP no board\n' "0 passed, 0 failed, 1 skipped"
check "a skipped test is listed with its name and reason" \
	skip_is '# RUN  t.a ...\nok 1 # SKIP no board\n' "p: t.a # SKIP no board"
check "plans of several programs add up" counts 0 '1..1\nok 1 a\n1..1\nok 1 b\n' "2 passed, 0 failed, 0 skipped"
check "breaking off before the plan is a failure" counts 0 '1..2\nok 1 a\n' "1 passed, 1 failed, 0 skipped"
check "a bad exit status that no test explains is a failure" counts 139 'ok 1 a\n' "1 passed, 1 failed, 0 skipped"
check "testing nothing is a failure" counts 0 'hello\n' "$fails"
check "an empty plan is a failure" counts 0 '1..0\n' "$fails"
check "an ordinary kernel log is clean" log_is clean "[    2.0] random: crng init done"
check "a warning is seen" log_is dirty "[    2.0] WARNING: CPU: 0 PID: 1 at ork_drv.c:1 f+0x0/0x1"
check "an oops is seen" log_is dirty "[    2.0] Internal error: Oops: 96000004 [#1] SMP"
check "a bug is seen" log_is dirty "[    2.0] BUG: scheduling while atomic: swapper/0/1/0x00000002"
check "a hung task is seen" log_is dirty "[    2.0] INFO: task sh:1 blocked for more than 120 seconds."
check "a reference counted wrongly is seen" log_is dirty "[    2.0] refcount_t: underflow; use-after-free."
check "a lock order that can deadlock is seen" log_is dirty "[    2.0] WARNING: possible circular locking dependency"
check "a leak is seen" log_is dirty "[    2.0] kmemleak: 3 new suspected memory leaks"
check "a wrong DMA mapping is seen" log_is dirty "[    2.0] DMA-API: ork: device driver frees DMA memory"
# What KUnit says of its own is no complaint, but what the kernel says meanwhile is.
check "a unit test of the kernel is no complaint" log_is clean "[    2.0]     ok 3 walk_goes_from_line_to_line"
check "a failed unit test of the kernel is its suite's to tell" \
	log_is clean "[    2.0]     # walk_goes_from_line_to_line: EXPECTATION FAILED at ork_sync_test.c:1"
check "a bad access in a unit test of the kernel is seen" \
	log_is dirty "[    2.0] BUG: KASAN: slab-out-of-bounds in walk_goes_from_line_to_line+0x0/0x1 [ork]"
checks_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs every part of the tests, and counts the TAP lines of all of them.
set -uo pipefail

cd "$(dirname "$0")/.." || exit 1
logs=build/test
make=(make --no-print-directory -s "-j$(nproc)")
rm -rf "$logs"
mkdir -p "$logs"
: >"$logs/passed" >"$logs/failed" >"$logs/skipped"

# part NAME COMMAND...: a child that ends with this script, so that an interrupt ends all of it.
part() {
	local name=$1 status=0
	shift
	echo "== $name"
	setpriv --pdeathsig TERM "$@" >"$logs/$name.log" 2>&1 </dev/null &
	child=$!
	wait "$child" || status=$?
	child=
	awk -v part="$name" -v status="$status" -v logs="$logs" -f selftests/summary.awk "$logs/$name.log"
}

stop() {
	[ -z "$child" ] || { kill "$child"; wait "$child"; }
	echo "interrupted"
	exit 130
} 2>/dev/null

# build NAME MAKE-ARGUMENT...
build() {
	local name=$1
	shift
	part "build-$name" bash -c 'set -o pipefail
		"$@" 2>&1 | sed "s/^/# /" && echo "ok builds" || echo "not ok builds"' \
		_ "${make[@]}" "$@"
}

# guest NAME OPTION... [-- SUITE...]
guest() {
	local name=$1 options=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift $(($# > 0))
	part "guest-$name" selftests/vm/vm.sh "${options[@]}" --out "build/vm-$name" --timeout 1200 -- run-suites "$@"
}

count() {
	wc -l <"$logs/$1"
}

child=
trap stop INT TERM HUP
build host ARCH=host all
build board ARCH=host board
build guest ARCH=arm64 guest
build debug-guest ARCH=arm64 KERNEL=debug guest
part harness selftests/check/harness.sh
part static selftests/check/check.sh
part man selftests/check/man.sh
part library selftests/check/library.sh
part kernels selftests/check/kernels.sh
part unit "${make[@]}" ARCH=host unit
guest strict
# The suites for which it matters what the caches do.
for cache in evict coherent; do
	guest "$cache" --cache "$cache" -- ork_matmul ork_cores ork_batch ork_large ork_uapi ork_submit ork_sync ork_prime ork_train_gate
done
# All but what the arithmetic alone decides.
guest vendor --binding vendor -- ork_matmul ork_cores ork_batch ork_uapi ork_submit ork_order ork_hang ork_sync ork_prime \
	ork_seen ork_lifetime ork_train_gate
guest debug --kernel debug -- ork_batch ork_uapi ork_submit ork_order ork_hang ork_lifetime ork_sync ork_prime ork_seen
guest rocket --kernel debug --module rocket --icount -- rocket_int8
part same-loss selftests/vm/same-loss.sh build/vm-{strict,evict,coherent,vendor}
part run selftests/vm/run.sh
part mutate selftests/mutate/run.sh

echo
sed 's/^/skipped  /' "$logs/skipped"
sed 's/^/failed   /' "$logs/failed"
echo "$(count passed) passed, $(count failed) failed, $(count skipped) skipped"
[ "$(count failed)" = 0 ] && [ "$(count passed)" != 0 ]

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

build() {
	part "build-$1-$2" bash -c 'set -o pipefail
		"$@" 2>&1 | sed "s/^/# /" && echo "ok builds" || echo "not ok builds"' \
		_ "${make[@]}" "ARCH=$1" "$2"
}

# guest NAME OPTION...
guest() {
	local name=$1
	shift
	part "guest-$name" selftests/vm/vm.sh "$@" --out "build/vm-$name" --timeout 900 -- run-suites
}

count() {
	wc -l <"$logs/$1"
}

child=
trap stop INT TERM HUP
build host all
build host board
build arm64 guest
debug=
if [ -e "${ORK_CACHE:-$HOME/.cache/ork}/env-debug.mk" ]; then
	debug=1
	part build-debug bash -c 'set -o pipefail
		"$@" 2>&1 | sed "s/^/# /" && echo "ok builds" || echo "not ok builds"' \
		_ "${make[@]}" ARCH=arm64 KERNEL=debug guest
fi
part harness selftests/check/harness.sh
part static selftests/check/check.sh
part unit "${make[@]}" ARCH=host unit
for cache in strict evict coherent; do
	guest "$cache" --cache "$cache"
done
guest vendor --binding vendor
if [ -n "$debug" ]; then
	guest debug --kernel debug
else
	part guest-debug echo "ok 1 - suites # SKIP no newer kernel source is offered here"
fi
part same-loss selftests/vm/same-loss.sh build/vm-{strict,evict,coherent,vendor}
part run selftests/vm/run.sh
part mutate selftests/mutate/run.sh

echo
sed 's/^/skipped  /' "$logs/skipped"
sed 's/^/failed   /' "$logs/failed"
echo "$(count passed) passed, $(count failed) failed, $(count skipped) skipped"
[ "$(count failed)" = 0 ] && [ "$(count passed)" != 0 ]

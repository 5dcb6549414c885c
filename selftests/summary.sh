#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the parts of the tests, two at a time or as many as ORK_LANES says, and counts the TAP lines of all of them.
# usage: summary.sh test|test-ci|test-full|coverage
set -uo pipefail

cd "$(dirname "$0")/.." || exit 1
logs=build/test
make=(make --no-print-directory -s "-j$(nproc)")
LANES=${ORK_LANES:-2}

# start NAME COMMAND...: when a lane is free, a child that ends with this script, so that an interrupt ends all of it.
declare -A running=() began=()
start() {
	local name=$1
	shift
	[ ${#running[@]} -lt $LANES ] || finish_one
	setpriv --pdeathsig TERM "$@" >"$logs/$name.log" 2>&1 </dev/null &
	running[$!]=$name began[$!]=$SECONDS
}

finish_one() {
	local child status=0 name
	wait -n -p child || status=$?
	name=${running[$child]}
	echo "== $name, $((SECONDS - began[$child])) s"
	unset "running[$child]"
	awk -v part="$name" -v status="$status" -v logs="$logs" -f selftests/summary.awk "$logs/$name.log"
}

finish() {
	while [ ${#running[@]} -gt 0 ]; do
		finish_one
	done
}

# part NAME COMMAND...: with nothing beside it.
part() {
	finish
	start "$@"
	finish
}

stop() {
	kill "${!running[@]}"
	wait
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
	start "guest-$name" selftests/vm/vm.sh "${options[@]}" --out "build/vm-$name" --timeout 1800 -- run-suites "$@"
}

# teflon NAME [OPTION VALUE]... DRIVER [PART]...
teflon() {
	local name=$1
	shift
	start "teflon-$name" selftests/teflon/teflon.sh --out "$PWD/build/vm-teflon-$name" "$@"
}

count() {
	wc -l <"$logs/$1"
}

# What parts need, before the first one starts.
built() {
	build host ARCH=host all
	build board ARCH=host board
	build guest ARCH=arm64 guest
	build debug-guest ARCH=arm64 KERNEL=debug guest
	build teflon ARCH=arm64 teflon-guest
}

quick_checks() {
	start harness selftests/check/harness.sh
	start static selftests/check/check.sh
	start barriers selftests/check/barriers.sh
	start man selftests/check/man.sh
}

# unit TARGET MAKE-ARGUMENT...: uses both CPUs itself.
unit() {
	part unit "${make[@]}" ARCH=host "$@"
}

# What every change is held against: each suite where it is likeliest to fail, every other one of the mutations.
test_parts() {
	built
	unit unit-quick
	guest debug --kernel debug -- ork_kunit ork_submit ork_hang
	guest strict -- ork_matmul ork_cores ork_batch ork_uapi ork_sync ork_prime ork_seen ork_train_gate
	guest vendor --binding vendor -- ork_order ork_lifetime
	guest evict --cache evict -- ork_matmul ork_cores ork_batch ork_sync
	guest rocket-uapi --options rocket_uapi=1 -- rocket_uapi
	teflon rocket rocket core
	teflon ork ork core
	teflon ork-stock --kernel stock ork core
	quick_checks
	start mutate selftests/mutate/run.sh --share 1/2
	finish
	part same-loss selftests/vm/same-loss.sh build/vm-strict
	part teflon-same selftests/teflon/same.sh build/vm-teflon-{rocket,ork,ork-stock}
	part run selftests/vm/run.sh
}

# What counts what of the code ran: all on this machine, and the module on the debug kernel.
counted() {
	build coverage-guest ARCH=arm64 KERNEL=debug COVERAGE=1 guest
	unit COVERAGE=1 unit-counted
	debug_guests --coverage
	guest debug-vendor --kernel debug --binding vendor --coverage -- ork_submit
}

# debug_guests OPTION...: two, of about the same time. The first has no second device, for Linux 7.3 crashes where it
# finds no memory for one; the last suite of the other loads the module again, without parameters.
debug_guests() {
	guest debug-1 --kernel debug "$@" -- ork_kunit ork_fail ork_batch ork_seen ork_sync
	guest debug-2 --kernel debug --options rocket_uapi=1 "$@" -- ork_uapi rocket_uapi ork_submit ork_order \
		ork_hang ork_prime ork_lifetime
}

report_coverage() {
	part coverage selftests/coverage/report.py build/vm-debug-{1,2,vendor}/gcov
}

# Every suite wherever it can tell something.
all_parts() {
	# The suites for which it matters what the caches do.
	local cache cached="ork_matmul ork_cores ork_batch ork_large ork_uapi ork_submit ork_sync ork_prime ork_train_gate"
	guest strict
	for cache in evict coherent; do
		# shellcheck disable=SC2086 # a list of words
		guest "$cache" --cache "$cache" -- $cached
	done
	# All but what the arithmetic alone decides.
	guest vendor --binding vendor -- ork_matmul ork_cores ork_batch ork_uapi ork_submit ork_order ork_hang ork_sync \
		ork_prime ork_seen ork_lifetime ork_train_gate
	guest rocket-uapi --options rocket_uapi=1 -- rocket_uapi
	guest rocket-uapi-vendor --binding vendor --options rocket_uapi=1 -- rocket_uapi
	start rocket selftests/vm/rocket.sh
	teflon rocket rocket
	teflon rocket-evict --cache evict rocket core add split chain net quirk
	teflon ork ork
	teflon ork-evict --cache evict ork core add split chain net quirk
	teflon ork-stock --kernel stock ork
	quick_checks
	start library selftests/check/library.sh
	start kernels selftests/check/kernels.sh
	start gdb selftests/check/gdb.sh
}

last_parts() {
	finish
	part same-loss selftests/vm/same-loss.sh build/vm-{strict,evict,coherent,vendor}
	part teflon-same selftests/teflon/same.sh build/vm-teflon-{rocket,rocket-evict,ork,ork-evict,ork-stock}
	part run selftests/vm/run.sh
}

# As much as can be waited for at each submission.
ci_parts() {
	built
	unit unit
	debug_guests
	all_parts
	start mutate selftests/mutate/run.sh
	last_parts
}

# All of that, every mutation, and what of the code ran.
full_parts() {
	built
	counted
	start uncounted "${make[@]}" ARCH=host unit-uncounted
	all_parts
	start mutate-1 selftests/mutate/run.sh --full --share 1/2
	start mutate-2 selftests/mutate/run.sh --full --share 2/2
	last_parts
	report_coverage
}

coverage_parts() {
	build host ARCH=host all
	build board ARCH=host board
	counted
	report_coverage
}

case ${1:-} in
test) parts=test_parts ;;
test-ci) parts=ci_parts ;;
test-full) parts=full_parts ;;
coverage) parts=coverage_parts ;;
*)
	echo "usage: summary.sh test|test-ci|test-full|coverage" >&2
	exit 2
	;;
esac
rm -rf "$logs"
mkdir -p "$logs"
: >"$logs/passed" >"$logs/failed" >"$logs/skipped"
trap stop INT TERM HUP
$parts

echo
sed 's/^/skipped  /' "$logs/skipped"
sed 's/^/failed   /' "$logs/failed"
awk -f selftests/table.awk "$logs"/*.log
echo "$(count passed) passed, $(count failed) failed, $(count skipped) skipped"
[ "$(count failed)" = 0 ] && [ "$(count passed)" != 0 ]

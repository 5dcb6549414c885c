#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs host test programs, as many at once as there are CPUs, and passes the TAP of each on in one piece; one that ends
# badly, or tests nothing, is a failure.
# usage: unit.sh PROGRAM...
set -uo pipefail

# run PROGRAM: its lines, while nobody else writes.
run() {
	local name=${1##*/} output status
	output=$("$1" 2>&1 </dev/null)
	status=$?
	flock 8
	echo "# $name"
	echo "$output"
	if [ $status != 0 ] && ! grep -q '^not ok' <<<"$output"; then
		echo "not ok $name: exit status $status"
	elif ! grep -q '^\(not \)\?ok' <<<"$output"; then
		echo "not ok $name: ran no test"
		status=1
	fi
	[ $status = 0 ]
}

lock=$(mktemp)
trap 'rm -f "$lock"' EXIT
export -f run
# shellcheck disable=SC2016
printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" bash -c 'run "$2" 8>>"$1"' _ "$lock"

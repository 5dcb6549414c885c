#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs host test programs and passes their TAP on; one that ends badly, or tests nothing, is a failure.
# usage: unit.sh PROGRAM...
set -uo pipefail

failed=0
for program in "$@"; do
	name=${program##*/}
	echo "# $name"
	output=$("$program" 2>&1 </dev/null)
	status=$?
	echo "$output"
	if [ $status != 0 ] && ! grep -q '^not ok' <<<"$output"; then
		echo "not ok $name: exit status $status"
	elif ! grep -q '^\(not \)\?ok' <<<"$output"; then
		echo "not ok $name: ran no test"
		status=1
	fi
	[ $status = 0 ] || failed=1
done
exit $failed

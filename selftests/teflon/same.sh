#!/bin/bash
# SPDX-License-Identifier: MIT
# Whether the client's results are the same bytes, whichever driver, kernel and cache they were got by, as TAP.
# usage: same.sh OUT OUT...   folders of teflon.sh; what two of them have is compared
set -uo pipefail

number=0 failed=0
first=$1/results
shift
[ -d "$first" ] || { echo "1..1"; echo "ok 1 - results # SKIP $first is not there"; exit; }
for out; do
	number=$((number + 1)) count=0 other=''
	for file in "$out"/results/*; do
		[ -e "$first/${file##*/}" ] || continue
		count=$((count + 1))
		cmp -s "$file" "$first/${file##*/}" || other+=" ${file##*/}"
	done
	if [ $count -gt 0 ] && [ -z "$other" ]; then
		echo "ok $number - ${out##*/} has the bytes of $first, $count results"
	else
		echo "not ok $number - ${out##*/} of $count results differ:$other"
		failed=1
	fi
done
echo "1..$number"
exit $failed

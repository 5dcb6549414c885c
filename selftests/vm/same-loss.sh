#!/bin/bash
# SPDX-License-Identifier: MIT
# same-loss.sh DIRECTORY...: whether the first loss of a training is the same, to the last bit, in every guest run (which left it in
# DIRECTORY/step1_loss) and on the model in this machine's own process.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$top/build/host/bin/ork-train" --device model --quiet --steps 1 --json "$work/json" >"$work/log" || cat "$work/log"
expected=$(python3 -c 'import json, sys; print(repr(json.load(open(sys.argv[1]))["step1_loss"]))' "$work/json")

echo "1..$#"
number=0 failed=0
for directory; do
	number=$((number + 1))
	seen=$(cat "$directory/step1_loss" 2>/dev/null || echo none)
	if [ "$seen" = "$expected" ]; then
		echo "ok $number - first loss $seen in $(basename "$directory") is the model's"
	else
		echo "not ok $number - first loss $seen in $(basename "$directory"), on the model $expected"
		failed=1
	fi
done
exit $failed

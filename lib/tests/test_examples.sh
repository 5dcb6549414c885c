#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the examples of the manual pages on the NPU model: each returns 0 only if its results are right. Together they
# call all that the library exports. From the top of the tree.

# Functions that are called by the name of a parameter look unreachable.
# shellcheck disable=SC2317
set -uo pipefail

# shellcheck source-path=SCRIPTDIR/../..
. selftests/check/tap.sh
built=$(dirname "$0")/..

exported() {
	sed -n 's/^\t\(ork_.*\);/\1/p' lib/libork.map
}

# run NAME CACHE: complaints only, and what the model has to say of its caches.
run() {
	ORK_DEVICE=model ORK_MODEL="cache=$2,log=-" "$built/tests/examples/$1" 2>&1 >/dev/null |
		grep -v -e '^cache: 0 stale reads' -e '^core [0-9]: '
	return "${PIPESTATUS[0]}"
}

every_function_is_called() {
	nm -u "${objects[@]}" | sed -n 's/^ *U \(ork_\)/\1/p' | sort -u | comm -13 - <(exported | sort)
}

objects=()
for source in lib/examples/*.c; do
	name=$(basename "$source" .c)
	objects+=("$built/san/examples/$name.o")
	for cache in strict evict coherent; do
		check "example $name is right, with caches that are $cache" run "$name" "$cache"
	done
done
check "every function of the library is called by an example" every_function_is_called
checks_end

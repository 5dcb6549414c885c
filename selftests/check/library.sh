#!/bin/bash
# SPDX-License-Identifier: MIT
# What the built library is, as TAP: small, with no symbol but those that it is to have, with no variable of its own;
# and what valgrind says of programs that use it, which are built without sanitizers for that.

# Functions that are called by the name of a parameter look unreachable.
# shellcheck disable=SC2317
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source-path=SCRIPTDIR
. selftests/check/tap.sh
built=build/host/lib
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

LIMIT=200000
tests=(test_chain test_weights test_extents test_threads)
examples=()
for source in lib/examples/*.c; do
	examples+=("$(basename "$source" .c)")
done

is_built() {
	make --no-print-directory -s "-j$(nproc)" ARCH=host "$built/libork.so" "$built/libork.a" \
		"$built/libork-model.so.0" "${examples[@]/#/$built/plain/}" "${tests[@]/#/$built/plain/}"
}

# is_small STRIP LIBRARY
is_small() {
	local bytes
	"$1" -o "$scratch/stripped" "$2" || return
	bytes=$(stat -c %s "$scratch/stripped")
	[ "$bytes" -lt "$LIMIT" ] || echo "$2 has $bytes bytes; must be less than $LIMIT"
}

# Name and version of each, as the dynamic linker finds them.
dynamic_symbols() {
	nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort
}

exports_its_map() {
	diff <(sed -n 's/^\t\(ork_.*\);/\1@@ORK_0.1/p' lib/libork.map | sort) <(dynamic_symbols "$built/libork.so.0")
}

model_exports_its_entry() {
	diff <(echo ork_model_open) <(dynamic_symbols "$built/libork-model.so.0")
}

global_symbols_are_ours() {
	nm -g --defined-only "$built/libork.a" | awk 'NF == 3 && $3 !~ /^ork_/ { print $3 " is global" }'
}

# Tables with addresses in them are written by the dynamic linker, once: .data.rel.ro is not among these.
has_no_variables() {
	readelf -SW "$built/libork.a" | awk '
		/^File:/ { file = $2 }
		{ sub(/^ *\[ *[0-9]+\]/, "") }
		$1 ~ /^\.(data|bss|tdata|tbss)(\.|$)/ && $1 !~ /^\.data\.rel\.ro/ && $5 !~ /^0+$/ { print file " has 0x" $5 " bytes of " $1 }'
}

# Complaints only: of wrong accesses, of values never set, of what was not freed.
valgrind_is_silent() {
	ORK_DEVICE=model ORK_MODEL=cache=strict valgrind -q --error-exitcode=99 --leak-check=full \
		--show-leak-kinds=all --errors-for-leak-kinds=all "$built/plain/$1" >"$scratch/out" && return
	grep '^\(not ok\|#\)' "$scratch/out"
	return 1
}

check "library and programs are built" is_built
check "stripped, the library has less than $LIMIT bytes" is_small strip "$built/libork.so.0"
if [ -e build/arm64/lib/libork.so.0 ]; then
	check "so it has for arm64" is_small aarch64-linux-gnu-strip build/arm64/lib/libork.so.0
else
	skip "so it has for arm64" "not built: make ARCH=arm64"
fi
check "the library exports what its map names, and no more" exports_its_map
check "the model exports its entry, and no more" model_exports_its_entry
check "no global symbol of the static library is outside ork_" global_symbols_are_ours
check "the library has no variables" has_no_variables
for program in "${examples[@]}" "${tests[@]}"; do
	if command -v valgrind >/dev/null; then
		check "valgrind has nothing to say of $program" valgrind_is_silent "$program"
	else
		skip "valgrind has nothing to say of $program" "valgrind is not installed"
	fi
done
checks_end

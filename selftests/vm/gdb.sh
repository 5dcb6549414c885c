#!/bin/bash
# SPDX-License-Identifier: MIT
# A debugger on the kernel of the emulated board, the module loaded: the guest runs its command from the first
# `continue` on.
# usage: gdb.sh [GDB-ARGUMENT]... -- COMMAND [ARGUMENT]...
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
out=$top/build/vm-gdb
cache=${ORK_CACHE:-$HOME/.cache/ork}
module=$top/build/arm64/debug/module/drivers/accel/ork/ork.ko
# shellcheck source=/dev/null
. "$cache/env-debug.mk"

arguments=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	arguments+=("$1")
	shift
done
shift

# The guest waits for the file `go`, which gdb leaves when it lets the guest run.
rm -rf "$out"
mkdir -p "$out"
# shellcheck disable=SC2016 # the guest's shell expands it
"$top/selftests/vm/vm.sh" --kernel debug --out "$out" --timeout 86400 --gdb "$out/gdb" -- \
	sh -c 'until [ -e /out/go ]; do sleep 0.2; done; "$@"' sh "${@:-run-suites}" >"$out/terminal" 2>&1 &
guest=$!
trap 'kill $guest 2>/dev/null || true; wait $guest || true' EXIT

echo "waiting for the module; the guest's terminal is $out/terminal"
until [ -s "$out/sections" ]; do
	kill -0 $guest 2>/dev/null || { cat "$out/terminal"; exit 1; }
	sleep 0.2
done
# Its name, as gdb wants it, and where each section lies.
read -r text sections <"$out/sections"
gdb-multiarch -q "$GUEST_KDIR/vmlinux" -ex "set pagination off" -ex "set confirm off" \
	-ex "target remote $out/gdb" -ex "add-symbol-file $module $text $sections" \
	-ex "shell touch $out/go" "${arguments[@]}"

#!/bin/bash
# SPDX-License-Identifier: MIT
# Mainline's driver on the board: its products, its interface, and how many programs it ran for them. On time that no
# load of this machine stretches: that driver gives a job half a second, and then resets.
set -uo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
out=$top/build/vm-rocket
"$top/selftests/vm/vm.sh" --kernel debug --module rocket --icount --out "$out" --timeout 1800 -- \
	run-suites rocket_int8 rocket_uapi
status=$?
awk '/^core[0-9]\.programs / { n += $2 } END { print "# rocket programs", n + 0 }' "$out/npu-log"
exit $status

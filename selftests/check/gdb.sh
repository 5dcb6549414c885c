#!/bin/bash
# SPDX-License-Identifier: MIT
# The kernel debugger of `make vm-gdb`, as TAP: it stops in the module, and knows its functions and structures.

# Functions that are called by the name of a parameter look unreachable.
# shellcheck disable=SC2317
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source-path=SCRIPTDIR
. selftests/check/tap.sh

debugger_stops_in_a_submit() {
	local said
	said=$(selftests/vm/gdb.sh -batch -ex "break ork_submit_ioctl" -ex "continue" -ex "backtrace 2" \
		-ex "print sizeof(struct ork_job)" -ex "kill" -- run-suites ork_cores 2>&1)
	grep -q '^#0 .*ork_submit_ioctl' <<<"$said" && grep -q '^#1 .*drm_ioctl_kernel' <<<"$said" &&
		grep -q '^\$1 = [1-9]' <<<"$said" || tail -20 <<<"$said"
}

check "debugger stops in a submit" debugger_stops_in_a_submit
checks_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# The barriers of the module, as TAP, read from what the compiler made of it for the emulated board. That board
# cannot miss one: it sees the stores of its CPUs in their order, and write-combined memory at once.

# Functions that are called by the name of a parameter look unreachable.
# shellcheck disable=SC2317
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source-path=SCRIPTDIR
. selftests/check/tap.sh
module=build/arm64/stock/module/drivers/accel/ork/ork.ko

is_built() {
	make --no-print-directory -s "-j$(nproc)" ARCH=arm64 guest
}

# Mnemonics and operands, an instruction a line.
instructions() {
	aarch64-linux-gnu-objdump -d --no-show-raw-insn --disassemble="$1" "$module" | sed -nE 's/^ +[0-9a-f]+:\t//p'
}

# has FUNCTION BARRIER: what is written to write-combined or coherent memory, or read from it, is not maintained:
# a barrier is all that orders it.
has() {
	instructions "$1" | grep -q "^$2" || echo "$1 has no $2"
}

# The last store of a kick but one starts the chain: all that was written to memory is ordered before that.
kick_is_ordered() {
	instructions ork_core_kick | awk '
		/^str/ { before[++stores] = previous }
		{ previous = $0 }
		END {
			if (stores < 2)
				print "ork_core_kick has " stores + 0 " stores"
			else if (before[stores - 1] !~ /^dmb\toshst/)
				print "before the store that starts a chain stands: " before[stores - 1]
		}'
}

check "module is built" is_built
check "what the CPU wrote is in memory before a chain is started" kick_is_ordered
check "clean of what is not cached is ordered" has ork_extent_clean $'dsb\tst'
check "invalidation of what is not cached is ordered" has ork_extent_invalidate $'dsb\tld'
check "end of a CPU access to a dma-buf is ordered" has ork_prime_end_cpu_access $'dsb\tst'
check "begin of a CPU access to a dma-buf is ordered" has ork_prime_begin_cpu_access $'dsb\tld'
checks_end

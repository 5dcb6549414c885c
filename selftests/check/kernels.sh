#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds the module against each kernel that it is for, with W=1 and under sparse, as TAP: each build must
# be silent.
#
# Of some kernels no headers are at hand: Linux 6.1.0 and the vendor's 6.1. They differ from Debian's 6.1,
# as far as the module could tell, in the DRM scheduler only. So it must build without that one's header.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 1
cache=${ORK_CACHE:-$HOME/.cache/ork}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source-path=SCRIPTDIR
. selftests/check/tap.sh

# Debian 12's sparse is older than what later kernels are written in.
sparse="sparse -D__typeof_unqual__=__typeof__ '-D_Static_assert(...)='"

# kdir SUFFIX: where the headers are that a set-up script has noted.
kdir() {
	sed -n 's/^GUEST_KDIR=//p' "$cache/env$1.mk" 2>/dev/null
}

# kbuild KDIR ARGUMENT...: builds in $scratch/module. BTF would want pahole, and is not of interest.
kbuild() {
	local kdir=$1
	shift
	rm -rf "$scratch/module"
	selftests/env/module-copy.sh "$scratch/module" &&
		make -s "-j$(nproc)" -C "$kdir" M="$scratch/module" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- \
			CONFIG_DEBUG_INFO_BTF_MODULES= W=1 KCFLAGS=-Werror C=1 CHECK="$sparse" "$@" 2>&1 |
		sed "s|$scratch/module/||g"
}

built() {
	[ -e "$scratch/module/drivers/accel/ork/$1" ] || echo "no $1 has come of it"
}

# builds_against KDIR ARGUMENT...
builds_against() {
	kbuild "$@" modules && built ork.ko
}

builds_without_scheduler() {
	kbuild "$(kdir '')" NOSTDINC_FLAGS="-nostdinc -I$PWD/selftests/check/kernels" modules && built ork.ko
	! grep -l drm_sched_ "$scratch"/module/drivers/accel/ork/*.o
}

check "builds against Debian's 6.1" builds_against "$(kdir '')"
if why=$(selftests/env/headers.sh 6.12 2>&1 >/dev/null); then
	check "builds against Debian's 6.12" builds_against "$(kdir -6.12)"
else
	skip "builds against Debian's 6.12" "$(paste -sd" " <<<"$why")"
fi
if [ -d "$(kdir -debug)" ]; then
	check "builds against the kernel built from source" builds_against "$(kdir -debug)"
	check "builds against it with the unit tests" builds_against "$(kdir -debug)" CONFIG_DRM_ORK_KUNIT_TEST=y
else
	skip "builds against the kernel built from source" "not built yet: selftests/env/setup.sh debug"
	skip "builds against it with the unit tests" "likewise"
fi
check "builds without a scheduler, as for Linux 6.1.0 and the vendor's 6.1" builds_without_scheduler
checks_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# Static checks of the module, its contract and the tree, as TAP: each must be silent.
# usage: check.sh [--changed]   only of what has changed since that passed last, and is built once and kept
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=/dev/null
. "${ORK_CACHE:-$HOME/.cache/ork}/env.mk"
# shellcheck source-path=SCRIPTDIR
. selftests/check/tap.sh
every=1 sparse=C=2
[ "${1:-}" != --changed ] || every='' sparse=C=1
if [ -n "$every" ]; then
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
else
	scratch=build/check
fi
selftests/env/module-copy.sh "$scratch" || exit 1
scratch=$(cd "$scratch" && pwd)
passed=$scratch/passed
touch "$passed.new"

# to_check FILE...: those that are to be looked at.
to_check() {
	if [ -n "$every" ] || [ ! -e "$passed" ]; then
		printf '%s\n' "$@"
	else
		find "$@" -newer "$passed"
	fi
}
mapfile -t module_sources < <(to_check drivers/accel/ork/{,tests/}ork_*.[ch] selftests/ork/exporter/*.[ch])
mapfile -t uapi_sources < <(to_check uapi/drm/*.h)

kbuild() {
	make -s -C "$GUEST_KDIR" M="$scratch" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- ORK_TEST_MODULES=1 "$@" modules 2>&1 |
		sed -e '/^Skipping BTF generation/d' -e "s|$scratch/||g"
}

module_is_built_without_a_warning() {
	kbuild W=1 KCFLAGS=-Werror && [ -e "$scratch/drivers/accel/ork/ork.ko" ]
}

# What sparse looks at is built anew, or is changed and so built by this.
module_passes_sparse() {
	kbuild W=1 KCFLAGS=-Werror "$sparse" CHECK=sparse
}

# checkpatch FILE...
checkpatch() {
	[ $# = 0 ] || perl "$CHECKPATCH" --no-tree --strict --terse --no-summary --show-types -q -f "$@"
}

# Where a kernel tree would have them: checkpatch then knows that user space has no BIT().
uapi_passes_checkpatch() {
	[ ${#uapi_sources[@]} -gt 0 ] || return 0
	mkdir -p "$scratch/include/uapi/drm"
	cp "${uapi_sources[@]}" "$scratch/include/uapi/drm"
	(cd "$scratch" && checkpatch "${uapi_sources[@]/#uapi/include/uapi}")
}

# kernel_doc FILE...
kernel_doc() {
	[ $# = 0 ] || perl "$KERNELDOC" -none -Werror "$@"
}

# The first line, or the second where the first names an interpreter.
spdx_stands_first() {
	find . \( -path ./build -o -path ./.git \) -prune -o -type f ! -name '*.mod.c' \
		\( -name '*.[ch]' -o -name '*.cc' -o -name '*.mk' -o -name '*.sh' -o -name '*.py' -o -name Makefile -o -name Kbuild \) -print |
		while read -r file; do
			head -2 "$file" | grep -q 'SPDX-License-Identifier: ' || echo "$file has no SPDX line"
		done
}

[ -z "$every" ] || check "module builds with W=1 and no warning" module_is_built_without_a_warning
check "module passes sparse" module_passes_sparse
check "module passes checkpatch --strict" checkpatch "${module_sources[@]}"
check "uapi passes checkpatch --strict" uapi_passes_checkpatch
mapfile -t documented < <(to_check uapi/drm/ork_drm.h)
check "module and uapi pass kernel-doc" kernel_doc "${documented[@]}" "${module_sources[@]}"
check "every source names its licence first" spdx_stands_first
if [ $tap_failed = 0 ]; then
	mv "$passed.new" "$passed"
else
	# Sparse's complaint does not keep an object from being built, and would not be heard again.
	find "$scratch" -name '*.o' -delete
fi
checks_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# Static checks of the module, its contract and the tree, as TAP: each must be silent.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=/dev/null
. "${ORK_CACHE:-$HOME/.cache/ork}/env.mk"
module_sources=(drivers/accel/ork/ork_*.[ch] selftests/ork/exporter/*.[ch])
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
selftests/env/module-copy.sh "$scratch" || exit 1
# shellcheck source-path=SCRIPTDIR
. selftests/check/tap.sh

kbuild() {
	make -s -C "$GUEST_KDIR" M="$scratch" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- ORK_TEST_MODULES=1 "$@" modules 2>&1 |
		sed -e '/^Skipping BTF generation/d' -e "s|$scratch/||g"
}

module_is_built_without_a_warning() {
	kbuild W=1 KCFLAGS=-Werror && [ -e "$scratch/drivers/accel/ork/ork.ko" ]
}

module_passes_sparse() {
	kbuild C=2 CHECK=sparse
}

checkpatch() {
	perl "$CHECKPATCH" --no-tree --strict --terse --no-summary --show-types -q -f "$@"
}

# Where a kernel tree would have them: checkpatch then knows that user space has no BIT().
uapi_passes_checkpatch() {
	mkdir -p "$scratch/include/uapi/drm"
	cp uapi/drm/*.h "$scratch/include/uapi/drm"
	(cd "$scratch" && checkpatch include/uapi/drm/*.h)
}

kernel_doc() {
	perl "$KERNELDOC" -none -Werror "$@"
}

# The first line, or the second where the first names an interpreter.
spdx_stands_first() {
	find . \( -path ./build -o -path ./.git \) -prune -o -type f ! -name '*.mod.c' \
		\( -name '*.[ch]' -o -name '*.mk' -o -name '*.sh' -o -name '*.py' -o -name Makefile -o -name Kbuild \) -print |
		while read -r file; do
			head -2 "$file" | grep -q 'SPDX-License-Identifier: ' || echo "$file has no SPDX line"
		done
}

check "module builds with W=1 and no warning" module_is_built_without_a_warning
check "module passes sparse" module_passes_sparse
check "module passes checkpatch --strict" checkpatch "${module_sources[@]}"
check "uapi passes checkpatch --strict" uapi_passes_checkpatch
check "module and uapi pass kernel-doc" kernel_doc uapi/drm/ork_drm.h "${module_sources[@]}"
check "every source names its licence first" spdx_stands_first
checks_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# Gets the machine ready for `make run` and `make test`: installs what is missing, keeps the kernel,
# its headers and QEMU's headers under ~/.cache/ork, and writes their places to env.mk there. With the
# name of a configuration, NAME-kernel.config, it also builds a newer kernel from source and writes
# env-NAME.mk. With `teflon` it gets the client of selftests/teflon, and goes on without if it cannot.
# Does nothing, and needs no network, when all of it stands. To take newer versions, remove the cache.
# usage: setup.sh [debug|bench|teflon]...
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR
for part in common packages kernel source-kernel qemu; do
	. "$here/$part.sh"
done
ENV=$CACHE/env.mk
PATHS='GUEST_KDIR|KERNEL_IMAGE|MODULES_DIR|GUEST_ROOT|KSELFTEST|CHECKPATCH|KERNELDOC|QEMU_SRC'

# All places known and there, and QEMU still the one that its headers were made for.
is_ready() {
	local key place n=0
	[ -e "$ENV" ] && [ -z "$(missing_packages)" ] || return 1
	grep -qxF "QEMU_VERSION=$(installed_qemu)" "$ENV" || return 1
	while IFS='=' read -r key place; do
		[ -e "$place" ] || return 1
		n=$((n + 1))
	done < <(grep -E "^($PATHS)=" "$ENV")
	[ "$n" = "$(tr '|' '\n' <<<"$PATHS" | wc -l)" ]
}

write_env() {
	cat >"$ENV.part" <<-END
		KERNEL_RELEASE=$RELEASE
		GUEST_KDIR=$KERNEL_DIR/usr/src/${HEADERS%:*}
		KERNEL_IMAGE=$KERNEL_DIR/boot/vmlinuz-$RELEASE
		MODULES_DIR=$KERNEL_DIR/lib/modules/$RELEASE
		GUEST_ROOT=$GUEST_DIR
		KSELFTEST=$SOURCE_DIR/tools/testing/selftests
		CHECKPATCH=$SOURCE_DIR/scripts/checkpatch.pl
		KERNELDOC=$SOURCE_DIR/scripts/kernel-doc
		QEMU_SRC=$QEMU_DIR
		QEMU_VERSION=$(installed_qemu)
	END
	mv "$ENV.part" "$ENV"
}

# What the tests with it will give as their reason goes to a file.
setup_teflon() {
	local why=$CACHE/teflon-missing
	"$here/teflon.sh" 2>"$why" && rm "$why" && return
	say "going on without Teflon: $(sed -n '1s/^setup: //p' "$why")"
}

mkdir -p "$CACHE"
exec 9>"$CACHE/lock"
flock 9
if ! is_ready; then
	install_packages
	update_lists
	setup_kernel
	setup_qemu
	write_env
	is_ready || die "$ENV names something that is not there" "remove $CACHE and run the command again"
	say "ready, kept in $CACHE"
fi
for kind in "$@"; do
	case $kind in
	teflon) setup_teflon ;;
	*) setup_source_kernel "$kind" ;;
	esac
done

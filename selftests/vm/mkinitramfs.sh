#!/bin/bash
# SPDX-License-Identifier: MIT
# Packs the guest's root: busybox, the C library, libdrm, what build/arm64 holds, the kernel's modules
# that the board needs, ork.ko, and modules that tests would like to have. Uncompressed, since the guest
# would unpack it in emulation.
# usage: mkinitramfs.sh KERNEL OUT
set -euo pipefail

kernel=${1:?usage: mkinitramfs.sh KERNEL OUT} out=${2:?usage: mkinitramfs.sh KERNEL OUT}
top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/selftests/vm
built=$top/build/arm64
module=$built/$kernel/module
ork=$module/drivers/accel/ork/ork.ko
exporter=$module/selftests/ork/exporter/ork_exporter.ko
cross=/usr/aarch64-linux-gnu/lib
PATH=$PATH:/usr/sbin:/sbin
cache=${ORK_CACHE:-$HOME/.cache/ork}
# shellcheck source=/dev/null
. "$cache/env.mk"
# shellcheck source=/dev/null
[ "$kernel" = stock ] || . "$cache/env-$kernel.mk"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{bin,lib,modules,ork/bin}

# module_files NAME...: each after its own needs.
module_files() {
	local name
	for name in "$@"; do
		modprobe -d "${MODULES_DIR%/lib/modules/*}" -S "$KERNEL_RELEASE" --show-depends "$name"
	done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++'
}

# What the console and the shared folder need, then what ork.ko says it needs.
read -ra needs <<<"$(modinfo -F depends "$ork" | tr , ' ')"
module_files virtio_pci virtio_console 9pnet_virtio 9p "${needs[@]}" >"$tree/modules.list"
# A kernel may be without, and the tests then skip: what gives them dma-bufs.
module_files vgem 2>/dev/null | grep -vxFf "$tree/modules.list" >"$tree/modules.late" || true
[ ! -e "$exporter" ] || echo "$exporter" >>"$tree/modules.late"
# What ork.ko is measured against is loaded by those who measure.
{ cat "$tree"/modules.{list,late}; find "$MODULES_DIR" -name 'rocket.ko*'; } | xargs cp -t "$tree/modules"
sed -i 's|.*/||' "$tree"/modules.{list,late}
cp "$ork" "$tree/modules"

cp "$GUEST_ROOT/bin/busybox" "$tree/bin"
ln -s busybox "$tree/bin/sh"
cp -L "$cross"/{ld-linux-aarch64.so.1,libc.so.6,libm.so.6,libgcc_s.so.1} \
	"$GUEST_ROOT/usr/lib/aarch64-linux-gnu/libdrm.so.2" "$tree/lib"
for part in bin data; do
	[ ! -d "$built/$part" ] || cp -a "$built/$part" "$tree/ork"
done
mkdir "$tree/ork/lib"
find "$built/lib" -maxdepth 1 -name "*.so*" -exec cp -at "$tree/ork/lib" {} +
cp "$here/dmesg-clean" "$tree/ork/bin"
cp "$here/init" "$tree/init"
chmod 755 "$tree/init" "$tree/ork/bin/dmesg-clean"
find "$tree/ork" "$tree"/modules/ork*.ko -type f \( -perm /111 -o -name '*.so*' -o -name '*.ko' \) \
	-exec sh -c 'head -c 4 "$1" | grep -q ELF && aarch64-linux-gnu-strip -g "$1"' _ {} \;

mkdir -p "$(dirname "$out")"
(cd "$tree" && find . -print0 | LC_ALL=C sort -z |
	cpio --quiet -0 -o -H newc -R 0:0 --reproducible) >"$out.part"
mv "$out.part" "$out"

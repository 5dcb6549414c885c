#!/bin/bash
# SPDX-License-Identifier: MIT
# Packs the guest's root: busybox, the C library, libdrm, what build/arm64 holds, the kernel's modules
# that the board needs, ork.ko, and modules that tests would like to have. Uncompressed, since the guest
# would unpack it in emulation.
# usage: mkinitramfs.sh KERNEL DIR OUT   DIR has the module, built for KERNEL
set -euo pipefail

kernel=${1:?usage: mkinitramfs.sh KERNEL DIR OUT} out=${3:?usage: mkinitramfs.sh KERNEL DIR OUT}
top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/selftests/vm
built=$top/build/arm64
module=$2/module
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

# In lists, to be loaded in that order: what the console and the shared folder need; a driver with what it
# needs; what gives tests dma-bufs. A kernel may be without rocket, or vgem.
read -ra needs <<<"$(modinfo -F depends "$ork" | tr , ' ')"
module_files virtio_pci virtio_console 9pnet_virtio 9p >"$tree/modules/base.list"
{ module_files "${needs[@]}"; echo "$ork"; } >"$tree/modules/ork.list"
module_files rocket 2>/dev/null >"$tree/modules/rocket.list" || rm "$tree/modules/rocket.list"
module_files vgem 2>/dev/null >"$tree/modules/late.list" || true
[ ! -e "$exporter" ] || echo "$exporter" >>"$tree/modules/late.list"
sort -u "$tree"/modules/*.list | xargs cp -t "$tree/modules"
sed -i 's|.*/||' "$tree"/modules/*.list

cp "$GUEST_ROOT/bin/busybox" "$tree/bin"
ln -s busybox "$tree/bin/sh"
cp -L "$cross"/{ld-linux-aarch64.so.1,libc.so.6,libm.so.6,libgcc_s.so.1} \
	"$GUEST_ROOT/usr/lib/aarch64-linux-gnu/libdrm.so.2" "$tree/lib"
for part in bin data; do
	[ ! -d "$built/$part" ] || cp -a "$built/$part" "$tree/ork"
done
mkdir "$tree/ork/lib"
find "$built/lib" -maxdepth 1 -name "*.so*" -exec cp -at "$tree/ork/lib" {} +
cp "$here"/{dmesg-clean,load-modules} "$tree/ork/bin"
cp "$here/init" "$tree/init"
chmod 755 "$tree/init" "$tree"/ork/bin/{dmesg-clean,load-modules}
find "$tree/ork" "$tree"/modules/ork*.ko -type f \( -perm /111 -o -name '*.so*' -o -name '*.ko' \) \
	-exec sh -c 'head -c 4 "$1" | grep -q ELF && aarch64-linux-gnu-strip -g "$1"' _ {} \;

mkdir -p "$(dirname "$out")"
(cd "$tree" && find . -print0 | LC_ALL=C sort -z |
	cpio --quiet -0 -o -H newc -R 0:0 --reproducible) >"$out.part"
mv "$out.part" "$out"

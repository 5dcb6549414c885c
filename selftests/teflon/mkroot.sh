#!/bin/bash
# SPDX-License-Identifier: MIT
# Packs /teflon of the guest: the checker, the delegate, and the libraries that both need, the loader included. They
# are of another Debian than the rest of the guest, and nobody else there sees them.
# usage: mkroot.sh ROOT CHECKER OUT
set -euo pipefail

root=${1:?usage: mkroot.sh ROOT CHECKER OUT} checker=${2:?usage: mkroot.sh ROOT CHECKER OUT}
out=${3:?usage: mkroot.sh ROOT CHECKER OUT}
here=$(cd "$(dirname "$0")" && pwd)
libs=$root/usr/lib/aarch64-linux-gnu

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
to=$tree/teflon/lib
mkdir -p "$tree/teflon/bin" "$to"
cp "$checker" "$here/run-client" "$tree/teflon/bin"
cp "$root/usr/lib/teflon/libteflon.so" "$to"

# needs FILE...: the names of the libraries that they are linked with.
needs() {
	aarch64-linux-gnu-readelf -dW "$@" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u
}

# What is new may need more.
new=("$tree/teflon/bin/$(basename "$checker")" "$to/libteflon.so")
while [ ${#new[@]} -gt 0 ]; do
	mapfile -t names < <(needs "${new[@]}")
	new=()
	for name in "${names[@]}"; do
		[ ! -e "$to/$name" ] || continue
		cp -L "$libs/$name" "$to"
		new+=("$to/$name")
	done
done

(cd "$tree" && find . -print0 | LC_ALL=C sort -z |
	cpio --quiet -0 -o -H newc -R 0:0 --reproducible) >"$out.part"
mv "$out.part" "$out"

#!/bin/bash
# SPDX-License-Identifier: MIT
# Gets the arm64 headers of a later kernel of Debian's, for the module to be built against. They are unpacked
# under ~/.cache/ork, as installed they would drag an arm64 compiler onto the machine, and their place
# is written to env-SERIES.mk there. Does nothing, and needs no network, when they stand.
# Fails if no archive of this machine has such headers: the last line says so.
# usage: headers.sh SERIES
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR
. "$here/common.sh"
series=${1:?usage: headers.sh SERIES}
env=$CACHE/env-$series.mk

# The newest of the series, as in linux-headers-6.12.95+deb12-arm64.
newest_abi() {
	private_apt apt-cache pkgnames "linux-headers-$series." |
		sed -nE 's/^linux-headers-([0-9.]+[+]deb[0-9]+)-arm64$/\1/p' | sort -V | tail -1
}

fetch_headers() {
	local package
	packages=("linux-headers-$abi-arm64:arm64" "linux-headers-$abi-common" "linux-kbuild-$abi")
	for package in "${packages[@]}"; do
		took "$package" "$version"
	done
	fetch "${packages[@]}"
}

# The headers name each other by the place where they would be installed.
unpack_headers() {
	local package
	fetch_headers
	for package in "${packages[@]}"; do
		dpkg-deb -x "$(deb "$package" "$version")" "$1"
	done
	sed -i "s|/usr/src/|$1/usr/src/|" "$1/usr/src/linux-headers-$abi-arm64/Makefile"
}

setup_headers() {
	local dir
	update_lists
	abi=$(newest_abi)
	[ -n "$abi" ] || die "no linux-headers-$series for arm64 is offered by this machine's archives"
	version=$(candidate "linux-headers-$abi-arm64:arm64")
	dir=$CACHE/headers-$abi-$version
	unpacked "$dir" unpack_headers
	echo "GUEST_KDIR=$dir/usr/src/linux-headers-$abi-arm64" >"$env"
}

mkdir -p "$CACHE"
exec 9>"$CACHE/lock"
flock 9
[ -d "$(sed -n 's/^GUEST_KDIR=//p' "$env" 2>/dev/null)" ] || setup_headers

#!/bin/bash
# SPDX-License-Identifier: MIT
# Gets somebody else's client of the NPU: TensorFlow Lite and Mesa's Teflon for arm64, with the C library and the
# headers that they go with. Debian has all of it in later suites than this machine's, so it comes by an apt that
# knows one such suite, no other architecture and no installed package, and is unpacked under ~/.cache/ork. Its
# place and its versions are written to env-teflon.mk there.
# Does nothing, and needs no network, when it stands. Fails if it cannot be had: the first line on stderr says why.
# Called by setup.sh, which holds the cache's lock.
# usage: teflon.sh
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR
. "$here/common.sh"
env=$CACHE/env-teflon.mk
apt=$CACHE/apt-teflon
# In the order in which they are tried: testing has what works together.
SUITES=(testing unstable)
WANTED=(mesa-teflon-delegate libtensorflow-lite-dev libc6-dev)

# The machine's preferences are about its own packages.
suite_apt() {
	local tool=$1
	shift
	apt_in "$apt" "$tool" -o Dir::State::status="$apt/status" -o APT::Architecture=arm64 \
		-o APT::Architectures::=arm64 -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null "$@"
}

# derive_only SUITE: binaries of that one, of the machine's main archive.
derive_only() {
	rm -rf "$apt/machine.d"
	machine_sources "$apt"
	mv "$apt/sources.d" "$apt/machine.d"
	mkdir "$apt/sources.d"
	derive_suite "$1" "$apt/machine.d"
	mv "$apt"/machine.d/later-* "$apt/sources.d"
	rm -r "$apt/machine.d"
	find "$apt/sources.d" -type f -exec sed -i -e 's/^Types:.*/Types: deb/' -e '/^deb-src/d' {} +
	: >"$apt/status"
}

# Of all that is wanted and what it depends on, NAME=VERSION.
closure() {
	suite_apt apt-get -s --no-install-recommends install "${WANTED[@]}" |
		sed -nE 's/^Inst ([^ ]+) \(([^ ]+) .*/\1=\2/p'
}

# Each wants all of the lists to be there and signed, and all packages to fit together.
read_suite() {
	suite_apt apt-get -o APT::Update::Error-Mode=any update && closure
}

# Sets packages to those of the first suite that has them all.
find_packages() {
	local suite log=$LOGS/teflon.log
	mkdir -p "$LOGS"
	for suite in "${SUITES[@]}"; do
		say "looking for Teflon in Debian $suite"
		derive_only "$suite"
		if read_suite >"$log" 2>&1 </dev/null; then
			mapfile -t packages < <(closure)
			return
		fi
	done
	die "no suite of this machine's archive has TensorFlow Lite and Teflon: $(grep -m1 '^E:' "$log" || tail -1 "$log")" \
		"the whole of it is in $log"
}

download() {
	mkdir -p "$DEBS"
	cd "$DEBS"
	logged teflon-download "downloading Teflon and what it needs" suite_apt apt-get download "${packages[@]}"
	cd - >/dev/null
}

# In one tree: some packages have files in /lib still, others in /usr/lib. Not dpkg-deb -x, which would put a folder
# in the place of the link.
unpack() {
	local package dir
	for dir in bin sbin lib; do
		mkdir -p "$1/usr/$dir"
		ln -s "usr/$dir" "$1/$dir"
	done
	for package in "${packages[@]}"; do
		dpkg-deb --fsys-tarfile "$(deb "${package%%=*}" "${package#*=}")" |
			tar -x --keep-directory-symlink -C "$1"
	done
	printf '%s\n' "${packages[@]}" >"$1/packages"
}

# version PACKAGE
version() {
	printf '%s\n' "${packages[@]}" | sed -n "s/^$1=//p"
}

setup() {
	local mesa tflite root package
	find_packages
	mesa=$(version mesa-teflon-delegate) tflite=$(version libtensorflow-lite-dev)
	root=$CACHE/teflon-${mesa#*:}-${tflite#*:}-$(printf '%s\n' "${packages[@]}" | sha256sum | cut -c1-12)
	if ! is_whole "$root"; then
		for package in "${WANTED[@]}"; do
			took "$package:arm64" "$(version "$package")"
		done
		download
		unpacked "$root" unpack
	fi
	printf '%s\n' "TEFLON_ROOT=$root" "TEFLON_MESA=$mesa" "TEFLON_TFLITE=$tflite" >"$env.part"
	mv "$env.part" "$env"
}

[ -d "$(sed -n 's/^TEFLON_ROOT=//p' "$env" 2>/dev/null)" ] || setup

# SPDX-License-Identifier: MIT
# Sourced by setup.sh: Debian's stock arm64 kernel, its headers, the guest's few binaries, and the
# kernel scripts and test headers that the checks and suites use. Nothing of it is installed:
# the arm64 headers would drag an arm64 compiler onto the machine.

# The newest kernel of the series that is offered with its headers.
newest_kernel() {
	private_apt apt-cache pkgnames "linux-image-$KERNEL_SERIES" |
		sed -nE "s/^linux-image-($KERNEL_ABI)-arm64\$/\1/p" | sort -V | tail -1
}

# wanted PACKAGE: sets version[PACKAGE] to what apt offers.
wanted() {
	version[$1]=$(candidate "$1")
	[ -n "${version[$1]}" ] || die "package $1 is offered by none of this machine's archives" \
		"check the entries under /etc/apt: Debian 12 with its security archive has it"
}

resolve_kernel() {
	local abi package
	abi=$(newest_kernel)
	[ -n "$abi" ] || die "no linux-image-$KERNEL_SERIES for arm64 is offered by this machine's archives" \
		"check the entries under /etc/apt: Debian 12 with its security archive has it"
	IMAGE=linux-image-$abi-arm64:arm64
	HEADERS=linux-headers-$abi-arm64:arm64
	COMMON=linux-headers-$abi-common
	KBUILD=linux-kbuild-$KERNEL_SERIES
	SOURCE=linux-source-$KERNEL_SERIES
	GUEST=(libdrm2:arm64 libdrm-dev:arm64 busybox-static:arm64)
	RELEASE=$abi-arm64
	for package in "$IMAGE" "$HEADERS" "$COMMON" "$KBUILD" "$SOURCE" "${GUEST[@]}"; do
		wanted "$package"
	done
	KERNEL_DIR=$CACHE/kernel-$RELEASE-${version[$IMAGE]}
	SOURCE_DIR=$CACHE/$SOURCE-${version[$SOURCE]}
	GUEST_DIR=$CACHE/guest-${version[${GUEST[0]}]}-${version[${GUEST[2]}]#*:}
}

# Asks apt only for what the folders that are not there yet are made of.
fetch_kernel() {
	local package packages=()
	is_whole "$KERNEL_DIR" || packages+=("$IMAGE" "$HEADERS" "$COMMON" "$KBUILD")
	is_whole "$SOURCE_DIR" || packages+=("$SOURCE")
	is_whole "$GUEST_DIR" || packages+=("${GUEST[@]}")
	for package in "${packages[@]}"; do
		took "$package" "${version[$package]}"
	done
	[ ${#packages[@]} = 0 ] && return
	fetch "${packages[@]}"
	say "unpacking"
}

unpack_kernel() {
	local package headers=$1/usr/src/${HEADERS%:*}
	for package in "$IMAGE" "$HEADERS" "$COMMON" "$KBUILD"; do
		dpkg-deb -x "$(deb "$package" "${version[$package]}")" "$1"
	done
	# The headers name each other by the place where they would be installed.
	sed -i "s|/usr/src/|$1/usr/src/|" "$headers/Makefile"
	depmod -b "$1" "$RELEASE"
}

unpack_guest() {
	local package
	for package in "${GUEST[@]}"; do
		dpkg-deb -x "$(deb "$package" "${version[$package]}")" "$1"
	done
}

# Of a tarball of 135 MB these few files.
unpack_source() {
	dpkg-deb --fsys-tarfile "$(deb "$SOURCE" "${version[$SOURCE]}")" |
		tar -xO --wildcards "*/$SOURCE.tar.xz" |
		tar -xJ -C "$1" --strip-components=1 --wildcards \
			'*/tools/testing/selftests/kselftest.h' \
			'*/tools/testing/selftests/kselftest_harness.h' \
			'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
			'*/scripts/const_structs.checkpatch' '*/scripts/kernel-doc'
}

setup_kernel() {
	declare -A version
	resolve_kernel
	fetch_kernel
	unpacked "$KERNEL_DIR" unpack_kernel
	unpacked "$GUEST_DIR" unpack_guest
	unpacked "$SOURCE_DIR" unpack_source
}

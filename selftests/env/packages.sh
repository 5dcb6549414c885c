# SPDX-License-Identifier: MIT
# Sourced by setup.sh: the Debian packages that building and testing need on this machine.

PACKAGES=(
	# native and cross builds, static checks
	gcc libc6-dev libdrm-dev gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross sparse perl kmod
	# what the library does with memory, what the kernel does
	valgrind gdb-multiarch
	# manual pages
	groff-base mandoc
	# the emulated board, and the headers of its QEMU
	qemu-system-arm dpkg-dev meson ninja-build pkg-config flex bison python3 python3-venv
	libglib2.0-dev libpixman-1-dev libfdt-dev
	# unpacking, the initramfs
	cpio xz-utils util-linux
	# a kernel from source, with flex and bison
	bc make
)

# dpkg-query fails when it does not know one of them, and lists the others all the same.
missing_packages() {
	{ dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${PACKAGES[@]}" 2>/dev/null || true; } |
		sed -n 's/ installed$//p' | sort -u |
		comm -13 - <(printf '%s\n' "${PACKAGES[@]}" | sort -u) | paste -sd' '
}

install_packages() {
	local missing
	missing=$(missing_packages)
	[ -n "$missing" ] || return 0
	[ "$(id -u)" = 0 ] || die "these packages are missing: $missing" \
		"install them as root: apt-get install --no-install-recommends $missing"
	say "installing $missing"
	logged apt-get-update "apt-get update" apt-get -q -o Acquire::Retries=3 \
		-o APT::Update::Error-Mode=any update
	# shellcheck disable=SC2086 # a list of words
	logged apt-get-install "apt-get install" env DEBIAN_FRONTEND=noninteractive \
		apt-get -q -y -o Acquire::Retries=3 install --no-install-recommends $missing
}

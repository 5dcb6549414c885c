# SPDX-License-Identifier: MIT
# Sourced by setup.sh: the source of exactly the installed QEMU, and the headers that its build
# generates. The board is a shared object laid over Debian's binary, so both must agree to the byte.

installed_qemu() {
	dpkg-query -W -f '${Version}' qemu-system-arm
}

# The source package's version: the binary's less any rebuild.
qemu_source_version() {
	installed_qemu | sed 's/+b[0-9]*$//'
}

fetch_qemu() {
	private_apt apt-cache showsrc qemu | grep -xF "Version: $QEMU_VERSION" >/dev/null ||
		die "the source of the installed qemu-system-arm ($QEMU_VERSION) is no longer offered" \
			"bring it up to date: apt-get update && apt-get install qemu-system-arm"
	took qemu-source "$QEMU_VERSION"
	mkdir -p "$DEBS"
	cd "$DEBS"
	logged download-qemu "downloading the source of qemu" \
		private_apt apt-get source --download-only "qemu=$QEMU_VERSION"
	cd - >/dev/null
}

# Plugins are on as in Debian's build: they change struct CPUState.
generate_qemu_headers() {
	mkdir "$1/headers"
	cd "$1/headers"
	../configure --target-list=aarch64-softmmu --without-default-features \
		--enable-system --enable-tcg --enable-plugins --enable-modules --enable-fdt=system \
		--disable-docs --disable-tools --disable-guest-agent --disable-install-blobs \
		--meson=/usr/bin/meson --ninja=/usr/bin/ninja
	# shellcheck disable=SC2046 # a list of words
	ninja -j2 $(ninja -t targets all | sed -n 's/\.h: CUSTOM.*/.h/p')
	cd - >/dev/null
}

unpack_qemu() {
	rmdir "$1"
	logged unpack-qemu "unpacking the source of qemu" \
		dpkg-source --no-check --no-copy -x "$DEBS/qemu_${QEMU_VERSION#*:}.dsc" "$1"
	logged configure-qemu "generating the headers of qemu" generate_qemu_headers "$1"
}

setup_qemu() {
	QEMU_VERSION=$(qemu_source_version)
	QEMU_DIR=$CACHE/qemu-${QEMU_VERSION#*:}
	is_whole "$QEMU_DIR" && return
	fetch_qemu
	say "generating the headers of qemu"
	unpacked "$QEMU_DIR" unpack_qemu
}

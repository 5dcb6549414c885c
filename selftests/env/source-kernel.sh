# SPDX-License-Identifier: MIT
# Sourced by setup.sh: the newest kernel that is offered as a source, built for the emulated board from a
# configuration of this folder. It has mainline's rocket, and, as debug, what watches a driver.

newest_source() {
	private_apt apt-cache pkgnames linux-source- | sed -nE 's/^linux-source-([0-9]+\.[0-9]+)$/\1/p' |
		sort -V | tail -1
}

unpack_whole_source() {
	dpkg-deb --fsys-tarfile "$(deb "$NEW_SOURCE" "$NEW_VERSION")" |
		tar -xO --wildcards "*/$NEW_SOURCE.tar.xz" | tar -xJ -C "$1" --strip-components=1
}

# Sets NEW_SOURCE_DIR to the source's place.
fetch_kernel_source() {
	update_lists
	NEW_SOURCE=linux-source-$(newest_source)
	NEW_VERSION=$(candidate "$NEW_SOURCE")
	NEW_SOURCE_DIR=$CACHE/whole-$NEW_SOURCE-$NEW_VERSION
	is_whole "$NEW_SOURCE_DIR" && return
	took "$NEW_SOURCE" "$NEW_VERSION"
	fetch "$NEW_SOURCE"
	say "unpacking"
	unpacked "$NEW_SOURCE_DIR" unpack_whole_source
}

# The debug kernel's is written out. Any other has the same machine, programs and drivers, and says what it
# has instead of the watching.
config_lines() {
	if [ "$KIND" = debug ]; then
		cat "$here/debug-kernel.config"
	else
		sed '/^# what watches the driver/,$d' "$here/debug-kernel.config"
		cat "$here/$KIND-kernel.config"
	fi
}

# An option that a newer kernel has renamed or hidden would be lost without a word.
report_lost_options() {
	local lost
	lost=$(grep '^CONFIG_' "$CONFIG" | sort | comm -23 - <(sort "$1/.config") | paste -sd' ')
	[ -z "$lost" ] || say "$NEW_SOURCE does not take $lost"
}

# An Image, vmlinux with its symbols, modules, and what modules of others are built against.
make_kernel() {
	local make=(make -s -C "$NEW_SOURCE_DIR" "O=$1" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- "-j$(nproc)")
	"${make[@]}" allnoconfig KCONFIG_ALLCONFIG="$CONFIG" &&
		"${make[@]}" Image modules &&
		"${make[@]}" INSTALL_MOD_PATH="$1/install" modules_install &&
		find "$1" -path "$1/scripts" -prune -o \( -name '*.o' -o -name '*.a' \) -type f -exec rm {} +
}

build_kernel() {
	logged "$KIND-kernel" "building the $KIND kernel" make_kernel "$1"
	report_lost_options "$1"
}

write_source_env() {
	local release
	release=$(cat "$BUILT_DIR/include/config/kernel.release")
	cat >"$1.part" <<-END
		KERNEL_CONFIG=$CONFIG_SUM
		KERNEL_RELEASE=$release
		KERNEL_SOURCE=$NEW_SOURCE_DIR
		GUEST_KDIR=$BUILT_DIR
		KERNEL_IMAGE=$BUILT_DIR/arch/arm64/boot/Image
		MODULES_DIR=$BUILT_DIR/install/lib/modules/$release
	END
	mv "$1.part" "$1"
}

# setup_source_kernel KIND: builds KIND-kernel.config and writes env-KIND.mk, unless both stand.
setup_source_kernel() {
	local env
	KIND=$1 CONFIG=$CACHE/$1-kernel.config env=$CACHE/env-$1.mk
	config_lines >"$CONFIG"
	CONFIG_SUM=$(sha256sum "$CONFIG" | cut -c1-12)
	if grep -qxF "KERNEL_CONFIG=$CONFIG_SUM" "$env" 2>/dev/null &&
		[ -e "$(sed -n 's/^KERNEL_IMAGE=//p' "$env")" ]; then
		return
	fi
	fetch_kernel_source
	BUILT_DIR=$CACHE/$KIND-kernel-$NEW_VERSION-$CONFIG_SUM
	is_whole "$BUILT_DIR" || say "building the $KIND kernel, $NEW_VERSION: once, about 20 minutes"
	unpacked "$BUILT_DIR" build_kernel
	write_source_env "$env"
}

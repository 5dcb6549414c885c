#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Writes a header that tells which form of each interface the kernel has. Each form in ork_probe.c
# is compiled with the kernel's own compiler and flags; of each interface exactly one has to pass.
#
# usage: ork_probe.sh PROBES HEADER DEPENDENCIES COMPILER FLAG...
set -eu

probes=$1
header=$2
dependencies=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

interfaces() {
	sed -n 's|^/\* interface: \(.*\) \*/$|\1|p' "$probes"
}

# forms INTERFACE
forms() {
	sed -n "\\|^/\\* interface: $1 \\*/|,/^#endif/s/^#[el]*if defined(\\(.*\\))/\\1/p" "$probes"
}

# compile NAME COMPILER FLAG...: leaves NAME.said, and NAME.passed if it does. A value of another type
# is an error. -fms-extensions lets a probe extend a structure by a member, to see whether it has one
# of that name.
compile() {
	name=$1
	shift
	"$@" -fms-extensions -Werror=implicit-function-declaration \
		-Werror=incompatible-pointer-types -Werror=int-conversion \
		-fsyntax-only "$probes" >"$scratch/$name.said" 2>&1 && : >"$scratch/$name.passed"
}

passed() {
	[ -e "$scratch/$1.passed" ]
}

# choose INTERFACE COMPILER FLAG...
choose() {
	interface=$1
	shift
	forms=$(forms "$interface")
	for form in $forms; do
		compile "$form" "$@" "-D$form" &
	done
	wait
	found=
	for form in $forms; do
		! passed "$form" || found="$found $form"
	done
	case $found in
	' '*' '*) stop "this kernel seems to have $interface in several forms:$found" ;;
	' '*) echo "#define$found" >>"$scratch/header" ;;
	*) stop "this kernel has $interface in no form that is known" $forms ;;
	esac
}

# stop WHY NAME...: with the first error of each
stop() {
	echo "ork: $1" >&2
	shift
	for name; do
		{ grep -m1 'error' "$scratch/$name.said" || head -1 "$scratch/$name.said"; } |
			sed "s|^|  $name: |" >&2
	done
	exit 1
}

compile headers "$@" "-Wp,-MMD,$dependencies" || stop "the kernel's headers do not compile" headers
echo '/* SPDX-License-Identifier: GPL-2.0-only */' >"$scratch/header"
for interface in $(interfaces); do
	choose "$interface" "$@"
done
cp "$scratch/header" "$header"

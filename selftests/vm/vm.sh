#!/bin/bash
# SPDX-License-Identifier: MIT
# Boots a kernel on the emulated board, loads a driver of the NPU, and runs a command in it.
set -euo pipefail

usage() {
	cat <<-END
		usage: vm.sh [OPTION]... -- COMMAND [ARGUMENT]...
		  --kernel stock|debug|bench      Debian's own, or one built from source (default stock)
		  --cache strict|evict|coherent   the CPU's cache as the NPU sees it (default strict)
		  --module ork|rocket|none        the NPU's driver; rocket is mainline's, which only
		                                  kernels built from source have (default ork)
		  --options "NAME=VALUE..."       parameters of that driver's module
		  --binding mainline|vendor       of the NPU in the device tree (default mainline)
		  --latency-us N                  time added to each program (default 0)
		  --memory MB                     guest RAM (default 1024)
		  --smp N                         CPUs (default 2)
		  --seed N                        of the evictions (default 1)
		  --icount                        a nanosecond of the guest is one instruction, however
		                                  busy this machine is; all CPUs take turns on one here
		  --out DIR                       what the guest sees as /out; gets dmesg, console and
		                                  npu-log too (default build/vm)
		  --timeout S                     default 300
		  --overlay CPIO                  more of the guest's root, uncompressed
		  --append STRING                 more for the kernel's command line
		  --coverage                      the driver that counts what of it ran: gcov/ of --out has that
		  --gdb PATH                      a socket there for a debugger of the guest's kernel
		  --shell                         keep the terminal, for an interactive command
		Exit status: COMMAND's; 124 out of time; 125 the guest did not come to its end;
		123 COMMAND succeeded, but the kernel complained or the driver did not unload.
	END
	exit 2
}

top=$(cd "$(dirname "$0")/../.." && pwd)
kernel=stock cache=strict module=ork binding=mainline latency=0 memory=1024 smp=2 seed=1
out=$top/build/vm limit=300 append='' options='' overlay='' shell='' profiled='' icount=() gdb=()
board=$top/build/host/libork-board.so
env=${ORK_CACHE:-$HOME/.cache/ork}
# shellcheck source=/dev/null
. "$env/env.mk"

need_number() {
	[[ $2 =~ ^[0-9]+$ ]] || { echo "vm.sh: $1 $2: a number is wanted" >&2; exit 2; }
}

parse() {
	while [ $# -gt 0 ]; do
		case $1 in
		--shell) shell=1; shift; continue ;;
		--coverage) profiled=-coverage; shift; continue ;;
		--icount) icount=(-icount "shift=0,sleep=off"); shift; continue ;;
		--) shift; break ;;
		--*) [ $# -ge 2 ] || usage ;;
		*) break ;;
		esac
		case $1 in
		--latency-us | --memory | --smp | --seed | --timeout) need_number "$1" "$2" ;;
		esac
		case $1 in
		--kernel) kernel=$2 ;;
		--cache) cache=$2 ;;
		--module) module=$2 ;;
		--binding) binding=$2 ;;
		--latency-us) latency=$2 ;;
		--memory) memory=$2 ;;
		--smp) smp=$2 ;;
		--seed) seed=$2 ;;
		--out) out=$2 ;;
		--timeout) limit=$2 ;;
		--append) append=$2 ;;
		--options) options=$2 ;;
		--overlay) overlay=$2 ;;
		--gdb) gdb=(-gdb "unix:${2//,/,,},server=on,wait=off") ;;
		*) usage ;;
		esac
		shift 2
	done
	command=("$@")
	[ ${#command[@]} -gt 0 ] || usage
}

# In the quotes of a POSIX shell.
quoted() {
	local word
	for word in "$@"; do
		printf "'%s' " "${word//\'/\'\\\'\'}"
	done
}

# Whatever ends this script, a kill -9 included, ends QEMU too. The LD_PRELOAD is for QEMU alone.
start_qemu() {
	local input=/dev/null signals=on
	# An interactive command gets the terminal's Ctrl-C, QEMU does not.
	[ -z "$shell" ] || { input=/dev/stdin signals=off; }
	setpriv --pdeathsig TERM timeout --foreground -k 5 "$limit" \
		setpriv --pdeathsig KILL env LD_PRELOAD="$board" qemu-system-aarch64 \
		-M "rk3588-npu,cache=$cache,binding=$binding,npu-latency-us=$latency,seed=$seed" \
		-M "npu-log=${out//,/,,}/npu-log" \
		-cpu cortex-a76 -smp "$smp" -m "$memory" "${icount[@]}" -display none -monitor none -nic none -no-reboot \
		"${gdb[@]}" \
		-kernel "$KERNEL_IMAGE" -initrd "$initramfs" \
		-append "console=ttyAMA0 panic=-1 log_buf_len=4M kunit.enable=1 npu_module=$module npu_options=\"$options\" $append" \
		-serial "file:${out//,/,,}/console" -device virtio-serial-pci \
		-chardev "stdio,id=terminal,signal=$signals" -device virtconsole,chardev=terminal \
		-virtfs "local,path=${out//,/,,},mount_tag=out,security_model=none" \
		<"$input" &
	qemu=$!
}

stop_qemu() {
	kill "$qemu" 2>/dev/null || true
	wait "$qemu" || true
}

# What the kernel complained about if it did, else the last that it said.
last_words() {
	echo "vm.sh: $1; from $out/console:"
	touch "$out/console"
	! "$top/selftests/vm/dmesg-clean" --file "$out/console" | head -20 | grep . || return 0
	tail -5 "$out/console"
}

# verdict STATUS-OF-QEMU: the status that the guest left, or why there is none.
verdict() {
	local status
	if [ "$1" = 124 ]; then
		last_words "no end after $limit s" >&2
		return 124
	elif [ ! -s "$out/status" ]; then
		last_words "the guest did not come to its end" >&2
		return 125
	fi
	status=$(cat "$out/status")
	[ -s "$out/kernel-complaints" ] || return "$status"
	echo "vm.sh: the kernel complained; all of its log is in $out/dmesg:" >&2
	head -20 "$out/kernel-complaints" >&2
	[ "$status" != 0 ] || status=123
	return "$status"
}

parse "$@"
if [ "$kernel" != stock ]; then
	[ -e "$env/env-$kernel.mk" ] || { echo "vm.sh: there is no $kernel kernel here" >&2; exit 125; }
	# shellcheck source=/dev/null
	. "$env/env-$kernel.mk"
fi
initramfs=$top/build/arm64/$kernel$profiled/initramfs.cpio
for file in "$board" "$initramfs" ${overlay:+"$overlay"}; do
	[ -e "$file" ] || { echo "vm.sh: $file is missing: make vm builds it" >&2; exit 125; }
done
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -rf "$out"/{status,dmesg,kernel-complaints,console,npu-log,gcov}
# The kernel unpacks one archive after the other.
if [ -n "$overlay" ]; then
	cat "$initramfs" "$overlay" >"$out/initramfs"
	initramfs=$out/initramfs
fi
# QEMU leaves lines as they are unless it is the terminal's: no second carriage return then.
{ [ -n "$shell" ] || echo "stty -onlcr"; quoted "${command[@]}"; } >"$out/command"

trap 'stop_qemu; exit 130' INT TERM HUP
start_qemu
ended=0
wait "$qemu" || ended=$?
trap - INT TERM HUP
[ -z "$overlay" ] || rm "$initramfs"
verdict "$ended"

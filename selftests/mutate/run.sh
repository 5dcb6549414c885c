#!/bin/bash
# SPDX-License-Identifier: MIT
# Applies each of the mutations beside this script to a copy of the tree and runs the suite that has
# to notice. Prints TAP: a mutation that turns its test red is ok, one that survives is not. The
# unchanged tree is run first.
# usage: run.sh [--full] [--share I/N] [NAME]...
#   --full       those of mutations-full too
#   --share I/N  every N-th only, from the I-th on, so that N runs side by side do all
#   NAME         only these

# Functions that are called by the name of a parameter look unreachable.
# shellcheck disable=SC2317
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
share=1 shares=1
make=(make --no-print-directory -s "-j$(nproc)")
lists=("$here/mutations")
number=0 failed=0

result() {
	number=$((number + 1))
	[ "$1" = ok ] || failed=1
	echo "$1 $number - $2"
}

# Objects keep their times, so that only what a mutation changes is built again.
copy_tree() {
	mkdir -p "$tree/build"
	tar -C "$top" -cf - --exclude='*.cmd' Kbuild Makefile drivers lib model selftests tools uapi |
		tar -C "$tree" -xf - &&
		for arch in host arm64; do
			[ ! -d "$top/build/$arch" ] || cp -a "$top/build/$arch" "$tree/build" || return
		done
}

# substitute FILE FROM TO: in place. Fails unless FROM is there exactly once.
substitute() {
	local text rest
	text=$(cat "$1" && echo x) || return
	text=${text%x}
	rest=${text#*"$2"}
	[ "$rest" != "$text" ] || { echo "$1 has no: $2"; return 1; }
	[ "${rest#*"$2"}" = "$rest" ] || { echo "$1 has more than once: $2"; return 1; }
	printf '%s' "${text%%"$2"*}$3$rest" >"$1"
}

# on_board TEST KERNEL SUITE OPTION...
on_board() {
	local only=() kernel=$2 suite=$3
	[ -z "$1" ] || only=(--only "$1")
	shift 3
	"${make[@]}" ARCH=host board && "${make[@]}" ARCH=arm64 KERNEL="$kernel" guest || return
	rm -f "$work/vm/$suite.tap"
	setpriv --pdeathsig TERM selftests/vm/vm.sh --kernel "$kernel" "$@" --out "$work/vm" --timeout 600 -- \
		run-suites "${only[@]}" "$suite" && return
	# A suite that did not end has told so far only its file.
	cat "$work/vm/$suite.tap"
}

# on_client PART: somebody else's client of mainline's driver.
on_client() {
	"${make[@]}" ARCH=host board && "${make[@]}" ARCH=arm64 KERNEL=debug guest &&
		"${make[@]}" ARCH=arm64 teflon-guest &&
		setpriv --pdeathsig TERM selftests/teflon/teflon.sh --out "$work/vm" rocket "$1"
}

# on_host TEST PROGRAM
on_host() {
	"${make[@]}" ARCH=host "$2" && ORK_ONLY=$1 "$2"
}

# suite WHERE SUITE TEST: builds it in the copy and runs it, that test of it alone where it can. Several have commas
# between.
suite() {
	local test=$3
	cd "$tree" || return
	case $1 in
	host) on_host "$test" "build/host/selftests/san/$2" ;;
	unit) on_host "$test" "build/host/lib/tests/$2" ;;
	check) "selftests/check/$2.sh" ;;
	guest) on_board "$test" stock "$2" ;;
	evict) on_board "$test" stock "$2" --cache evict ;;
	vendor) on_board "$test" stock "$2" --binding vendor ;;
	debug) on_board "$test" debug "$2" ;;
	rocket) on_board "$test" stock "$2" --options rocket_uapi=1 ;;
	teflon) on_client "$2" ;;
	esac
} 2>&1 </dev/null

# verdict LOG TEST: red, green, or neither if the test did not come to run.
verdict() {
	local log
	# Not by a pipe: grep ends at the first match, and who still writes to it then fails.
	log=$(tr -d '\r\0' <"$1")
	if grep -Eq "^not ok .*\b$2\$" <<<"$log"; then
		echo red
	elif grep -Eq "^ok .*\b$2\$" <<<"$log"; then
		echo green
	fi
}

complain() {
	tail -5 "$1" | tr -d '\r' | sed 's/^/# /'
}

# lacks WHERE: it needs what set-up could not get.
lacks() {
	[ "$1" = teflon ] && [ ! -e "${ORK_CACHE:-$HOME/.cache/ork}/env-teflon.mk" ]
}

# mutate NAME FILE WHERE SUITE TEST FROM TO
mutate() {
	local log=$work/$1.log
	if lacks "$3"; then
		result ok "$1 # SKIP set-up could not get Teflon"
		return
	fi
	if ! substitute "$tree/$2" "$6" "$7" >"$log"; then
		complain "$log"
		result "not ok" "$1 does not apply"
		return
	fi
	(suite "$3" "$4" "$5") >>"$log"
	cp "$top/$2" "$tree/$2"
	case $(verdict "$log" "$5") in
	red) result ok "$1 is killed by $5" ;;
	green) result "not ok" "$1 SURVIVED $5" ;;
	*)
		complain "$log"
		result "not ok" "$1: $5 did not run"
		;;
	esac
}

# wanted INDEX NAME ASKED...: whether it is in this run's share, and was asked for if any was.
wanted() {
	local index=$1 name=$2
	shift 2
	((index % shares == share % shares)) && [[ $# = 0 || " $* " == *" $name "* ]]
}

# Calls @1 with NAME FILE WHERE SUITE TEST FROM TO of each mutation that was asked for.
each_mutation() {
	local callback=$1 index=0 line name='' file where suite_name test from to
	shift
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		"== "*) name=${line#== } from='' to='' ;;
		"file "*) file=${line#file } ;;
		"run "*) read -r _ where suite_name <<<"$line" ;;
		"red "*) test=${line#red } ;;
		-*) from+=${line#-}$'\n' ;;
		+*) to+=${line#+}$'\n' ;;
		"")
			[ -n "$name" ] || continue
			index=$((index + 1))
			! wanted $index "$name" "$@" ||
				"$callback" "$name" "$file" "$where" "$suite_name" "$test" "$from" "$to"
			name=''
			;;
		esac
	done < <(cat "${lists[@]}"; echo)
}

# The suites that are needed, each once.
declare -A needed=()
asked=''
need() {
	asked=1
	lacks "$3" || needed[$3 $4]+=$5,
}

# The unchanged tree: what a mutation must turn red is green.
baseline() {
	local key log test
	for key in "${!needed[@]}"; do
		log=$work/unchanged-${key// /-}.log
		# shellcheck disable=SC2086
		(suite $key "${needed[$key]}") >"$log"
		while read -r test; do
			[ "$(verdict "$log" "$test")" = green ] && continue
			complain "$log"
			result "not ok" "unchanged, $test is not green"
		done < <(tr , '\n' <<<"${needed[$key]%,}" | sort -u)
	done
	[ $failed = 1 ] || result ok "unchanged, all of these tests are green"
}

while [ $# -gt 0 ]; do
	case $1 in
	--full) lists+=("$here/mutations-full") ;;
	--share)
		share=${2%/*} shares=${2#*/}
		shift
		;;
	*) break ;;
	esac
	shift
done
work=$top/build/mutants-$share
tree=$work/tree
rm -rf "$work"
each_mutation need "$@"
[ -n "$asked" ] || { echo "run.sh: no mutation of that name" >&2; exit 2; }
copy_tree || { result "not ok" "the tree is copied"; exit 1; }
baseline
[ $failed = 1 ] || each_mutation mutate "$@"
echo "1..$number"
exit $failed

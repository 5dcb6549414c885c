# SPDX-License-Identifier: MIT
# Sourced by the set-up scripts: where things are kept, how a failure is told, and an apt whose
# state lies in the cache, so that foreign architectures and sources leave the machine's apt alone.

CACHE=${ORK_CACHE:-$HOME/.cache/ork}
DEBS=$CACHE/debs
LOGS=$CACHE/logs
VERSIONS=$CACHE/versions
# Where newer kernels are, beside what the machine has its packages from.
LATER_SUITES=(bookworm-backports trixie-backports)
KERNEL_SERIES=6.1
KERNEL_ABI='6\.1\.0-[0-9]+'
HOST_ARCH=$(dpkg --print-architecture)
PATH=$PATH:/usr/sbin:/sbin

say() {
	echo "setup: $*"
}

# die WHAT-FAILED WHAT-TO-DO
die() {
	echo "setup: $1" >&2
	[ $# -lt 2 ] || echo "setup: $2" >&2
	exit 1
}

# logged NAME WHAT COMMAND...: silent while it works; its first error, or its last words, when it does not.
logged() {
	local log=$LOGS/$1.log what=$2 why
	shift 2
	mkdir -p "$LOGS"
	"$@" >"$log" 2>&1 </dev/null && return
	why=$(grep -m1 -iE '^(E:|error)' "$log" || grep -v '^ *$' "$log" | tail -1 || true)
	die "$what failed: $why" "the whole of it is in $log; run the command again to try again"
}

# unpacked DIR FUNCTION: DIR is filled by FUNCTION, from nothing if an earlier try was cut short.
unpacked() {
	is_whole "$1" && return
	rm -rf "$1"
	mkdir -p "$1"
	"$2" "$1"
	touch "$1/.complete"
}

is_whole() {
	[ -e "$1/.complete" ]
}

# took NAME VERSION: one line on the terminal, one in the record.
took() {
	say "$1 $2"
	touch "$VERSIONS"
	sed -i "\|^$1 |d" "$VERSIONS"
	echo "$1 $2" >>"$VERSIONS"
}

# apt_in DIR TOOL ARGUMENT...: an apt with its sources, lists and cache in DIR.
apt_in() {
	local dir=$1 tool=$2
	shift 2
	"$tool" -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$dir/sources.d" \
		-o Dir::State::lists="$dir/lists" -o Dir::Cache="$dir/cache" \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=3 -o Acquire::Languages=none "$@"
}

# private_apt TOOL ARGUMENT...
private_apt() {
	local tool=$1
	shift
	apt_in "$CACHE/apt" "$tool" -o APT::Architecture="$HOST_ARCH" -o APT::Architectures::="$HOST_ARCH" \
		-o APT::Architectures::=arm64 "$@"
}

# machine_sources DIR: to DIR/sources.d the machine's own archives, as binaries of all its and the board's
# architectures and as sources.
machine_sources() {
	local dir=$1/sources.d file
	rm -rf "$dir"
	mkdir -p "$dir" "$1/lists/partial" "$1/cache/archives/partial"
	for file in /etc/apt/sources.list.d/*.sources; do
		[ -e "$file" ] || continue
		sed -e '/^Architectures:/d' -e 's/^Types:.*/Types: deb deb-src/' "$file" \
			>"$dir/${file##*/}"
	done
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ -e "$file" ] || continue
		sed -nE -e 's/\barch=[^] ]*//' -e 's/^deb(-src)?[[:space:]]+(.*)/deb \2\ndeb-src \2/p' \
			"$file" | awk '!seen[$0]++' >"$dir/${file##*/}"
	done
}

derive_sources() {
	local suite
	machine_sources "$CACHE/apt"
	for suite in "${LATER_SUITES[@]}"; do
		derive_suite "$suite" "$CACHE/apt/sources.d"
	done
}

# stanzas DIR SUFFIX: what stands in the files of that kind.
stanzas() {
	find "$1" -name "*.$2" ! -name 'later-*' -exec cat {} +
}

# derive_suite SUITE DIR: another suite of the archive from which this machine has its main one.
derive_suite() {
	local main to=$2/later-$1
	main=$(. /etc/os-release && echo "$VERSION_CODENAME")
	stanzas "$2" sources | awk -v RS= -v main="$main" -v suite="$1" '
		$0 ~ "(^|\n)Suites:([^\n]* )?" main "( |\n|$)" {
			sub(/Suites:[^\n]*/, "Suites: " suite); print; exit }' >"$to.sources"
	stanzas "$2" list | awk -v main="$main" -v suite="$1" '
		{ for (i = 3; i <= NF; i++) if ($i == main) { $i = suite; print; next } }' |
		awk '!seen[$0]++' >"$to.list"
	[ ! -s "$to.sources" ] || rm "$to.list"
}

read_lists() {
	private_apt apt-get -o APT::Update::Error-Mode=any update
}

# Once a run. A suite that is no longer there costs what comes from it, and nothing else.
LISTS_ARE_NEW=
update_lists() {
	[ -z "$LISTS_ARE_NEW" ] || return 0
	derive_sources
	say "reading the package lists"
	LISTS_ARE_NEW=1
	read_lists >/dev/null 2>&1 </dev/null && return
	say "the archive has not all of ${LATER_SUITES[*]}: going on without them"
	rm -f "$CACHE"/apt/sources.d/later-*
	logged apt-update "reading the package lists (apt-get update)" read_lists
}

# candidate PACKAGE: the version that apt would take, or nothing.
candidate() {
	private_apt apt-cache policy "$1" | sed -n 's/^  Candidate: //p' | grep -v '(none)' || true
}

# fetch PACKAGE...: into DEBS. Apt checks them all, skips what is whole, and fetches again what is not.
fetch() {
	mkdir -p "$DEBS"
	cd "$DEBS"
	logged download "downloading $*" private_apt apt-get download "$@"
	cd - >/dev/null
}

# deb PACKAGE VERSION: the file that fetch left.
deb() {
	local name=${1%%:*} version=${2/:/%3a} file
	for file in "$DEBS/${name}_${version}"_*.deb; do
		[ -e "$file" ] || die "$name $2 is not in $DEBS" "remove $CACHE and run the command again"
		echo "$file"
	done
}

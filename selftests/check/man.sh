#!/bin/bash
# SPDX-License-Identifier: MIT
# The manual pages of the library, as TAP. What must be on them is asked of others than who writes them: the symbols
# of the linker, and the functions and parameters of the kernel's kernel-doc.

# Functions that are called by the name of a parameter look unreachable.
# shellcheck disable=SC2317
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=/dev/null
. "${ORK_CACHE:-$HOME/.cache/ork}/env.mk"
# shellcheck source-path=SCRIPTDIR
. selftests/check/tap.sh
pages=build/man/man3

exported() {
	sed -n 's/^\t\(ork_.*\);/\1/p' lib/libork.map
}

kernel_doc() {
	perl "$KERNELDOC" "$@" lib/ork.h
}

header_passes_kernel_doc() {
	kernel_doc -v -none 2>&1 | grep -v ': info: Scanning doc for '
	return "${PIPESTATUS[0]}"
}

pages_are_made() {
	rm -rf build/man
	make --no-print-directory -s man
}

every_function_has_a_page() {
	diff <(exported | sort) <(find "$pages" -name '*.3' -printf '%f\n' | sed 's/\.3$//' | sort)
}

# Each with something in it.
every_page_has_its_sections() {
	awk '/^\.SH / { section = substr($0, 5); next }
	{ lines[FILENAME, section]++ }
	END {
		count = split("NAME,SYNOPSIS,ARGUMENTS,DESCRIPTION,RETURN VALUE,EXAMPLE,NOTES,SEE ALSO", wanted, ",")
		for (page = 1; page < ARGC; page++)
			for (i = 1; i <= count; i++)
				if (!lines[ARGV[page], wanted[i]])
					print ARGV[page] " has no " wanted[i]
	}' "$pages"/*.3
}

# Lines of function and parameter: MACRO stands before a parameter, TITLE before a function.
arguments() {
	awk -v macro="$1" '{ gsub(/"/, "") }
		$1 == ".TH" { name = tolower($2) }
		/^\.SH / { inside = $2 == "ARGUMENTS" }
		inside && $1 == macro { print name, $2 }' "${@:2}" | sort
}

every_parameter_is_described() {
	diff <(kernel_doc -man 2>/dev/null | arguments .IP) <(arguments .I "$pages"/*.3)
}

# The code on a page, as a reader has it: indented, between a line of words and the next heading.
shown_code() {
	mandoc -Tascii -Owidth=200 "$1" | awk '
		/^       This is lib\/examples\// { inside = 1; getline; next }
		inside && /^[^ ]/ { exit }
		inside { print substr($0, 8) }' | sed '$d'
}

every_page_shows_a_whole_example_that_calls_its_function() {
	local page name file
	for page in "$pages"/*.3; do
		name=$(basename "$page" .3)
		file=$(sed -n 's/^This is \(lib.*\) of .*/\1/p' "$page")
		grep -q "[^a-z_]$name(" "$file" || echo "$page: $file does not call it"
		cmp <(tail -n +2 "$file" | expand) <(shown_code "$page") || echo "$page does not show $file"
	done
}

groff_warns_of_nothing() {
	groff -man -Tutf8 -ww "$pages"/*.3 >/dev/null
}

mandoc_warns_of_nothing() {
	mandoc -Tlint -W warning "$pages"/*.3
}

check "comments of the header pass kernel-doc" header_passes_kernel_doc
check "manual pages are made" pages_are_made
check "every function of the library has a page" every_function_has_a_page
check "every page has its sections" every_page_has_its_sections
check "every parameter is described" every_parameter_is_described
check "every page shows a whole example that calls its function" every_page_shows_a_whole_example_that_calls_its_function
check "groff warns of no page" groff_warns_of_nothing
check "mandoc warns of no page" mandoc_warns_of_nothing
checks_end

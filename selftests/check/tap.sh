# SPDX-License-Identifier: MIT
# Sourced by the checks: results as TAP.

tap_number=0
tap_failed=0

# check NAME COMMAND...: passes if it succeeds and prints nothing.
check() {
	local name=$1 output status
	shift
	output=$("$@" 2>&1 </dev/null)
	status=$?
	tap_number=$((tap_number + 1))
	if [ $status = 0 ] && [ -z "$output" ]; then
		echo "ok $tap_number $name"
		return
	fi
	tap_failed=1
	sed 's/^/# /' <<<"${output:-exit status $status}"
	echo "not ok $tap_number $name"
}

# skip NAME REASON
skip() {
	tap_number=$((tap_number + 1))
	echo "ok $tap_number $1 # SKIP $2"
}

checks_end() {
	echo "1..$tap_number"
	exit $tap_failed
}

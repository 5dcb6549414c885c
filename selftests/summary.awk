# SPDX-License-Identifier: MIT
# Sorts the TAP lines of one part of the tests into the files passed, failed and skipped under `logs`, and
# prints each failed one after what was said before it. A part that breaks off before its plan, ends with a
# status that no failed test explains, or tests nothing, has failed. Plans add up: a part may be many programs.
# Variables: part (its name), status (its exit status), logs (folder).

function result(list, text)
{
	print part ": " text >> (logs "/" list)
	count[list]++
	ran++
}

function fail(text)
{
	result("failed", text)
	printf "%s    not ok: %s\n", said, text
}

{
	sub(/\r$/, "")
}

/^1\.\.[0-9]+/ {
	split($0, range, /\.\.| /)
	planned += range[2]
}

# The harness names a test that it skips here alone.
/^# *RUN/ {
	running = $3
}

/^#/ && !/^# *(RUN|OK|PASSED|FAILED|Starting|Totals)/ {
	said = said "    " $0 "\n"
}

/^(not )?ok/ {
	name = $0
	sub(/^(not )?ok *[0-9]* *-? */, "", name)
	if (name ~ /^#/)
		name = running " " name
	if (/^not/)
		fail(name)
	else
		result(name ~ /# *[Ss][Kk][Ii][Pp]/ ? "skipped" : "passed", name)
	said = ""
}

END {
	tests = ran + 0
	if (tests < planned)
		fail("broke off: " planned " tests planned, " tests " run")
	if (status && !count["failed"])
		fail("exit status " status)
	if (!tests && !count["failed"])
		fail("ran no test")
	printf "    %d passed, %d failed, %d skipped\n", count["passed"], count["failed"], count["skipped"]
}

# SPDX-License-Identifier: MIT
# What is to be believed, from the logs of all parts: one line for each kind of evidence that is there.

function row(name, text)
{
	printf "%-32s %s\n", name, text
}

{
	sub(/\r$/, "")
}

FNR == 1 {
	part = FILENAME
	sub(/.*\//, "", part)
	sub(/\.log$/, "", part)
	suite = ""
}

/ is killed by / {
	killed++
	mutations++
}

/ SURVIVED |: .* did not run$| does not apply$/ {
	mutations++
}

/^# injected / {
	calls += !($3 in known)
	known[$3]
	injected += $4
}

# Of the suites that a guest runs one after the other, the one that is running.
/^# ork_[a-z_]+$/ {
	suite = $2
}

/^ok / && suite == "ork_kunit" && !/the kernel has nothing/ {
	kunit++
}

/^# rocket programs / {
	rocket = $4
}

part ~ /^teflon-/ && /^ok [0-9]+ - / && !/# SKIP/ {
	models++
}

/^ok [0-9]+ (golden|large)\./ {
	products++
}

# "ok 5 - 200 quantised convolutions are the reference's"
/^ok [0-9]+ - [0-9]+ .*convolutions/ {
	convolutions += $4
}

/^# coverage / {
	covered = covered sprintf("%-32s %s of %s lines, %s %%\n", "coverage: " $3, $4, $6, $8)
}

END {
	if (mutations)
		row("mutations killed", killed + 0 " of " mutations)
	if (injected)
		row("failures injected", injected " at " calls " calls and points")
	if (kunit)
		row("KUnit cases", kunit)
	if (rocket)
		row("programs of mainline's rocket", rocket)
	if (models)
		row("models through Mesa's Teflon", models)
	if (products)
		row("products against the reference", products)
	if (convolutions)
		row("convolutions against it", convolutions)
	printf "%s", covered
}

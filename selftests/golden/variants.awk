# SPDX-License-Identifier: MIT
# A variant of @fixture for every line of matmul.tsv or large.tsv.
BEGIN { FS = "\t" }
/^#/ { next }
{
	name = $1 "_" $2 "x" $3 "x" $4
	if ($5 != $3 || $6 != $4)
		name = name "_strided"
	printf "FIXTURE_VARIANT_ADD(%s, %s) { ", fixture, name
	printf "%s, %s, %s, %s, %s, %s, %s, 0x%s };\n", toupper($1), $2, $3, $4, $5, $6, $7, $8
}

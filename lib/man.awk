# SPDX-License-Identifier: MIT
# The manual page of one function: from its kernel-doc comment in ork.h, the types that its prototype names, and
# the first of the examples that calls it. Boards make pages too, so this keeps to what POSIX says of awk.
# usage: awk -v page=FUNCTION -v date=YYYY-MM-DD -v version=N.N -f man.awk ork.h EXAMPLE.c...

# --- what is read -----------------------------------------------------------------------------------

FNR == 1 { header = FILENAME ~ /\.h$/ }
!header && !/SPDX-License-Identifier/ { code[FILENAME] = code[FILENAME] $0 "\n" }
!header { next }

# Kernel-doc, and the prototype behind it.
/^\/\*\*$/ { in_doc = 1; doc = ""; next }
in_doc && /^ \*\/$/ { in_doc = 0; end_doc(); next }
in_doc { sub(/^ \* ?/, ""); doc = doc $0 "\n"; next }
in_prototype { prototype = prototype $0; in_prototype = !/;$/; if (!in_prototype) end_prototype(); next }

/^\/\* --- / { group = $0; next }

# Types, with the plain comment right before.
/^\/\*/ { remark = ""; in_remark = 1 }
in_remark { remark = remark $0 "\n"; in_remark = !/\*\/$/; next }
/^(struct|enum) [a-z0-9_]+ \{$/ { in_type = 1; type = $2; types[++type_count] = type; body[type] = remark }
in_type { body[type] = body[type] $0 "\n"; in_type = !/^}/ }
{ remark = "" }

function end_doc() {
	if (sub(/^DOC: [^\n]*\n\n/, "", doc)) {
		notes = doc
		return
	}
	in_prototype = 1
	prototype = ""
}

function end_prototype(	name) {
	gsub(/[ \t]+/, " ", prototype)
	name = prototype
	sub(/\(.*/, "", name)
	sub(/.*[ *]/, "", name)
	functions[++function_count] = name
	docs[name] = doc
	prototypes[name] = prototype
	groups[name] = group
}

# The purpose, parameter after parameter, then text under its headings.
function split_doc(	lines, n, i, at, colon) {
	n = split(docs[page], lines, "\n")
	at = "purpose"
	sub(/^[^ ]* - /, "", lines[1])
	for (i = 1; i <= n; i++) {
		if (lines[i] ~ /^(@[a-z0-9_]+|Return|Context): /) {
			colon = index(lines[i], ":")
			at = substr(lines[i], 1, colon - 1)
			lines[i] = substr(lines[i], colon + 2)
		} else if (lines[i] == "" && at !~ /^[A-Z]/) {
			at = "Description"
		}
		part[at] = part[at] lines[i] "\n"
	}
}

# --- what is written --------------------------------------------------------------------------------

function fail(why) {
	print "man.awk: " page ": " why >"/dev/stderr"
	exit 1
}

function with_spaces(line,	tab) {
	while ((tab = index(line, "\t")))
		line = substr(line, 1, tab - 1) substr("        ", (tab - 1) % 8 + 1) substr(line, tab + 1)
	return line
}

function verbatim(text,	lines, n, i, line) {
	n = split(text, lines, "\n") - 1
	print ".EX"
	for (i = 1; i <= n; i++) {
		line = with_spaces(lines[i])
		gsub(/\\/, "\\e", line)
		gsub(/-/, "\\-", line)
		gsub(/'/, "\\(aq", line)
		gsub(/`/, "\\(ga", line)
		gsub(/\^/, "\\(ha", line)
		gsub(/~/, "\\(ti", line)
		print line
	}
	print ".EE"
}

# Before an error or a number stands a minus.
function prose(text) {
	gsub(/\\/, "\\e", text)
	gsub(/\n[ \t]+/, "\n", text)
	gsub(/^\n+|\n+$/, "", text)
	gsub(/\n\n+/, "\n.PP\n", text)
	gsub(/-[E0-9]/, "\\\\&", text)
	gsub(/\\-E[A-Z0-9]+/, "\\fB&\\fR", text)
	gsub(/@[a-z0-9_]+/, "\\fI&\\fR", text)
	gsub(/\\fI@/, "\\fI", text)
	gsub(/ork_[a-z0-9_]+\(\)/, "\\fB&\\fR", text)
	gsub(/\(\)\\fR/, "\\fR(3)", text)
	return text
}

function section(title, text) {
	if (text != "")
		print ".SH " title "\n" prose(toupper(substr(text, 1, 1)) substr(text, 2))
}

# One parameter a line, aligned, its name in italics.
function write_synopsis(	head, rest, parameters, n, i, name, before) {
	head = prototypes[page]
	sub(/\(.*/, "(", head)
	rest = substr(prototypes[page], length(head) + 1)
	sub(/\);$/, "", rest)
	n = split(rest, parameters, ", *")
	print ".SH SYNOPSIS\n.nf\n.B #include <ork.h>\n.PP"
	for (i = 1; i <= n; i++) {
		name = parameters[i]
		sub(/.*[ *]/, "", name)
		before = substr(parameters[i], 1, length(parameters[i]) - length(name))
		printf ".BI \"%s%s\" %s \"%s\"\n", head, before, name, (i < n ? "," : ");")
		gsub(/./, " ", head)
		names[i] = name
	}
	print ".fi\n.PP\nCompile and link with \\fIpkg\\-config \\-\\-cflags \\-\\-libs ork\\fR."
	return n
}

function write_arguments(n,	i) {
	print ".SH ARGUMENTS"
	for (i = 1; i <= n; i++) {
		if (!("@" names[i] in part))
			fail("parameter " names[i] " is not described")
		print ".TP\n.I " names[i] "\n" prose(part["@" names[i]])
	}
}

# Marks those that a text names, and what these name in turn.
function need_types(text,	i) {
	for (i = 1; i <= type_count; i++) {
		if (!(types[i] in needed) && text ~ "(struct|enum) " types[i] "[^a-z0-9_]") {
			needed[types[i]] = 1
			need_types(body[types[i]])
		}
	}
}

function write_types(	i, text) {
	need_types(prototypes[page])
	for (i = 1; i <= type_count; i++)
		if (types[i] in needed)
			text = text (text == "" ? "" : "\n") body[types[i]]
	if (text == "")
		return
	print ".SH TYPES"
	verbatim(text)
}

function write_example(	i) {
	for (i = 1; i < ARGC; i++)
		if (code[ARGV[i]] ~ "[^a-z0-9_]" page "\\(")
			break
	if (i == ARGC)
		fail("no example calls it")
	print ".SH EXAMPLE\nThis is " ARGV[i] " of ork's sources:\n.PP"
	verbatim(code[ARGV[i]])
}

# The neighbours in the header.
function write_see_also(	i, list) {
	for (i = 1; i <= function_count; i++)
		if (groups[functions[i]] == groups[page] && functions[i] != page)
			list = list (list == "" ? "" : ",\n") ".BR " functions[i] " (3)"
	print ".SH SEE ALSO\n" list
}

END {
	if (!(page in docs))
		fail("ork.h has no kernel-doc comment with a prototype of that name")
	split_doc()
	gsub(/\n+$/, "", part["purpose"])
	printf ".TH %s 3 %s \"ork %s\" \"libork\"\n.nh\n.ad l\n", toupper(page), date, version
	print ".SH NAME\n" page " \\- " prose(part["purpose"])
	write_arguments(write_synopsis())
	section("DESCRIPTION", part["Description"])
	section("RETURN VALUE", prototypes[page] ~ /^void [^*]/ ? "None." : part["Return"])
	section("CONTEXT", part["Context"])
	write_types()
	write_example()
	section("NOTES", notes)
	write_see_also()
}

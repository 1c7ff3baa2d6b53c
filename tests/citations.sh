#!/usr/bin/env bash
# Files that comments and pages name and that are not in the tree. Prints a line for each; exit 1 if there is one.
#
#	a/b.c, docs/x.md    where a is a folder of ours: from the root, from preload/, tools/probe/ ..., or from the citing file's folder
#	[text](x)           in pages: from the page's folder
#	b.c, b.S, b.def     alone, in sources of the library and the tools: must be the name of some file
#	DESIGN              a document that is not here
set -u
cd "${1:-$(dirname "$0")/..}" || exit 2

# Placeholders (NAME.c) are skipped, and files that a page itself makes (<!-- file: x -->).
files=$(git ls-files -co --exclude-standard | while read -r f; do [ -f "$f" ] && echo "$f"; done)
text=$(grep -E '\.(c|h|S|inc|def|md|mk|yaml|sh|1|7|table)$|^Makefile$' <<<"$files" | grep -vE '^tests/(unit/gen/|apps/data/)')

# "file<TAB>line<TAB>text" of comments; of pages and manuals all.
comments() {
	awk '
	FNR == 1 {
		c = FILENAME ~ /\.(c|h|S|inc|def)$/
		page = FILENAME ~ /\.(md|1|7)$/
		inside = 0
	}
	page { print FILENAME "\t" FNR "\t" $0; next }
	!c { if (match($0, /(^|[ \t])#.*/)) print FILENAME "\t" FNR "\t" substr($0, RSTART); next }
	{
		s = $0
		out = ""
		while (s != "") {
			if (inside) {
				i = index(s, "*/")
				out = out " " (i ? substr(s, 1, i - 1) : s)
				s = i ? substr(s, i + 2) : ""
				inside = !i
			} else {
				i = index(s, "/*")
				j = index(s, "//")
				if (j && (!i || j < i)) {
					out = out " " substr(s, j + 2)
					s = ""
				} else {
					s = i ? substr(s, i + 2) : ""
					inside = i > 0
				}
			}
		}
		if (out != "")
			print FILENAME "\t" FNR "\t" out
	}' $text
}

comments | awk -F '\t' -v list="$files" '
function base(f) {
	sub(/.*\//, "", f)
	return f
}
function folder(f) {
	return sub(/\/[^\/]*$/, "/", f) ? f : ""
}
BEGIN {
	n = split(list, f, "\n")
	for (i = 1; i <= n; i++) {
		have[f[i]]
		name[base(f[i])]
		m = split(f[i], part, "/")
		for (k = 1; k < m; k++)
			ours[part[k]]
	}
	roots = split(" preload/ tools/ tools/probe/ tests/ tests/e2e/ wrappers/ configs/ docs/ man/", root, " ")
	ext = "\\.(c|h|S|inc|def|mk|md|yaml|sh|py|table|1|7)"
}
function known(p, from,   i) {
	if (p in have || (folder(from) p) in have || (from, p) in made)
		return 1
	for (i = 1; i <= roots; i++)
		if ((root[i] p) in have)
			return 1
	return 0
}
# Headings as links name them: small letters and digits, - for blanks, nothing else.
function has_heading(f, anchor,   line, h) {
	if (!(f in read_headings)) {
		read_headings[f]
		missing[f] = 1
		while ((getline line <f) > 0) {
			missing[f] = 0
			if (line !~ /^#+ /)
				continue
			h = tolower(line)
			sub(/^#+ +/, "", h)
			gsub(/[^a-z0-9_ -]/, "", h)
			gsub(/ /, "-", h)
			heading[f, h]
		}
		close(f)
	}
	return missing[f] || (f, anchor) in heading
}
{
	s = $3
	if (match(s, /<!-- file: [^ ]+/)) {
		p = substr(s, RSTART, RLENGTH)
		sub(/.* /, "", p)
		made[$1, p]
		next
	}
	link = s
	while ($1 ~ /\.md$/ && match(link, /\]\([^)# ]+/)) {
		p = substr(link, RSTART + 2, RLENGTH - 2)
		link = substr(link, RSTART + RLENGTH)
		if (p !~ /^[a-z]+:/ && system("test -e \"" folder($1) p "\""))
			print $1 ":" $2 ": the link to " p " leads nowhere"
	}
	link = s
	while ($1 ~ /\.md$/ && match(link, /\]\([^) ]*\.md#[^) ]+|\]\(#[^) ]+/)) {
		p = substr(link, RSTART + 2, RLENGTH - 2)
		link = substr(link, RSTART + RLENGTH)
		anchor = p
		sub(/.*#/, "", anchor)
		sub(/#.*/, "", p)
		if (p !~ /^[a-z]+:/ && !has_heading(p == "" ? $1 : folder($1) p, anchor))
			print $1 ":" $2 ": " (p == "" ? "this page" : p) " has no heading #" anchor
	}
	if (s ~ /DESIGN/)
		print $1 ":" $2 ": DESIGN is not in the tree"
	while (match(s, "[A-Za-z0-9_.$*<>/-]*[A-Za-z0-9_]" ext "([^A-Za-z0-9_*/-]|$)")) {
		p = substr(s, RSTART, RLENGTH)
		s = substr(s, RSTART + RLENGTH)
		# "main (train.c:58)" shows what a line looks like
		if (p ~ /:$/ && s ~ /^[0-9]/)
			continue
		sub(/[^A-Za-z0-9_]$/, "", p)
		sub(/^(\.\.?\/)+/, "", p)
		if (p ~ /[$*<>]/ || p ~ /^\// || p ~ /^\./ || base(p) ~ /^[A-Z]+\.[a-z]+$/)
			continue
		if (p ~ /\//) {
			first = p
			sub(/\/.*/, "", first)
			# glibc has an elf/ too; libprobe/ is one of an installed include folder, build/ is made
			if (!(first in ours) || p ~ /^elf\/dl-/ || first == "libprobe" || p ~ /^build\//)
				continue
			if (!known(p, $1))
				print $1 ":" $2 ": " p " is not in the tree"
		} else if (p ~ /\.(c|S|def)$/ && $1 ~ /^(preload|wrappers|tools)\//) {
			if (!(p in name) && p !~ /^(wrap_|api_table|builtin)/)
				print $1 ":" $2 ": there is no " p
		}
	}
}' | { ! grep .; }

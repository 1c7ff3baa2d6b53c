#!/bin/sh
# Installs and removes files that users edit in place. Edited files are neither overwritten nor deleted.
#
#   tools/install_configs.sh install FROM TO FILE...     copies FILE from the folder FROM to the folder TO; next to an edited
#                                                        file the new one becomes FILE.new, if it has changed
#   tools/install_configs.sh uninstall FROM TO FILE...   removes the files that are unchanged since their installation
#
# A file is edited if it differs from TO/.installed, the checksums of the files shipped last (SUM SIZE FILE, as cksum prints them), or, if
# there is no such list, from FROM.
set -eu
what=$1 from=$2 to=$3
shift 3
list=$to/.installed

sum_below() { # FOLDER FILE [NAME]: its line of the list
	cksum <"$1/$2" | sed "s|\$| ${3:-$2}|"
}

is_listed() { # LINE
	[ -e "$list" ] && grep -qxF "$1" "$list"
}

is_as_shipped() { # FILE below TO
	[ -e "$to/$1" ] || return 1
	if [ -e "$list" ]; then
		is_listed "$(sum_below "$to" "$1")"
	else
		cmp -s "$from/$1" "$to/$1"
	fi
}

install_file() {
	install -D -m 644 "$from/$1" "$to/$2"
}

install_all() {
	for f; do
		shipped=$(sum_below "$from" "$f")
		if [ ! -e "$to/$f" ] || cmp -s "$from/$f" "$to/$f" || is_as_shipped "$f"; then
			install_file "$f" "$f"
			# Left next to a file that was edited then, and that has been brought up to date or is gone.
			! is_as_shipped "$f.new" || rm -f "$to/$f.new"
		elif ! is_listed "$shipped" || is_as_shipped "$f.new"; then
			install_file "$f" "$f.new"
			sum_below "$to" "$f.new"
			echo "$to/$f: edited, kept; the new one is $to/$f.new" >&2
		fi
		echo "$shipped"
	done
}

uninstall_all() {
	left=''
	for f; do
		! is_as_shipped "$f.new" || rm -f "$to/$f.new"
		if is_as_shipped "$f"; then
			rm -f "$to/$f"
		elif [ -e "$to/$f" ]; then
			left=1
			echo "$to/$f: edited, kept" >&2
		fi
	done
	rm -f "$list"
	[ -n "$left" ] || rmdir "$to"/*/ "$to" 2>/dev/null || :
}

if [ "$what" = install ]; then
	install -d "$to"
	install_all "$@" >"$list.$$"
	chmod 644 "$list.$$"
	mv -f "$list.$$" "$list"
else
	uninstall_all "$@"
fi

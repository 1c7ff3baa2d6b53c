#!/usr/bin/env bash
# Keys of the configuration that no code reads: a row of preload/config/keys.c whose member no code takes out of a room
# (get_<room>_keys(config)->key, config->key) and whose name no other code has. Those that are accepted for other tools' sake
# stand below. Also: a room of keys whose rebuilds are not counted (tests/rebuilds.table). Prints them, nothing if all is well.
set -u
cd "$(dirname "$0")/.." || exit 1
accepted='opt_ty params_have_main_grad'

# What reads keys by their names in a table, whatever they are, does not count.
sources=$(git ls-files 'preload/*.[ch]' 'wrappers/*.[ch]' 'tools/*.[ch]' ':!preload/config/keys.c' ':!preload/config/fixed_keys.c' \
	':!preload/config/rooms/*' ':!preload/config/import/*' ':!preload/config/preset.c' ':!tools/lib/key_groups.c' ':!tools/probe/config/*')
# shellcheck disable=SC2086
read_members=$(cat $sources | grep -oE '(\)|\b(c|cfg|config|([a-z]+_)?keys|t|now))(->|\.)[a-z_0-9]+' |
	sed -E 's/.*(->|\.)//' | sort -u)
# shellcheck disable=SC2086
named=$(cat $sources | grep -oE '(config_key_find\(|json_get_member\(config, )"[a-z_0-9]+"' | cut -d'"' -f2 | sort -u)
keys=$(sed -nE '/^const struct config_key config_keys/,/^};/s/^\t(\{ROW|[A-Z_]+)\(([a-z_0-9]+),.*/\2/p' preload/config/keys.c)
[ "$(wc -l <<<"$keys")" -gt 100 ] || echo "only $(wc -l <<<"$keys") keys found in preload/config/keys.c"
for key in $keys; do
	grep -qx "$key" <<<"$read_members"$'\n'"$named"$'\n'"${accepted// /$'\n'}" || echo "key without effect: no code reads '$key'"
done
for room in preload/config/rooms/*.h; do
	[ "${room##*/}" != room.h ] || continue
	grep -q "[[:space:]]$room[[:space:]]" tests/rebuilds.table || echo "tests/rebuilds.table has no line for $room"
done

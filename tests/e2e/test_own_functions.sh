#!/usr/bin/env bash
# The functions of probe.h, each found by every way in which a program may look for it, before anything is recorded and
# after; the list is taken from the header. Prints TAP.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh

all=$(sed -n 's/^PROBE_API .*[ *]\(probe_[a-z_]*\)(.*/\1/p' preload/probe.h)
is 'all functions of probe.h are in the list' "$(wc -w <<<"$all")" "$(grep -c '^PROBE_API ' preload/probe.h)"
# They are called, too: those with arguments have tests of their own.
functions=$(sed -n 's/^PROBE_API .*[ *]\(probe_[a-z_]*\)(void);$/\1/p' preload/probe.h)
# probe_stub_entry is for the stub objects that we load ourselves.
is 'all that is exported is in probe.h' \
	"$(nm -D --defined-only "$lib" | awk '$3 ~ /^probe_/ && $3 != "probe_stub_entry" {print $3}' | sort)" \
	"$(sort <<<"$all")"

# One line for each function and way: "NAME WAY yes", or what is wrong.
{
	cat <<-'END'
		#include <dlfcn.h>
		#include <stdio.h>
		#include <string.h>
		#include "preload/probe.h"
		static const char *want;
		static void see(const char *name, const char *way, void *p)
		{
			Dl_info in;
			if (!p)
				printf("%s %s not found\n", name, way);
			else if (!dladdr(p, &in) || strcmp(in.dli_fname, want))
				printf("%s %s in %s\n", name, way, dladdr(p, &in) ? in.dli_fname : "?");
			else {
				((long (*)(void))p)();
				printf("%s %s yes\n", name, way);
			}
		}
		static void ways(const char *name, void *weak, int preloaded)
		{
			void *self = dlopen(NULL, RTLD_NOW), *path = dlopen(want, RTLD_NOW), *again = dlopen(want, RTLD_LAZY | RTLD_NOLOAD);
			if (preloaded) {
				see(name, "weak", weak);
				see(name, "default", dlsym(RTLD_DEFAULT, name));
				see(name, "next", dlsym(RTLD_NEXT, name));
				see(name, "null", dlsym(self, name));
				see(name, "soname", dlsym(dlopen("libprobe.so", RTLD_NOW), name));
			}
			see(name, "path", dlsym(path, name));
			see(name, "noload", dlsym(again, name));
		}
		int main(int argc, char **argv)
		{
			want = argv[1];
			for (int round = 0; round < 2; round++) {
	END
	for f in $functions; do
		echo "ways(\"$f\", (void *)$f, argc > 2);"
	done
	echo '} return 0; }'
} >"$tmp/ways.c"
cc -std=gnu11 -g -D_GNU_SOURCE -I. -o "$tmp/ways" "$tmp/ways.c" || fail 'the program compiles'
cat >"$tmp/ways.py" <<'END'
import ctypes, sys
names, path, preloaded = sys.argv[1].split(), sys.argv[2], len(sys.argv) > 3
for name in 2 * names:
    for way in ([None, "libprobe.so", path] if preloaded else [path]):
        try:
            getattr(ctypes.CDLL(way), name)()
            print(name, way, "yes")
        except (AttributeError, OSError) as e:
            print(name, way, e)
END

all_found() { # TEXT LINES COMMAND...
	local text=$1 lines=$2
	shift 2
	(cd "$tmp" && "$@" >"$tmp/said" 2>"$tmp/said.err" </dev/null)
	is "$text: every function by every way" "$(sed 's/.* yes$/yes/' "$tmp/said" | sort -u)" yes
	is "$text: all were tried" "$(wc -l <"$tmp/said")" $((2 * lines * $(wc -w <<<"$functions")))
}

custom=$PWD/tests/apps/entry/custom.yaml list=$PWD/tests/apps/entry/ops.yaml
for who in c python; do
	if [ $who = c ]; then
		command=("$tmp/ways" "$lib") n=7
	else
		command=(python3 "$tmp/ways.py" "$functions" "$lib") n=3
	fi
	all_found "$who" $n env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$tmp/out" "${command[@]}" preloaded
	all_found "$who, with described functions" $n env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$tmp/out" PROBE_CUSTOM_APIS="$custom" \
		PROBE_WRAP_OPS="$list" "${command[@]}" preloaded
	all_found "$who, with \`probe run\`" $n env PROBE_CUSTOM_APIS="$custom" PROBE_WRAP_OPS="$list" PROBE_LIBRARY="$lib" \
		"$probe" run -o "$tmp/out" "${command[@]}" preloaded
	all_found "$who, with operators" $n env PROBE_LIBRARY="$lib" "$probe" run -p nan -o "$tmp/out" "${command[@]}" preloaded
	all_found "$who, switched off" $n env LD_PRELOAD="$lib" PROBE_DISABLE=1 "${command[@]}" preloaded
	all_found "$who, not preloaded" $((n == 7 ? 2 : 1)) "${command[@]}"
done
torch_python 'PyTorch'
cat >"$tmp/operators.py" <<'END'
import ctypes, sys, torch
torch.ones(3) + 1
for name in 2 * sys.argv[1].split():
    try:
        getattr(ctypes.CDLL(None), name)()
        print(name, "yes")
    except AttributeError as e:
        print(name, e)
END
all_found 'PyTorch' 1 env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$tmp/out" "$python" "$tmp/operators.py" "$functions"
all_found 'PyTorch, with operators' 1 "$probe" run -p nan -o "$tmp/out" "$python" "$tmp/operators.py" "$functions"
finish

#!/usr/bin/env bash
# The statistics beside PyTorch's: builds preload/stats as a shared object and runs stats_torch.py. Needs a Python that
# has torch (pip install torch), named by PYTHON; B: the build folder. Arguments: MiB of a tensor (default 512), dtypes.
set -eu
cd "$(dirname "$0")/../.."
B=${B:-build}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/libprobe-torch.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
cat >"$tmp/bench.c" <<'C'
#include "stats/stats.h"
const char *bench_isa(void) { return stats_selected(); }
void bench_measure(const char *dtype, const void *p, unsigned long long n, struct stats *out)
{
	struct stats_fenv env;
	struct stats_acc a;

	stats_fenv_set(&env);
	stats_begin(&a, (enum dtype)dtype_from_name(dtype), 1e-8);
	stats_add(&a, p, n);
	stats_end(&a, out);
	stats_fenv_reset(&env);
}
C
[ -e "$B/libcore.a" ] || make -s B="$B" "$B/libcore.a"
${CC:-cc} -O2 -std=gnu11 -fPIC -shared -Ipreload -o "$tmp/stats.so" "$tmp/bench.c" "$B"/obj/preload/stats/*.o "$B/libcore.a" \
	-Wl,-z,defs -lz -lm
"${PYTHON:-python3}" tests/bench/stats_torch.py "$tmp/stats.so" "$@"

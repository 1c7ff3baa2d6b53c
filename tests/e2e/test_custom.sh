#!/usr/bin/env bash
# docs/how-to/adding-a-function.md, followed to the letter: its files are written, its commands are run, and its promised results are
# checked. Then cases that it does not mention: fork, libraries in several shapes, mistakes. Prints TAP.
# timeout: 420
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"

export PROBE=$probe LIBPROBE=$lib
doc=$tmp/doc
mkdir "$doc"
# Files go by their names; the n-th piece of commands is run<n>.sh.
awk -v dir="$doc" '
	/^<!-- file: / { name = $3; next }
	/^<!-- run -->/ { name = "run" ++n ".sh"; next }
	/^```/ { inside = !inside && name != ""; if (!inside) name = ""; next }
	inside { print > (dir "/" name) }' docs/how-to/adding-a-function.md
is 'the page has four pieces of commands' "$(cd "$doc" && echo run?.sh)" 'run1.sh run2.sh run3.sh run4.sh'

if ! command -v cc >/dev/null || ! command -v c++ >/dev/null; then
	skip 'the page' 'no compilers'
	finish
fi
(
	cd "$doc" || exit 1
	for f in run?.sh; do
		. "./$f" >"$f.out" 2>"$f.err"
		echo $? >"$f.status"
	done
)
for i in 1 2 3 4; do
	is "commands $i work" "$(cat "$doc/run$i.sh.status")" 0
	[ $i = 4 ] || is "commands $i: nothing is complained about" "$(cat "$doc/run$i.sh.err")" ''
done
is 'the program prints the same without the preload' "$(cat "$doc/run1.sh.out")" 8
is 'the program of the page gives the same result with the preload' "$(head -1 "$doc/run2.sh.out")" 8
out=$doc/out
contract 'loaded by dlopen' "$out"
is 'six rows of three calls' "$(rows "$out" '[(r["lib"], r["api"], r["op"], r["comm_seq"], r["io"], r["dtype"], r["count"], r["redop"], r["rank"], r["size"], r["max"]) for r in R if r["comm_seq"] == "1"]')" \
	"[('custom', 'ring_allreduce', 'all_reduce', '1', 'in', 'float32', '4', 'sum', '0', '2', '4'), ('custom', 'ring_allreduce', 'all_reduce', '1', 'out', 'float32', '4', 'sum', '0', '2', '8')]"
is 'all of them' "$(rows "$out" 'len(R)')" 6
like 'the stack begins at the caller' "$(rows "$out" 'S[0]["native_stack"]')" '^app[!+]'
is 'the linked program prints the same' "$(head -1 "$doc/run3.sh.out")" 12
is 'its rows' "$(rows "$doc/out-linked" '[(r["api"], r["io"], r["mean"]) for r in R]')" \
	"[('ring_allreduce', 'in', '5.5'), ('ring_allreduce', 'out', '11')]"
contract 'C++' "$doc/out-cxx"
is 'the method, and not its overload' "$(rows "$doc/out-cxx" '[(r["api"], r["io"], r["mean"], r["flags"]) for r in R]')" \
	"[('train::Reducer::sum', 'in', '2', 'inplace'), ('train::Reducer::sum', 'out', '4', 'inplace'), ('train::Reducer::sum', 'in', '', 'unwound')]"
like 'the overload is named' "$(cat "$doc/run4.sh.err")" '^libprobe: .*custom-cxx.yaml:3:3: _ZN5train7Reducer3sumEPdi is not recorded: its parameters [^:]*$'

# ---- what the page does not say ----

cat >"$doc/more.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct pair { float f; long n; };
struct block { double d[9]; };
static struct block (*add)(struct pair, struct block, const float *, int, long, long, long, long, short, float);
static float x[2] = {1, 2};

static void *in_thread(void *arg)
{
	struct block b = {{1}};

	b = add((struct pair){1, 2}, b, x, 2, 1, 2, 3, 4, -5, 0.5f);
	*(double *)arg = b.d[0];
	return NULL;
}

int main(int argc, char **argv)
{
	double got = 0;
	pthread_t t;
	char line[4096], perms[8];
	FILE *f;

	add = (__typeof__(add))dlsym(dlopen(argc > 1 ? argv[1] : "./libmore.so", RTLD_NOW), "add");
	pthread_create(&t, NULL, in_thread, &got);
	pthread_join(t, NULL);
	printf("%g\n", got);
	fflush(stdout);
	if (fork() == 0) {
		in_thread(&got);
		return 0;
	}
	wait(NULL);
	f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %7s", perms) == 1 && perms[1] == 'w' && perms[2] == 'x')
			fputs(line, stdout);
	return 0;
}
END
cat >"$doc/libmore.c" <<'END'
struct pair { float f; long n; };
struct block { double d[9]; };
struct block add(struct pair p, struct block b, const float *v, int n, long a, long c, long d, long e, short s, float f)
{
	b.d[0] += p.f + p.n + a + c + d + e + s + f;
	for (int i = 0; i < n; i++)
		b.d[0] += v[i];
	return b;
}
END
mkdir -p "$doc/conf/apis"
cat >"$doc/conf/apis/custom.yaml" <<'END'
notation: 1
types: {pair: [f32, i64], block: struct(72)}
functions:
  add: {kind: send, sig: "block (pair _p, block _b, const float *send, int count, long _1, long _2, long peer, long tag, short _s, float _f)"}
END
echo 'fork: follow' >"$doc/conf/probe.yaml"
echo 'custom: [add]' >"$doc/conf/list.yaml"
(cd "$doc" && cc -shared -fPIC -o libmore.so libmore.c && cc -o more more.c -ldl -lpthread)
new_out
# The file beside the configuration is found without being named.
said=$(cd "$doc" && PROBE_CONFIG=conf/probe.yaml PROBE_WRAP_OPS=conf/list.yaml PROBE_OUTPUT_DIR=$out LD_PRELOAD=$lib ./more 2>&1)
is 'structs by value, arguments on the stack, a hidden result; nothing writable and executable' "$said" 12.5
contract 'a child that records too' "$out"
is 'the call in a thread, and that of the child' "$(rows "$out" 'sorted((r["api"], r["op"], r["io"], r["dtype"], r["count"], r["max"], r["peer"], r["tag"]) for r in R)')" \
	"[('add', 'send', 'in', 'float32', '2', '2', '3', '4'), ('add', 'send', 'in', 'float32', '2', '2', '3', '4')]"
if command -v python3 >/dev/null; then
	new_out
	said=$(cd "$doc" && PROBE_CUSTOM_APIS=custom.yaml PROBE_WRAP_OPS=list.yaml PROBE_OUTPUT_DIR=$out LD_PRELOAD=$lib python3 -c '
import ctypes
lib = ctypes.CDLL("./libring.so")
lib.ring_init.restype = ctypes.c_void_p
a, b = (ctypes.c_float * 2)(3, 4), (ctypes.c_float * 2)()
print(lib.ring_allreduce(a, b, ctypes.c_size_t(2), 0, 0, ctypes.c_void_p(lib.ring_init())), b[1])
print(lib.ring_allreduce(a, b, ctypes.c_size_t(2), 0, 9, ctypes.c_void_p(lib.ring_init())))' 2>&1)
	is 'ctypes: results' "$said" $'0 8.0\n1'
	is 'ctypes: rows, of the failed call the input only' "$(rows "$out" '[(r["io"], r["redop"], r["flags"].replace("localcomm", "").strip(";")) for r in R]')" \
		"[('in', 'sum', ''), ('out', 'sum', ''), ('in', '', 'error:1')]"
fi
new_out
said=$(cd "$doc" && PROBE_CUSTOM_APIS=custom.yaml PROBE_WRAP_OPS=/dev/null PROBE_OUTPUT_DIR=$out LD_PRELOAD=$lib ./app 2>/dev/null)
is 'not listed: nothing is recorded' "$said $(ls "$out" 2>/dev/null)" '8 '

# ---- a child that records nothing pays nothing ----

# Its functions are searched for once: a search in each of these 40,000 calls would take about a second of processor time.
mkdir "$doc/off"
cat >"$doc/off/lib.c" <<'END'
int before(const float *v, int n, int p) { return n; }
int after(const float *v, int n, int p) { return n + 1; }
END
cat >"$doc/off/second.c" <<'END'
int after(const float *v, int n, int p) { return n + 2; }
int call_second(void) { float f = 1; return after(&f, 1, 0); }
END
cat >"$doc/off/user.c" <<'END'
int before(const float *, int, int), after(const float *, int, int);
int call_before(void) { float f = 1; return before(&f, 1, 0); }
int call_after(void) { float f = 1; return after(&f, 1, 0); }
END
cat >"$doc/off/main.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static int (*function(const char *lib, const char *name))(void)
{
	return (int (*)(void))dlsym(dlopen(lib, RTLD_NOW | RTLD_LOCAL), name);
}
int main(void)
{
	int (*before)(void) = function("./libuser.so", "call_before"), (*after)(void) = function("./libuser.so", "call_after");
	int sum = before();
	clock_t from;

	if (fork()) {
		wait(NULL);
		return 0;
	}
	sum += before() + after();
	from = clock();
	for (int i = 0; i < 20000; i++)
		sum += before() + after();
	printf("sum %d, %s\n", sum, clock() - from < CLOCKS_PER_SEC / 10 ? "in no time" : "slowly");
	printf("second copy: %d, first: %d\n", function("./libsecond.so", "call_second")(), after());
	return 0;
}
END
cat >"$doc/off/custom.yaml" <<'END'
notation: 1
functions:
  before: {kind: send, sig: "int (const float *send, int count, int peer)"}
  after: {kind: send, sig: "int (const float *send, int count, int peer)"}
END
echo 'custom: [before, after]' >"$doc/off/list.yaml"
(cd "$doc/off" && for l in lib second; do cc -shared -fPIC -o lib$l.so $l.c; done &&
	cc -shared -fPIC -o libuser.so user.c -L. -llib -Wl,-rpath,'$ORIGIN' && cc -o main main.c -ldl) 2>"$doc/off/err" ||
	cat "$doc/off/err"
new_out
said=$(cd "$doc/off" && PROBE_CUSTOM_APIS=custom.yaml PROBE_WRAP_OPS=list.yaml PROBE_OUTPUT_DIR=$out LD_PRELOAD=$lib ./main 2>&1)
is 'a forked child that is not recorded looks for nothing more than once; a second copy that it loads keeps its calls' "$said" \
	$'sum 60004, in no time\nsecond copy: 3, first: 2'
is 'the parent had its row' "$(rows "$out" '[r["api"] for r in R]')" "['before']"

# ---- the job goes on whatever the file holds ----

cd "$doc" || exit 1
custom() { # FILE LIST: the program under the preload, with these two
	new_out
	said=$(PROBE_CUSTOM_APIS=$1 PROBE_WRAP_OPS=$2 PROBE_OUTPUT_DIR=$out LD_PRELOAD=$lib ./app 2>&1)
}
sed 's/kind: allreduce,/kind: allreduc,/' custom.yaml >bad.yaml
custom bad.yaml list.yaml
like 'a mistake: place, what would be right, and the job goes on' "$said" "bad.yaml:8:26: unknown kind 'allreduc'.* 8 ?\$"
echo 'custom: [ring_allredcue]' >bad-list.yaml
custom custom.yaml bad-list.yaml
like 'a name that no row has' "$said" 'ring_allredcue.*unknown name.* 8 ?$'
custom none.yaml list.yaml
like 'no such file' "$said" 'none.yaml: No such file.* 8 ?$'
printf '\0\377{[' >bytes.yaml
custom bytes.yaml list.yaml
like 'no YAML at all' "$said" 'bytes.yaml:.* 8 ?$'
cd - >/dev/null || exit 1

finish

#!/usr/bin/env bash
# Every way in which a program can reach a function of a library, by compiler and by kind of function: one with a compiled
# wrapper, a user's own in C, a user's own method in C++. What the program prints must be what it prints without us, and
# each call must have been seen, as `probe check` counts them. Prints TAP.
# timeout: 600
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
src=$PWD/tests/apps/entry
export PROBE_CUSTOM_APIS=$src/custom.yaml PROBE_WRAP_OPS=$src/ops.yaml

if nm -D --defined-only "$lib" | grep -q ' T ncclAllReduce$'; then known=NCCL; else known=MPI; fi

# The sum of the hits that the processes of a run wrote down.
hits() { # FOLDER NAME
	cat "$1"/*.check 2>/dev/null | awk -F'\t' -v name="$2" '$1 == name {n += $4} END {print n + 0}'
}

# WAY HITS VIA COMMAND...: via `preload` (plain LD_PRELOAD) or `run` (`probe run`)
way() {
	local text="$cc $kind: $1" want=$2 via=$3 dir=$tmp/check plain with got
	shift 3
	rm -rf "$dir"
	mkdir "$dir"
	plain=$(timeout 20 "$@" 2>&1; echo "status $?")
	if [ "$via" = run ]; then
		with=$(PROBE_CHECK=$dir timeout 20 "$probe" run -- "$@" 2>&1; echo "status $?")
	else
		with=$(PROBE_CHECK=$dir PROBE_LOG_LEVEL=0 LD_PRELOAD=$lib timeout 20 "$@" 2>&1; echo "status $?")
	fi
	got=$(hits "$dir" "$name")
	if [ "$plain" != "$with" ]; then
		fail "$text" "without us: $plain"$'\n'"with us: $with"
	elif [ "$got" != "$want" ]; then
		fail "$text" "$got calls seen, not $want; said: $with"$'\n'"$(cat "$dir"/*.check | grep -v '	missing	0		$' | head -20)"
	elif ! grep -q '^status 0$' <<<"$with"; then
		fail "$text" "$with"
	else
		pass "$text"
	fi
}

build() { # OUTPUT FLAGS...
	local out=$1
	shift
	"$compile" -x "$language" -g -O1 -Wall -D_GNU_SOURCE -D"LIB_$define" -fPIC -o "$out" "$@" -ldl -lpthread || {
		fail "$cc $kind: $out compiles"
		return 1
	}
}

make_all() {
	cd "$tmp/$cc-$kind" || return 1
	build libthing.so.1 -shared -DFACTOR=2 "$src/lib.c" -x none -Wl,-soname,libthing.so.1 &&
		build libthing.so.2 -shared -DFACTOR=3 "$src/lib.c" -x none -Wl,-soname,libthing.so.2 &&
		build libuser.so -shared "$src/user.c" -x none ./libthing.so.1 -Wl,-rpath,'$ORIGIN' &&
		build libuser2.so -shared "$src/user.c" -x none ./libthing.so.2 -Wl,-rpath,'$ORIGIN' &&
		build libearly.so -shared -DFROM_CONSTRUCTOR "$src/user.c" -x none ./libthing.so.1 -Wl,-rpath,'$ORIGIN' &&
		build libembed.so -shared -DFACTOR=5 "$src/user.c" "$src/lib.c" &&
		build libnoplt.so -shared -fno-plt "$src/user.c" -x none ./libthing.so.1 -Wl,-rpath,'$ORIGIN' &&
		build librelro.so -shared "$src/user.c" -x none ./libthing.so.1 -Wl,-rpath,'$ORIGIN' -Wl,-z,relro,-z,now &&
		build main "$src/main.c" -x none &&
		build linked -DLINKED "$src/main.c" -x none ./libthing.so.1 -Wl,-rpath,'$ORIGIN' &&
		build linked-noplt -fno-plt -DLINKED "$src/main.c" -x none ./libthing.so.1 -Wl,-rpath,'$ORIGIN' &&
		build linked-relro -DLINKED "$src/main.c" -x none ./libthing.so.1 -Wl,-rpath,'$ORIGIN' -Wl,-z,relro,-z,now
}

# One column.
column() {
	local here start=run
	mkdir -p "$tmp/$cc-$kind"
	make_all || return
	here=$PWD
	[ $kind = wrapped ] && start=preload
	way 'DT_NEEDED' 3 $start ./linked needed
	way 'DT_NEEDED, -fno-plt' 3 $start ./linked-noplt needed
	way 'DT_NEEDED, full RELRO' 3 $start ./linked-relro needed
	if [ $kind != wrapped ]; then
		way 'DT_NEEDED, plain LD_PRELOAD: out of reach' 0 preload ./linked needed
		like "$cc $kind: and reported" "$(grep -h "^$name" "$tmp"/check/*.check)" "libthing.so.1.loaded at program start, so it cannot be intercepted: start it with .probe run"
	fi
	way 'dlopen RTLD_LOCAL' 3 preload ./main local "$here/libuser.so"
	way 'dlopen RTLD_GLOBAL' 3 preload ./main global "$here/libuser.so"
	way 'dlopen, -fno-plt' 3 preload ./main local "$here/libnoplt.so"
	way 'dlopen, full RELRO' 3 preload ./main local "$here/librelro.so"
	way 'dlsym by handle' 3 preload ./main handle "$here/libthing.so.1"
	way 'RTLD_NEXT, dlopen RTLD_GLOBAL' 3 preload ./main next "$here/libthing.so.1"
	way 'RTLD_NEXT, DT_NEEDED' 3 $start ./linked next
	way 'two copies, by reference' 9 preload ./main two "$here/libuser.so" "$here/libuser2.so"
	way 'two copies, by handle' 6 preload ./main handles "$here/libthing.so.1" "$here/libthing.so.2"
	way 'a copy embedded in another library' 3 preload ./main local "$here/libembed.so"
	way 'an embedded copy beside the library' 9 preload ./main two "$here/libuser.so" "$here/libembed.so"
	way 'from a constructor' 2 preload ./main constructor "$here/libearly.so"
	way 'from atexit' 3 preload ./main atexit "$here/libuser.so"
	way 'from atexit, DT_NEEDED' 3 $start ./linked atexit
	way 'from a thread destructor' 3 preload ./main thread "$here/libuser.so"
	way 'from a thread destructor, DT_NEEDED' 3 $start ./linked thread
	way 'RTLD_DEEPBIND: out of reach' 0 preload ./main deepbind "$here/libuser.so"
	like "$cc $kind: and reported" "$(grep -h '^# note' "$tmp"/check/*.check)" '# note .*RTLD_DEEPBIND: calls from it .* cannot be intercepted'
	if [ $kind != method ]; then
		cat >"$tmp/c.py" <<-END
			import ctypes, sys
			f = getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2])
			a, b = (ctypes.c_float * 2)(1, 2), (ctypes.c_float * 2)()
			rest = [None] * 4 if "_" not in sys.argv[2][4:] and "nccl" in sys.argv[2] else [None] * 3
			print(f(a, b, ctypes.c_size_t(2), *(rest if "acme" not in sys.argv[2] else [0])), list(b))
		END
		way 'ctypes' 1 preload python3 "$tmp/c.py" "$here/libthing.so.1" "$name"
	fi
	if build static -static -DLINKED -DFACTOR=2 "$src/main.c" "$src/lib.c" 2>/dev/null; then
		like "$cc $kind: static: out of reach, and reported" "$("$probe" check ./static needed 2>&1)" 'problem: .*linked statically'
	else
		skip "$cc $kind: static" 'no static libc'
	fi
	cd "$root" || exit 2
}

root=$PWD
for cc in gcc clang; do
	for kind in wrapped function method; do
		case $kind in
		wrapped) define=$known language=c compile=$cc ;;
		function) define=C language=c compile=$cc ;;
		method) define=CXX language=c++ compile=$cc++ ;;
		esac
		[ "$compile" = gcc++ ] && compile=g++
		name=$(case $define in MPI) echo MPI_Allreduce ;; NCCL) echo ncclAllReduce ;; C) echo acme_allreduce ;; CXX) echo acme::Group::reduce ;; esac)
		if command -v "$compile" >/dev/null; then
			column
		else
			skip "$cc $kind" "no $compile"
		fi
	done
done
finish

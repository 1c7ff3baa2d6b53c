#!/usr/bin/env bash
# Runs every fuzzer of BUILD-DIR/fuzz for SECONDS seconds, two at a time, from real files as seeds. Corpora stay in
# BUILD-DIR/corpus and inputs that a fuzzer broke at in BUILD-DIR/found. Usage: tests/fuzz/run.sh BUILD-DIR SECONDS
set -u
B=$1
seconds=$2
command -v clang >/dev/null || { echo 'fuzzing needs clang' >&2; exit 2; }
mkdir -p "$B/found"

seed() { # FUZZER: real files of the kind that it reads
	local dir=$B/corpus/$1 f
	mkdir -p "$dir"
	case $1 in
	fuzz_config)
		cp configs/probe.yaml "$dir"
		# Other tools' configurations, from the page that walks through them.
		awk -v dir="$dir" 'match($0, /<!-- file: [^ ]+json -->/) { out = dir "/" substr($0, RSTART + 11, RLENGTH - 15); next }
			/^```/ { inside = !inside && out != ""; if (!inside) out = ""; next }
			inside { print >out }' docs/how-to/msprobe-walk.md ;;
	fuzz_ctl) printf 'effective_step: 240\nrun: "slurm 1.0"\nworld_size: 2\nwritten_ns: 17\nstep_interval: "10"\nearlier:\n  - effective_step: 120\n    dynamic_on: "false"\n' >"$dir/ctl.yaml" ;;
	fuzz_health)
		printf '{"rank": 1, "world_size": 2, "host": "h", "pid": 7, "begun_ns": 5}\n{"ckpt_name": "a.pt", "path": "/x/a.pt", "folder": false, "step": 3, "begun_ns": 9, "embedding_local_norm": 1.5, "threshold": 1.0, "is_health": 1, "why": ""}\n' >"$dir/rank1.jsonl"
		printf '[{"is_health": 0, "ckpt_name": "a.pt"},\n{"is_health": 1, "ckpt_name": "b"}]' >"$dir/list.json" ;;
	fuzz_mapping)
		printf 'Torch.add.0.forward.input.0: Torch.add.1.forward.input.0\n' >"$dir/data.yaml"
		printf 'TopLayer:\n  net: model\nNet:\n  a: b\n' >"$dir/layers.yaml" ;;
	fuzz_alerts)
		printf '{"rank": 0, "step": 3, "rule": "AnomalyNan", "kind": "grad_reduced", "name": "w", "value": NaN, "count": 2, "first_step": 3, "last_step": 5, "action": ["log", "exec"], "text": "x"}\n' >"$dir/alerts.jsonl"
		printf '{"0:w/rank0/post_grad_step_1_call_-1": {"rank": 0, "step": 1, "micro_step": 0, "pp_stage": 0, "vpp_stage": 0, "call_id": -1, "tag_name": "0:w/rank0/post_grad", "message": "m", "group_mates": [0]}}' >"$dir/anomaly.json" ;;
	fuzz_wraplist) cp configs/support_wrap_ops.yaml "$dir" ;;
	fuzz_spec) cp configs/apis/*.yaml "$dir" ;;
	fuzz_elf | fuzz_symbols | fuzz_cfi)
		echo 'int f(void) { return 1; } int g(int x) { return x + f(); }' >"$dir/seed.c"
		for f in gnu sysv; do
			cc -shared -fPIC -g1 -Wl,--build-id -Wl,--hash-style=$f -o "$dir/$f.so" "$dir/seed.c"
		done
		rm -f "$dir/seed.c"
		if [ $1 = fuzz_cfi ]; then
			objcopy -O binary -j .eh_frame_hdr -j .eh_frame "$dir/gnu.so" "$dir/cfi.bin" 2>/dev/null
			rm -f "$dir"/*.so
		elif [ $1 = fuzz_elf ]; then
			head -c 20000 /etc/ld.so.cache >"$dir/ld.so.cache" 2>/dev/null
		fi ;;
	fuzz_csv)
		printf 'step,seq,lib,api,op,comm,comm_seq,rank,io,index,dtype,count,min,max,start_ns,dur_ns,flags\n0,1,mpi,MPI_Allreduce,all_reduce,00000000000000ab,0,0,in,0,float32,4,-1.5,inf,100,20,"inplace;async"\n' >"$dir/rows.csv"
		gzip -c "$dir/rows.csv" >"$dir/rows.csv.gz" ;;
	fuzz_meta) printf '{"format": 1, "run": "x", "world_size": 2, "state": "running", "config": {"eps": 1e-8}, "losses": [{"kind": "journal_full", "text": "\\u00e9"}]}\n' >"$dir/meta.json" ;;
	esac
}

length() {
	case $1 in
	fuzz_journal) echo 400 ;;
	fuzz_config | fuzz_wraplist | fuzz_spec) echo 4096 ;;
	*) echo 20000 ;;
	esac
}

# Fuzzers that close their own stderr, because the code under test prints a lot there, still show libFuzzer's messages.
mask() { # FUZZER
	! grep -q 'freopen.*stderr' "tests/fuzz/$1.c" || echo -close_fd_mask=2
}

one() { # FUZZER
	local name=$1 log=$B/found/$1.log
	if "$B/fuzz/$name" -max_total_time="$seconds" -max_len="$(length $name)" -timeout=20 -rss_limit_mb=2048 -verbosity=1 \
		$(mask "$name") \
		-artifact_prefix="$B/found/$name-" "$B/corpus/$name" >"$log" 2>&1; then
		echo "ok - $name: $(sed -n 's/^Done \([0-9]* runs\).*/\1/p' "$log")"
	else
		echo "not ok - $name: see $log"
		grep -E '^(SUMMARY|.*not so:|.*runtime error)' "$log" | head -5 | sed 's/^/#   /'
		return 1
	fi
}

bad=0
jobs=()
finish_first() {
	wait "${jobs[0]}" || bad=1
	jobs=("${jobs[@]:1}")
}
for f in "$B"/fuzz/fuzz_*; do
	case $f in *.d) continue ;; esac
	seed "${f##*/}"
	one "${f##*/}" &
	jobs+=($!)
	[ ${#jobs[@]} -lt 2 ] || finish_first
done
while [ ${#jobs[@]} -gt 0 ]; do finish_first; done
exit $bad

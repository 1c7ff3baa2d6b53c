#!/usr/bin/env bash
# `probe compare --html`: the curves in the page are the rows of both folders, long ones without their extremes lost; the place where the
# runs diverge is known. tests/long/curves_browser.sh runs the page.
# beside: does not wait busily
# timeout: 600
. "$(dirname "$0")/lib.sh"

# Two runs of two ranks, as files: the loss parts at step 120, a parameter's norm at 150 on rank 1 alone.
python3 - "$tmp" <<'PY'
import json, math, os, sys
for run, shift in (("a", 0), ("b", 1)):
    for rank in (0, 1):
        d = f"{sys.argv[1]}/{run}/rank{rank}"
        os.makedirs(d)
        json.dump({"format": 1, "state": "finished", "owner": {"host": "h", "boot_id": "b", "pid_ns": 1, "pid": 7 + rank, "start_time": 1},
                   "journal_path": "", "run": "", "rank": rank, "world_size": 2, "rows": 1, "first_record_ns": 1, "last_record_ns": 9},
                  open(d + "/meta.json", "w"))
        for a in (0, 100):
            with open(f"{d}/scalars_{a}-{a + 99}.csv", "w") as f:
                f.write("step,name,value,wall_ns\n")
                for s in range(a, a + 100):
                    f.write(f"{s},loss,{1 / (1 + s) + (0.25 if shift and s >= 120 else 0)!r},1\n")
                    f.write(f"{s},</script><b>,{'nan' if s == 7 else s},1\n")
            with open(f"{d}/grad_reduced_{a}-{a + 99}.csv", "w") as f:
                f.write("vpp_stage,name,step,norm,nans,shape,dtype\n")
                for s in range(a, a + 100):
                    f.write(f'0,layers.0.weight,{s},{s * 0.5 + (3 if shift and rank and s >= 150 else 0)!r},0,"[2, 3]",float32\n')
            with open(f"{d}/calls_{a}-{a + 99}.csv", "w") as f:
                f.write("step,seq,lib,api,op,io,norm\n")
                for s in range(a, a + 100):
                    for k, norm in enumerate((3, 4)):
                        f.write(f"{s},{2 * s + k},mpi,MPI_Allreduce,all_reduce,out,{norm * (s + 1)}\n")
with open(sys.argv[1] + "/a/rank0/update_ratio_0-99999.csv", "w") as f:
    f.write("vpp_stage,name,step,value,shape,dtype\n")
    for s in range(20000):
        f.write(f"0,w,{s},{1e9 if s == 12345 else -5 if s == 777 else math.sin(s)!r},[1],float32\n")
# Long ones of both runs: a first difference that is no extreme, and a largest one; elsewhere extremes lie at other steps.
for run in "a", "b":
    with open(f"{sys.argv[1]}/{run}/rank1/update_ratio_0-99999.csv", "w") as f:
        f.write("vpp_stage,name,step,value,shape,dtype\n")
        for s in range(20000):
            v = math.sin(s)
            if run == "b" and s >= 5003:
                v += 1e-3 * math.cos(s) if s != 9001 else -v / 2
            if s == 5003:
                v = 0.125 if run == "a" else 0.25
            f.write(f"0,long,{s},{v!r},[1],float32\n")
PY
page() { # EXPRESSION over D, the data of the page, and of(name, side, rank)
	python3 - "$tmp/page.html" "$1" <<-'PY'
		import json, re, sys
		text = open(sys.argv[1]).read()
		D = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)[1])
		of = lambda n, s, r: next(dict(zip(c["x"], c["y"])) for c in D["curves"] if (c["n"], c["s"], c["r"]) == (n, s, r))
		print(eval(sys.argv[2]))
	PY
}
"$probe" compare --html "$tmp/page.html" "$tmp/a" "$tmp/b" >"$tmp/said" 2>&1
is 'status' $? 0
like 'the written file is reported' "$(cat "$tmp/said")" 'page.html: [0-9]+ curves of both runs, .*one file'
is 'names' "$(page 'sorted({c["n"] for c in D["curves"]})')" "['</script><b>', 'calls/all_reduce/out/norm', 'grad_reduced/layers.0.weight/nans', 'grad_reduced/layers.0.weight/norm', 'loss', 'update_ratio/long/value', 'update_ratio/w/value']"
is 'both sides and ranks' "$(page 'sorted((c["s"], c["r"]) for c in D["curves"] if c["n"] == "loss")')" '[(0, 0), (0, 1), (1, 0), (1, 1)]'
is 'values' "$(page 'all(abs(of("loss", 1, 1)[s] - (1 / (1 + s) + (0.25 if s >= 120 else 0))) < 1e-8 for s in range(200))')" True
is 'statistics of parameters' "$(page '[of("grad_reduced/layers.0.weight/norm", side, 1)[s] for side in (0, 1) for s in (149, 150)]')" '[74.5, 75, 74.5, 78]'
is 'of calls the norm over all of a step' "$(page 'all(of("calls/all_reduce/out/norm", 0, 0)[s] == 5 * (s + 1) for s in range(200))')" True
is 'values that are not finite are null' "$(page '[of("</script><b>", 0, 0)[s] for s in (6, 7, 8)]')" '[6, None, 8]'
is 'a long curve is thinned out, not its extremes' "$(page '(lambda u: (len(u) <= 4000, u[12345], u[777]))(of("update_ratio/w/value", 0, 0))')" '(True, 1000000000.0, -5)'
is 'of two long curves the same steps, and among them the first that differs' "$(page '(lambda a, b: (len(a) <= 8002, a.keys() == b.keys(), min(s for s in a if a[s] != b[s]), a[5003], b[5003]))(*(of("update_ratio/long/value", side, 1) for side in (0, 1)))')" '(True, True, 5003, 0.125, 0.25)'
"$probe" compare --html "$tmp/page.html" --series '^loss$' --rank 1 --step 5-9 "$tmp/a" "$tmp/b" >"$tmp/said" 2>&1
is 'a choice' "$(page '[(c["n"], c["s"], c["r"], c["x"]) for c in D["curves"]]')" "[('loss', 0, 1, [5, 6, 7, 8, 9]), ('loss', 1, 1, [5, 6, 7, 8, 9])]"
# A rank whose input has a NaN: the norm in the file is that of the other elements, and equal.
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$tmp/gen" tests/bench/gen_folder.c || { fail 'gen_folder.c compiles'; finish; }
"$tmp/gen" -r 4 -s 20 -c 2 -b 11:2 "$tmp/nan"
"$tmp/gen" -r 4 -s 20 -c 2 "$tmp/plain"
"$probe" compare --html "$tmp/page.html" "$tmp/nan" "$tmp/plain" >"$tmp/said" 2>&1
is 'a norm of values that are not numbers is none' \
	"$(page 'sorted({(c["s"], c["n"], x) for c in D["curves"] if c["r"] == 2 for x, y in zip(c["x"], c["y"]) if y is None and x <= 11})')" \
	"[(0, 'calls/all_reduce/in/norm', 11), (0, 'calls/all_reduce/out/norm', 11)]"
said=$("$probe" compare --html "$tmp/none/page.html" "$tmp/a" "$tmp/b" 2>&1)
is 'a folder that does not exist is an error, and is not made' "$? $said $(ls -d "$tmp/none" 2>/dev/null)" \
	"2 probe: $tmp/none/page.html: cannot be written: folder $tmp/none: No such file or directory "
"$probe" compare --html "$tmp/page.html" --series nothing "$tmp/a" "$tmp/b" >"$tmp/said" 2>&1
is 'nothing of that name' "$? $(grep -c 'no scalars' "$tmp/said")" '2 1'
"$probe" compare --html "$tmp/page.html" --series '(' "$tmp/a" "$tmp/b" >"$tmp/said" 2>&1
is 'no regular expression' "$? $(grep -c 'accepted: an extended' "$tmp/said")" '2 1'
finish

#!/usr/bin/env bash
# The table of layout facts: printed by `probe check`, and what was found of them in meta.json: verified with the libraries
# that are installed here, failed (and off, and no harm done) where a library says otherwise. Prints TAP.
# timeout: 300
# beside: does not wait busily
# root: writes the build folder
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh

facts() { # DIR: of its first rank
	python3 -c 'import glob, json, sys
print(json.dumps(json.load(open(sorted(glob.glob(sys.argv[1] + "/rank*/meta.json"))[0])).get("layout_facts", {})))' "$1"
}

table=$(sed -n 's/^\tX([A-Z_]*, "\([a-z.]*\)".*/\1/p' wrappers/layout_facts.h)
is 'the table has rows' "$([ "$(wc -w <<<"$table")" -ge 10 ] && echo yes)" yes
"$probe" check >"$tmp/check"
missing=
for f in $table; do
	grep -q "^ *$f  *unseen" "$tmp/check" || missing+=" $f"
done
is '`probe check` prints all of them' "$missing" ''
is 'and as JSON, each with versions, how it is verified and what is off without it' \
	"$("$probe" check --json | python3 -c 'import json, sys
f = json.load(sys.stdin)["layout_facts"]
print(*[x["name"] for x in f if x["versions"] and x["verified_by"] and x["off"] and x["state"] == "unseen"])')" "$(echo $table)"

for m in openmpi mpich; do
	[ -x "$B/apps/$m/mpi_contract_p2p" ] || {
		skip "$m" 'not installed'
		continue
	}
	new_out
	run_with $m 2 mpi_contract_p2p
	like "$m: handles and statuses are verified" "$(facts "$out")" '"mpi.handles": "verified".*"mpi.status": "verified"'
	unlike "$m: none failed" "$(facts "$out")" 'failed'
done
# A library in which no request of the built-in kind is complete: MPI is asked from then on, and all is as it was.
if [ -x "$B/apps/mpich/mpi_nonblocking" ]; then
	printf '%s\n' 'int PMPI_Request_get_status(int r, int *flag, void *s) { (void)r; (void)s; *flag = 0; return 0; }' >"$tmp/never.c"
	cc -shared -fPIC -o "$tmp/never.so" "$tmp/never.c"
	new_out
	run_with mpich 2 mpi_nonblocking
	like 'MPICH: such requests are met' "$(facts "$out")" '"mpi.requests": "verified"'
	run_plain mpich 2 mpi_nonblocking
	new_out
	run_with mpich 2 LD_PRELOAD="$lib:$tmp/never.so" mpi_nonblocking
	same_result 'a fact that does not hold'
	like 'it is called failed, with what is off' "$(facts "$out")" '"mpi.requests": "failed; off: [^"]*asked'
	# One whose answers contradict each other: communicators are off, the calls are recorded.
	printf '%s\n' 'int PMPI_Comm_rank(int c, int *r) { (void)c; *r = 99; return 0; }' >"$tmp/odd.c"
	cc -shared -fPIC -o "$tmp/odd.so" "$tmp/odd.c"
	run_plain mpich 2 mpi_contract_p2p
	new_out
	run_with mpich 2 LD_PRELOAD="$lib:$tmp/odd.so" mpi_contract_p2p
	same_result 'a rank that is none'
	like 'a rank that is none: failed, with what is off' "$(facts "$out")" '"mpi.handles": "failed; off: [^"]*communicators'
	is 'a rank that is none: calls are recorded, without communicators' "$(rows "$out" '{r["comm"] for r in R}, len(calls(R)) > 10')" "({''}, True)"
fi

torch_python 'PyTorch: layout facts'
. tests/e2e/kinds.sh
cat >"$tmp/all.py" <<'END'
import torch, torch.distributed as d
d.init_process_group("gloo")
n = d.get_world_size()
x = torch.ones(4, requires_grad=True)
y = torch.ones(4)
d.all_reduce(y)
d.broadcast(y, 0)
z = torch.zeros(2)
d.reduce_scatter(z, [torch.ones(2) for _ in range(n)])
(x * y).sum().backward()
# A training, of which kinds are looked at.
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
model = torch.nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(4):
    model(torch.ones(2, 4)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
d.destroy_process_group()
END
printf 'distributed:\n  - "*"\naten:\n  - aten::mul\n' >"$tmp/list.yaml"
new_out
torchrun_with 1 PROBE_WRAP_OPS="$tmp/list.yaml" PROBE_BACKWARD=true PROBE_KINDS="$all_kinds" "$tmp/all.py"
is "PyTorch $torch_version: ends well" $status 0
unlike "PyTorch $torch_version: none failed" "$(facts "$out")" failed
# This program does not use buckets with names, retained graphs or hooks of modules.
is "PyTorch $torch_version: its facts are verified, but those that nothing here depends on" "$(facts "$out" | python3 -c 'import json, sys
seen = {k for k, v in json.load(sys.stdin).items() if v == "verified" and k.split(".")[0] in ("torch", "python")}
print(sorted(seen | {"torch.bucket", "torch.graph", "torch.module"}))')" \
	"$(tr ' ' '\n' <<<"$table" | grep -E '^(torch|python)\.' | sort | python3 -c 'import sys; print(sys.stdin.read().split())')"
finish

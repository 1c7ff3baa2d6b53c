#!/usr/bin/env bash
# Numbers of steps that all ranks of a model must have alike (learning rate, loss scale, norm of the clipping): no mean of different ones is
# shown, but the smallest and the largest, with their ranks; in the text, in JSON, on the page, in TensorBoard's files.
. "$(dirname "$0")/lib.sh"

cat >"$tmp/make.py" <<'PY'
import sys
sys.path.insert(0, "tests/e2e")
from report_folder import Rank

SCALARS = {"loss": [(1, 3), (2, 4), (3, 5)], "loss-scale": [(1024, 1024), (1024, 1024), (512, 1024)], "grad-norm": [(2.68, 3.81), (2.5, 2.5), ("nan", 1)],
           "learning-rate/group0": [(1e-3, 1e-3)] * 3, "learning-rate/group1": [(1e-4, 1e-4), (1e-4, 2e-4), (1e-4, 1e-4)]}
for rank in 0, 1:
    r = Rank(sys.argv[1], rank, 2)
    for step in range(3):
        r.call("all_reduce", [("in", {})], start=step * 1000, step=step, comm_seq=step)
    r.write()
    with open(f"{r.dir}/scalars_0-99.csv", "w") as f:
        print("step,name,value,wall_ns", *(f"{step},{name},{of[step][rank]},0" for step in range(3) for name, of in SCALARS.items()), sep="\n", file=f)
PY
PYTHONDONTWRITEBYTECODE=1 python3 "$tmp/make.py" "$tmp/run"
text=$("$probe" report "$tmp/run" | sed -n '/^Numbers of the last steps/,/^$/p')
line() { grep "^  $1 " <<<"$text" | tr -s ' '; }
is 'loss_of_ranks_is_a_mean' "$(line loss/mean)" ' loss/mean 2 3 4'
is 'loss_scales_that_part_show_the_smallest' "$(line loss-scale/min)" ' loss-scale/min 1024 1024 512 (0)'
is 'loss_scales_that_part_show_the_largest' "$(line loss-scale/max)" ' loss-scale/max 1024 1024 1024 (1)'
is 'norms_that_clip_differently_show_both' "$(line grad-norm/min)$(line grad-norm/max)" ' grad-norm/min 2.68 (0) 2.5 1 (1) grad-norm/max 3.81 (1) 2.5 nan (0)'
is 'a_learning_rate_that_all_have_is_one_number' "$(line learning-rate/group0)" ' learning-rate/group0 0.001 0.001 0.001'
is 'the_group_whose_rates_differ_shows_both' "$(line learning-rate/group1/max)" ' learning-rate/group1/max 0.0001 0.0002 (1) 0.0001'
unlike 'no_mean_of_what_must_be_equal' "$text" '(loss-scale|grad-norm|learning-rate/group[01])/mean|768'
is 'json_has_no_mean_of_numbers_that_differ' "$("$probe" report --json -s 0-2 "$tmp/run" | python3 -c '
import json, sys
for s in json.load(sys.stdin)["scalars"]:
    if s["name"] == "loss-scale" and s["step"] > 0 or s["name"] == "loss" and s["step"] == 0:
        print(s["name"], s["step"], s["mean"], s["min"], s["max"], s["lowest"], s["highest"])')" \
	"loss 0 2 1 3 rank 0 rank 1
loss-scale 1 1024 1024 1024 rank 0 rank 0
loss-scale 2 None 512 1024 rank 0 rank 1"
ok 'export' "$probe" export --format tensorboard -o "$tmp/tb" "$tmp/run"
is 'tensorboard_has_the_smallest_and_the_largest' "$(python3 tests/e2e/tfevents.py "$tmp/tb/mean" 'sorted(t for t in S if not t.startswith("learning")), S["loss-scale/min"], S["loss-scale/max"]')" \
	"(['grad-norm/max', 'grad-norm/min', 'loss-scale/max', 'loss-scale/min', 'loss/mean'], [(0, 1024.0), (1, 1024.0), (2, 512.0)], [(0, 1024.0), (1, 1024.0), (2, 1024.0)])"
ok 'page' "$probe" report --html "$tmp/page.html" "$tmp/run"
like 'the_page_has_no_mean_of_numbers_that_differ' "$(cat "$tmp/page.html")" '"equal":true,"name":"loss-scale","points":\[\[1024,1024,1024\],\[1024,1024,1024\],\[null,512,1024\]'
finish

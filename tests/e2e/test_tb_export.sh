#!/usr/bin/env bash
# `probe export --format tensorboard` of folders as msprobe's monitor writes them: tags, steps and values of its
# csv2tensorboard_by_step and of its format tensorboard, read by tests/e2e/tfevents.py.
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
events() {
	python3 tests/e2e/tfevents.py "$@"
}
mon=$tmp/monitor
folder() { # TIME RANK
	local d=$mon/$1-rank$2-0badcafe
	mkdir -p "$d"
	printf 'vpp_stage,name,step,min,max,norm,nans,shape,dtype\n0,fc.weight,0,-1.5,2,3.25,0,"[4, 2]",torch.float32\n0,fc.weight,1,nan,nan,nan,7,"[4, 2]",torch.float32\n' >"$d/grad_reduced_0-1.csv"
	printf 'vpp_stage,name,step,min,max,norm,nans,shape,dtype\n0,fc.weight,10,1,2,3,0,"[4, 2]",torch.float32\n' >"$d/grad_reduced_10-11.csv"
	printf 'vpp_stage,name,step,min,max,norm,nans,shape,dtype\n0,fc.weight,2,-1,%s,4,0,"[4, 2]",torch.float32\n' "$2" >"$d/grad_reduced_2-3.csv"
	printf 'vpp_stage,name,step,micro_step,norm,shape,dtype\n1,m.input,0,0,1,[4],torch.float32\n1,m.input,0,1,2,[4],torch.float32\n' >"$d/actv_0-1.csv"
	printf 'vpp_stage,name,step,norm,shape,dtype\n0,x,0,1,[4],torch.float32\n' >"$d/other_0-1.csv"
}
folder Nov21_10-00-00 0
folder Nov21_10-00-00 1
folder Nov22_11-30-59 2
ok 'a monitor folder' "$probe" export --format tensorboard -o "$tmp/a" "$mon"
is 'a folder for each rank and kind' "$(cd "$tmp/a" && echo */*)" 'rank0/actv rank0/grad_reduced rank1/actv rank1/grad_reduced rank2/actv rank2/grad_reduced'
is 'tags, steps and values' "$(events "$tmp/a/rank1/grad_reduced" "sorted(S), S['vp0:fc.weight/max']")" \
	"(['vp0:fc.weight/max', 'vp0:fc.weight/min', 'vp0:fc.weight/nans', 'vp0:fc.weight/norm'], [(0, 2.0), (1, nan), (2, 1.0), (10, 2.0)])"
is 'micro steps' "$(events "$tmp/a/rank0/actv" S)" "{'vp1:m.input:micro0/norm': [(0, 1.0)], 'vp1:m.input:micro1/norm': [(0, 2.0)]}"
ok 'layout live' "$probe" export --format tensorboard --layout live --kinds actv,grad_reduced -o "$tmp/b" "$mon"
is 'live: tags of the monitor' "$(events "$tmp/b/rank2" "[t for t in sorted(S) if 'norm' in t]")" \
	"['0:fc.weight/rank2/post_grad_norm', '1:m.input:0/rank2/actv_norm', '1:m.input:1/rank2/actv_norm']"
ok 'from and to are included' "$probe" export --format tensorboard --from Nov22_11-30-59 --to Nov22_11-30-59 --kinds actv -o "$tmp/c" "$mon"
is 'of the later run alone, one kind' "$(cd "$tmp/c" && echo */*)" 'rank2/actv'
wrong() { # TEXT PATTERN ARGUMENTS...
	local text=$1 pattern=$2 said
	shift 2
	said=$("$probe" export --format tensorboard "$@" 2>&1)
	like "$text" "$? $said" "^2 .*$pattern"
}
wrong 'no run at that time' 'no folder with the selected ranks and times' --from Dec01_00-00-00 "$mon"
wrong 'a time that is none' 'accepted: a time such as' --from yesterday "$mon"
wrong 'a kind that is none' 'accepted: actv' --kinds grads "$mon"
wrong 'a layout that is none' 'accepted: live, csv2tb' --layout x "$mon"
wrong 'nothing is overwritten' 'exists already' -o "$tmp/a" "$mon"
cp "$mon"/Nov21_10-00-00-rank0-*/grad_reduced_0-1.csv "$mon/Nov22_11-30-59-rank2-0badcafe/grad_reduced_4-5.csv"
wrong 'a step that is there twice' 'step 0 twice' -o "$tmp/d" "$mon"

# Numbers of steps over the ranks that have one: a run beside those of the ranks.
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$tmp/gen" tests/bench/gen_folder.c
"$tmp/gen" -r 3 -s 4 -c 2 -g 3 "$tmp/run"
for r in 0 1 2; do
	printf 'step,name,value,wall_ns\n0,loss,%s,0\n1,loss,%s,0\n0,iteration-time,2.5,0\n' $((r + 1)) $((r * 10)) >"$tmp/run/rank$r/scalars_0-99.csv"
done
sed -i /loss/d "$tmp/run/rank2/scalars_0-99.csv"
ok 'a run of three ranks' "$probe" export --format tensorboard -o "$tmp/e" "$tmp/run"
is 'a folder for each rank and one for the means' "$(cd "$tmp/e" && echo *)" 'mean rank_0 rank_1 rank_2'
is 'loss/mean is over the ranks that have one' "$(events "$tmp/e/mean" 'sorted(S.items())')" "[('iteration-time/mean', [(0, 2.5)]), ('loss/mean', [(0, 1.5), (1, 5.0)])]"
ok 'of some steps' "$probe" export --format tensorboard --step 1 -o "$tmp/f" "$tmp/run"
is 'the means, too' "$(events "$tmp/f/mean" S)" "{'loss/mean': [(1, 5.0)]}"
ok 'some ranks' "$probe" export --format tensorboard --rank 0-1 -o "$tmp/g" "$tmp/run"
ok 'the others into the same folder' "$probe" export --format tensorboard --rank 2 -o "$tmp/g" "$tmp/run"
ok 'two more of them' "$probe" export --format tensorboard --rank 0,2 -o "$tmp/h" "$tmp/run"
ok 'and again' "$probe" export --format tensorboard --rank 1 -o "$tmp/h" "$tmp/run"
is 'means are those of all ranks: of some there are none' "$(cd "$tmp" && echo g/* h/*)" 'g/rank_0 g/rank_1 g/rank_2 h/rank_0 h/rank_1 h/rank_2'
wrong 'nothing is overwritten there either' 'exists already' -o "$tmp/e" "$tmp/run"
finish

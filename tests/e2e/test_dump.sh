#!/usr/bin/env bash
# Dumps (format: [dump]): the three files and the tensors against what Python kept itself, and export of the CSV files.
# timeout: 1200
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: dumps'

app=tests/apps/py/dumped.py
truth=$tmp/truth
mkdir -p "$truth"
torchrun_plain 2 $app "$truth"

check_dump() { # TEXT FOLDER FORM SUMMARY
	ok "$1: as Python kept it" "$python" tests/e2e/dump_truth.py "$2" "$truth" "$3" "$4" "$app"
}

dump_with() { # TEXT FORM SUMMARY [NAME=VALUE ...]
	local text=$1 form=$2 summary=$3
	shift 3
	new_out
	torchrun_with 2 PROBE_FORMAT=csv,dump "$@" $app "$truth"
	same_output "$text"
	check_dump "$text" "$out" "$form" "$summary"
	is "$text: nothing is left over" "$(cd "$out" && find . -name '.dump*' -o -name '*.part' -o -name '*.tmp' | wc -l)" 0
}

dump_with 'tensors' pt none PROBE_TASK=tensor
dump_with 'npy, CRC' npy md5 PROBE_TASK=tensor PROBE_FILE_FORMAT=npy PROBE_SUMMARY_MODE=md5
dump_with 'statistics' none none
# The CSV files can become a dump, too.
ok 'export' "$probe" export --format dump -o "$tmp/exported" "$out"
is 'export: the same calls' "$(for r in 0 1; do "$python" -c '
import json, sys
a, b = (json.load(open(f))["data"] for f in sys.argv[1:])
print(list(a) == list(b))' "$tmp/exported/step0/rank$r/dump.json" "$out/step0/rank$r/dump.json"; done)" "$(printf 'True\nTrue')"
was=$out
# Files of another run are moved, not overwritten.
torchrun_with 2 PROBE_FORMAT=dump PROBE_SUMMARY_MODE=xor $app "$truth"
check_dump 'xor, beside an older one' "$was" none xor
is 'the older one is kept' "$(cd "$was" && ls step0.1)" "$(printf 'rank0\nrank1')"
entries() { "$python" -c 'import json, sys; print([list(json.load(open(f))["data"]) for f in sys.argv[1:]])' "$out"/step0/rank[01]/dump.json; }
new_out
torchrun_with 2 PROBE_FORMAT=dump PROBE_TASK=overflow_check $app "$truth"
is 'overflow_check: finite inputs whose outputs are not' "$(entries)" "[['Distributed.all_reduce.7.forward'], ['Distributed.all_reduce.7.forward']]"
new_out
torchrun_with 2 PROBE_FORMAT=dump PROBE_SUMMARY_MODE=md5 $app "$truth"
mv "$out" "$tmp/bench"
new_out
torchrun_with 2 PROBE_FORMAT=dump PROBE_TASK=diff_check PROBE_BENCH_PATH="$tmp/bench" $app "$truth" other
is 'diff_check: the same inputs, other outputs' "$(entries)" "[['Distributed.all_reduce.6.forward'], []]"
is 'diff_check: saves what differs, and only that' "$(cd "$out" && find . -name 'D*.pt' | sort)" \
	"./step0/rank0/dump_tensor_data/Distributed.all_reduce.6.forward.input.0.pt
./step0/rank0/dump_tensor_data/Distributed.all_reduce.6.forward.output.0.pt"
new_out
torchrun_with 2 PROBE_FORMAT=dump PROBE_LIST=broadcast PROBE_TENSOR_LIST=broadcast PROBE_DATA_MODE=output $app "$truth"
is 'list, data_mode, tensor_list: these alone' "$(cd "$out/step0/rank1" && find . -name 'D*.pt' && "$python" -c '
import json
d = json.load(open("dump.json"))["data"]
print(list(d), [list(v) for v in d.values()])')" "./dump_tensor_data/Distributed.broadcast.0.forward.output.0.pt
['Distributed.broadcast.0.forward'] [['output']]"
finish

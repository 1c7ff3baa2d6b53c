#!/usr/bin/env bash
# torch_npu's process group, c10d_npu::ProcessGroupHCCL: the names of torch_npu 2.14.0 (libtorch_npu.so, whose library cannot be loaded
# without Ascend's runtime) in a library of our own, loaded as Python loads it. TORCH_NPU: a libtorch_npu.so whose names are compared.
# Prints TAP.
# timeout: 60
. "$(dirname "$0")/lib.sh"
if ! command -v cc >/dev/null; then
	skip 'torch_npu' 'no compiler'
	finish
fi
names=(
	_ZN8c10d_npu16ProcessGroupHCCL9broadcastERSt6vectorIN2at6TensorESaIS3_EERKN4c10d16BroadcastOptionsE
	_ZN8c10d_npu16ProcessGroupHCCL9allreduceERSt6vectorIN2at6TensorESaIS3_EERKN4c10d16AllreduceOptionsE
	_ZN8c10d_npu16ProcessGroupHCCL19allreduce_coalescedERSt6vectorIN2at6TensorESaIS3_EERKN4c10d25AllreduceCoalescedOptionsE
	_ZN8c10d_npu16ProcessGroupHCCL6reduceERSt6vectorIN2at6TensorESaIS3_EERKN4c10d13ReduceOptionsE
	_ZN8c10d_npu16ProcessGroupHCCL9allgatherERSt6vectorIS1_IN2at6TensorESaIS3_EESaIS5_EERS5_RKN4c10d16AllgatherOptionsE
	_ZN8c10d_npu16ProcessGroupHCCL15_allgather_baseERN2at6TensorES3_RKN4c10d16AllgatherOptionsE
	_ZN8c10d_npu16ProcessGroupHCCL31allgather_into_tensor_coalescedERSt6vectorIN2at6TensorESaIS3_EES6_RKN4c10d16AllgatherOptionsE
	_ZN8c10d_npu16ProcessGroupHCCL6gatherERSt6vectorIS1_IN2at6TensorESaIS3_EESaIS5_EERS5_RKN4c10d13GatherOptionsE
	_ZN8c10d_npu16ProcessGroupHCCL7scatterERSt6vectorIN2at6TensorESaIS3_EERS1_IS5_SaIS5_EERKN4c10d14ScatterOptionsE
	_ZN8c10d_npu16ProcessGroupHCCL14reduce_scatterERSt6vectorIN2at6TensorESaIS3_EERS1_IS5_SaIS5_EERKN4c10d20ReduceScatterOptionsE
	_ZN8c10d_npu16ProcessGroupHCCL20_reduce_scatter_baseERN2at6TensorES3_RKN4c10d20ReduceScatterOptionsE
	_ZN8c10d_npu16ProcessGroupHCCL31reduce_scatter_tensor_coalescedERSt6vectorIN2at6TensorESaIS3_EES6_RKN4c10d20ReduceScatterOptionsE
	_ZN8c10d_npu16ProcessGroupHCCL8alltoallERSt6vectorIN2at6TensorESaIS3_EES6_RKN4c10d15AllToAllOptionsE
	_ZN8c10d_npu16ProcessGroupHCCL13alltoall_baseERN2at6TensorES3_RSt6vectorIlSaIlEES7_RKN4c10d15AllToAllOptionsE
	_ZN8c10d_npu16ProcessGroupHCCL4sendERSt6vectorIN2at6TensorESaIS3_EEii
	_ZN8c10d_npu16ProcessGroupHCCL4recvERSt6vectorIN2at6TensorESaIS3_EEii
	_ZN8c10d_npu16ProcessGroupHCCL13recvAnysourceERSt6vectorIN2at6TensorESaIS3_EEi
	_ZN8c10d_npu16ProcessGroupHCCL7barrierERKN4c10d14BarrierOptionsE
)
if [ -n "${TORCH_NPU:-}" ]; then
	is "each name is exported by $TORCH_NPU" "$(printf '%s\n' "${names[@]}" | grep -vxFf <(nm -D --defined-only "$TORCH_NPU" | awk '{print $3}'))" ''
fi
{
	# Objects are returned by an address that is handed over out of sight.
	for n in "${names[@]}" _ZN8c10d_npu16ProcessGroupHCCL11getHcclCommEi _ZN8c10d_npu12NPUCallback9broadcastEi; do
		printf 'void *%s(void *object) { return object; }\n' "$n"
	done
} >"$tmp/npu.c"
cat >"$tmp/main.c" <<-'C'
	#include <dlfcn.h>
	int main(int argc, char **argv)
	{
		void *h = dlopen(argv[1], RTLD_NOW), *out[64] = {0};
		for (int i = 2; h && i < argc; i++)
			((void *(*)(void *, void *, void *, void *, void *, void *))dlsym(h, argv[i]))(out, out, out, out, out, out);
		return !h;
	}
C
cc -shared -fPIC -w -o "$tmp/libtorch_npu.so" "$tmp/npu.c" && cc -w -o "$tmp/main" "$tmp/main.c" -ldl || finish
methods() { # [LIST]
	env ${1:+PROBE_WRAP_OPS="$1"} "$probe" check --json -- "$tmp/main" "$tmp/libtorch_npu.so" "${names[0]}" "${names[0]}" 2>"$tmp/err" >"$tmp/check.json"
	python3 - "$tmp/check.json" <<-'PY'
		import json, sys
		text = open(sys.argv[1]).read()
		r = json.loads(text[text.index("\n{\n") + 1 if not text.startswith("{") else 0:])
		f = {x["name"]: x for x in r["functions"] if "c10d_npu" in x["name"] and x["state"] == "ok"}
		print(len(f), sum(x["hits"] for x in f.values()), *sorted(n.split("::")[-1] for n in f)[:3])
	PY
}
is 'the shipped list selects each collective and message' "$(methods)" "${#names[@]} 2 _allgather_base _reduce_scatter_base allgather"
printf 'c10d:\n  - c10d_npu::ProcessGroupHCCL::allreduce\n  - c10d::ProcessGroupGloo::broadcast\n' >"$tmp/one.yaml"
is 'by its own name' "$(methods "$tmp/one.yaml")" '1 0 allreduce'
# A list of msprobe's: names of torch.distributed, and of torch_npu's own.
printf 'distributed:\n  - all_reduce\n  - gather\ntorch_npu:\n  - npu_rotary_mul\nmindspeed:\n  - npu_fusion_attention\n' >"$tmp/msprobe.yaml"
is "by msprobe's names" "$(methods "$tmp/msprobe.yaml")" '3 0 allreduce allreduce_coalesced gather'
printf 'npu_distributed:\n  - all_reduce\n' >"$tmp/npu.yaml"
is "by msprobe's section npu_distributed" "$(methods "$tmp/npu.yaml")" '2 0 allreduce allreduce_coalesced'
finish

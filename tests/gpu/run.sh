#!/usr/bin/env bash
# What can only be seen on a machine with an NVIDIA GPU, at world size 1: tests/gpu/run.sh [FOLDER]
#
#   nccl   the real NCCL (nccl_gpu.c): results with and without the preload, device: off and copy; a CUDA graph
#   torch  PyTorch with the nccl backend (torch_gpu.py), the same
#
# Needs gcc, CUDA with headers or the pip packages nvidia-cuda-runtime-cu12, nvidia-cuda-nvcc-cu12 and nvidia-nccl-cu12, and for the
# second part PyTorch with CUDA. Prints TAP and, at the end, the lines for RESULTS.md. Run `make` before.
set -u
cd "$(dirname "$0")/../.." || exit 2
B=${B:-build}
lib=$(realpath "$B/libprobe.so")
tmp=${1:-$(mktemp -d)}
mkdir -p "$tmp"
n=0 bad=0
result() { # TEXT OK
	n=$((n + 1))
	if [ "$2" = 0 ]; then echo "ok $n - $1"; else
		echo "not ok $n - $1"
		bad=1
	fi
}

skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

command -v nvidia-smi >/dev/null && nvidia-smi -L >"$tmp/gpus" 2>&1 || {
	skip 'a GPU' 'nvidia-smi finds none'
	echo "1..$n"
	exit 0
}
export RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=29511

# Folders of headers and libraries: the system's, else those of the pip packages.
site=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null)
first() {
	local f
	for f in "$@"; do [ -e "$f" ] && echo "$f" && return; done
	return 1
}
cuda_h=$(first /usr/local/cuda/include/cuda_runtime.h "$site/nvidia/cuda_runtime/include/cuda_runtime.h")
cudart=$(first /usr/local/cuda/lib64/libcudart.so.12 /usr/local/cuda/lib64/libcudart.so "$site/nvidia/cuda_runtime/lib/libcudart.so.12")
nccl_h=$(first /usr/include/nccl.h "$site/nvidia/nccl/include/nccl.h")
nccl=$(first /usr/lib/x86_64-linux-gnu/libnccl.so.2 "$site/nvidia/nccl/lib/libnccl.so.2")

compare() { # NAME COMMAND...: without, off, copy
	local name=$1 w
	shift
	"$@" >"$tmp/$name.plain" 2>"$tmp/$name.plain.err"
	result "$name: runs" $?
	for w in off copy; do
		rm -rf "$tmp/$name.$w.out"
		LD_PRELOAD=$lib PROBE_OUTPUT_DIR=$tmp/$name.$w.out PROBE_DEVICE=$w "$@" >"$tmp/$name.$w" 2>"$tmp/$name.$w.err"
		cmp -s "$tmp/$name.plain" "$tmp/$name.$w"
		result "$name, device: $w: the same output" $?
		! grep -q libprobe "$tmp/$name.$w.err"
		result "$name, device: $w: nothing is said" $?
		python3 tests/e2e/check_output.py "$tmp/$name.$w.out" --partial >"$tmp/$name.$w.contract" 2>&1
		result "$name, device: $w: the files keep to the contract" $?
	done
	! python3 tests/e2e/rows.py "$tmp/$name.off.out" '[r["api"] for r in R if r["max"]]' | grep -q nccl
	result "$name, device: off: no buffer on the device is measured" $?
	python3 tests/gpu/figures.py "$tmp/$name.copy.out" "$tmp/$name.copy"
	result "$name, device: copy: figures are those that the program computed itself" $?
}

if [ -n "$cuda_h" ] && [ -n "$cudart" ] && [ -n "$nccl_h" ] && [ -n "$nccl" ] &&
	cc -std=gnu11 -O1 -g -D_GNU_SOURCE -D__CUDA_FP16_H__ -D__CUDA_BF16_H__ -I"$(dirname "$cuda_h")" -I"$site/nvidia/cuda_nvcc/include" -I"$(dirname "$nccl_h")" -o "$tmp/nccl_gpu" tests/gpu/nccl_gpu.c "$nccl" "$cudart" \
		-Wl,-rpath,"$(dirname "$nccl")" -Wl,-rpath,"$(dirname "$cudart")" -lm; then
	compare nccl "$tmp/nccl_gpu"
else
	skip nccl 'no CUDA runtime, no nccl.h, or it does not compile'
fi
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	compare torch python3 tests/gpu/torch_gpu.py
else
	skip torch 'no PyTorch with CUDA'
fi
echo "1..$n"
{
	echo
	echo "| $(sed 's/ (UUID.*//' "$tmp/gpus" | head -1) | $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1) | $n checks | $([ $bad = 0 ] && echo all passed || echo FAILURES) |"
} | sed 's/^/# /'
exit $bad

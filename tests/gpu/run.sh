#!/usr/bin/env bash
# What can only be seen on a machine with an NVIDIA GPU, at world size 1: tests/gpu/run.sh [FOLDER [PART ...]]
#
# In half an hour, in this order; each line takes less than 10 minutes:
#   tests/gpu/run.sh /tmp/gpu kernel sanitizer host waits nccl cublas
#   tests/gpu/run.sh /tmp/gpu step eager nan kinds
#   HOWS="auto nan" tests/gpu/run.sh /tmp/gpu collectives operators graph train
#   HOWS="auto nan" tests/gpu/run.sh /tmp/gpu fsdp compile
# then presets, profiler, gloo, and the other HOWS. Add what lines with "#" and "not ok" say to RESULTS.md.
#
#   kernel   the kernel of device: auto alone (kernel_gpu.c): every type against a reference, its rate, what a launch takes
#   sanitizer  the same under compute-sanitizer, where it is installed
#   host     what a collective takes of the host, off and auto (nccl_gpu.c)
#   waits    how often libprobe calls each function of the driver: 1,000 collectives add no call that may wait (driver_counts.py)
#   nccl     the real NCCL (nccl_gpu.c): results with and without the preload, device: off, copy and auto; a CUDA graph
#   cublas   the real cuBLAS (cublas_gpu.c), the same
#   step     a transformer's step of 100 ms: off, auto, all operators, nan, nan by copies; the ratios (torch_gpu.py)
#   eager    PyTorch's own functions, for comparison with the rates of part kernel
#   kinds    parameters, gradients, optimizer states, activations, losses and norms against the program's own (tests/apps/torch_device.py)
#   collectives operators train fsdp compile graph presets nan profiler gloo
#            PyTorch with the nccl backend (torch_gpu.py). HOWS: of off, auto, copy, nan, nancopy
#
# Needs gcc, CUDA with headers or the pip packages of its runtime, of cuBLAS and of NCCL (nvidia-...-cu12, -cu13), and for the last part
# PyTorch with CUDA. Prints TAP and, on lines that begin with "#", figures for RESULTS.md. Run `make all build/libcore.a` before. Each
# run's files stay in FOLDER. LIMIT: seconds that a program may run (100). tests/e2e/test_gpu_run.sh runs it on stand-ins.
set -u
cd "$(dirname "$0")/../.." || exit 2
B=${B:-build}
lib=$(realpath "$B/libprobe.so")
probe=$(realpath "$B/probe")
tmp=${1:-$(mktemp -d)}
mkdir -p "$tmp"
[ $# -eq 0 ] || shift
all='kernel sanitizer host waits nccl cublas step eager collectives operators train fsdp compile graph presets nan kinds profiler gloo'
parts=${*:-$all}
limit=${LIMIT:-100}
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
echo "# $(head -1 "$tmp/gpus" | sed 's/ (UUID.*//'), driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1)"
export RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=29511 CUBLAS_WORKSPACE_CONFIG=:4096:8

# Folders of headers and libraries: the system's, else those of the pip packages.
site=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null)
first() {
	local f
	for f in "$@"; do [ -e "$f" ] && echo "$f" && return; done
	return 1
}
cuda_h=$(first /usr/local/cuda/include/cuda_runtime.h "$site"/nvidia/{cuda_runtime,cu13}/include/cuda_runtime.h)
cudart=$(first /usr/local/cuda/lib64/libcudart.so.1[23] /usr/local/cuda/lib64/libcudart.so "$site"/nvidia/{cuda_runtime,cu13}/lib/libcudart.so.1[23])
cublas_h=$(first /usr/local/cuda/include/cublas_v2.h "$site"/nvidia/{cublas,cu13}/include/cublas_v2.h)
cublas=$(first /usr/local/cuda/lib64/libcublas.so.1[23] "$site"/nvidia/{cublas,cu13}/lib/libcublas.so.1[23])
nccl_h=$(first /usr/include/nccl.h "$site/nvidia/nccl/include/nccl.h")
nccl=$(first /usr/lib/x86_64-linux-gnu/libnccl.so.2 "$site/nvidia/nccl/lib/libnccl.so.2")

# One run under the preload: the same output as the plain one, nothing said (but that the device does not keep up with small
# operators), files that keep to the contract.
with() { # NAME HOW [VARIABLE=VALUE ...] -- COMMAND...
	local name=$1 how=$2 set=()
	shift 2
	while [ "$1" != -- ]; do
		set+=("$1")
		shift
	done
	shift
	rm -rf "$tmp/$name.$how.out"
	env "${set[@]}" LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$tmp/$name.$how.out" timeout "$limit" "$@" >"$tmp/$name.$how" 2>"$tmp/$name.$how.err"
	cmp -s "$tmp/$name.plain" "$tmp/$name.$how"
	result "$name, $how: the same output" $?
	grep 'launches pending' "$tmp/$name.$how.err" | sed 's/^/# /'
	! grep libprobe "$tmp/$name.$how.err" | grep -v 'launches pending' | sed 's/^/# /' | grep .
	result "$name, $how: nothing is reported" $?
	python3 tests/e2e/check_output.py "$tmp/$name.$how.out" --partial >"$tmp/$name.$how.contract" 2>&1
	result "$name, $how: the files keep to the contract" $?
	grep 'a step$' "$tmp/$name.$how.err" | sed "s/^/# $name, $how: /"
	python3 tests/e2e/rows.py "$tmp/$name.$how.out" '"# %d rows of tensors, %d measured" % (sum(r["io"] != "" for r in R), sum(r["max"] != "" or r["nans"] != "" for r in R))'
}

plain() { # NAME COMMAND...
	local name=$1
	shift
	timeout "$limit" "$@" >"$tmp/$name.plain" 2>"$tmp/$name.plain.err"
	result "$name: runs" $?
	grep 'a step$' "$tmp/$name.plain.err" | sed "s/^/# $name: /"
}

# Compares two numbers: A at most FACTOR times B.
at_most() { # TEXT A FACTOR B
	echo "# $1: $2, of $4"
	awk -v a="$2" -v f="$3" -v b="$4" 'BEGIN { exit !(a != "" && b != "" && a <= f * b) }'
	result "$1: at most $3 of it" $?
}

# Of rates that kernel_gpu prints: those at less than the share of the bandwidth that their type must have.
slow_types() {
	awk '$4 == "GB/s," { least = $2 == "float32" ? 85 : $2 ~ /16$/ ? 70 : $2 ~ /^u?int8$|^float8|^bool$/ ? 40 : 0; if ($5 < least) print $2, $5 "%" }' "$1"
}

figures() { # NAME HOW
	python3 tests/gpu/figures.py "$tmp/$1.$2.out" "$tmp/$1.$2"
	result "$1, $2: figures are those that the program computed itself" $?
}

compare() { # NAME PATTERN-OF-APIS VARIABLE=VALUE -- COMMAND...: without, off, copy
	local name=$1 apis=$2 variable=$3
	shift 4
	plain "$name" "$@"
	with "$name" off "$variable" PROBE_DEVICE=off -- "$@"
	with "$name" copy "$variable" PROBE_DEVICE=copy -- "$@"
	with "$name" auto "$variable" PROBE_DEVICE=auto -- "$@"
	! grep -q 'not measured\|no longer measured' "$tmp/$name.auto.err"
	result "$name, auto: the driver takes the kernel" $?
	! python3 tests/e2e/rows.py "$tmp/$name.off.out" '[r["api"] for r in R if r["max"]]' | grep -q "$apis"
	result "$name, off: no buffer on the device is measured" $?
	figures "$name" copy
	figures "$name" auto
}

kernel_app() {
	[ -x "$tmp/kernel_gpu" ] || cc -std=gnu11 -O2 -D_GNU_SOURCE -w -fno-strict-aliasing -Ipreload -I. -I"$B/gen" -Itests/unit -o "$tmp/kernel_gpu" \
		tests/gpu/kernel_gpu.c "$B/libcore.a" -lyaml -lz -lffi -ldw -lelf -lm -lpthread -ldl 2>"$tmp/kernel_gpu.cc"
}

build() { # NAME HEADER-FOLDERS... -- LIBRARIES...
	local name=$1 flags=() f
	shift
	while [ "$1" != -- ]; do
		flags+=("-I$(dirname "$1")")
		shift
	done
	shift
	for f in "$@"; do flags+=("$f" "-Wl,-rpath,$(dirname "$f")"); done
	# The half types' headers are for nvcc, and not always there; what needs them here does not use them.
	for f in '' '-D__CUDA_FP16_H__ -D__CUDA_BF16_H__'; do
		cc -std=gnu11 -O1 -g -D_GNU_SOURCE $f -isystem "$site/nvidia/cuda_nvcc/include" -o "$tmp/$name" "tests/gpu/$name.c" "${flags[@]}" -lm \
			2>"$tmp/$name.cc" && return 0
	done
	sed 's/^/# /' "$tmp/$name.cc"
	return 1
}

measure_host() {
	local how off=
	for how in off auto; do
		with_host "$how" loop 2000
		host=$(sed -n 's/^host //p' "$tmp/host.$how.err")
		[ "$how" = auto ] || off=$host
	done
	at_most "host: us of a collective with a launch before and after it, less than without ($off) by" \
		"$(awk -v a="$host" -v b="$off" 'BEGIN { if (a != "" && b != "") print a - b }')" 1 8
}

with_host() { # HOW ARGUMENT...
	local how=$1
	shift
	rm -rf "$tmp/host.$how.out"
	env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$tmp/host.$how.out" PROBE_DEVICE="$how" timeout "$limit" "$tmp/nccl_gpu" "$@" >"$tmp/host.$how" 2>"$tmp/host.$how.err"
	result "host, $how: runs" $?
}

measure_waits() {
	local real calls
	real=$(ldconfig -p | sed -n 's/.*libcuda\.so\.1 .*=> //p' | head -1)
	python3 tests/gpu/driver_counts.py make "${CUDA_DRIVER:-$real}" "$tmp/counts" || {
		skip waits 'the library that counts does not compile'
		return
	}
	for calls in 96 1096; do
		rm -rf "$tmp/waits.$calls.out"
		env LD_LIBRARY_PATH="$tmp/counts${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" DRIVER_COUNTS="$tmp/counts.$calls" LD_PRELOAD="$lib" \
			PROBE_OUTPUT_DIR="$tmp/waits.$calls.out" timeout "$limit" "$tmp/nccl_gpu" loop $calls >"$tmp/waits.$calls" 2>&1
		result "waits: $calls collectives" $?
	done
	python3 tests/gpu/driver_counts.py compare "$tmp/counts.96" "$tmp/counts.1096"
	result 'waits: 1,000 collectives more call nothing that may wait for the device, and launch' $?
}

step_ms() { sed -n 's/ ms a step$//p' "$tmp/step.$1.err"; }

measure_step() {
	local STEP_BATCH
	export STEP_LAYERS STEP_WIDTH
	plain step $app step
	STEP_BATCH=$(sed -n 's/^batch //p' "$tmp/step.plain.err")
	export STEP_BATCH
	with step off PROBE_DEVICE=off -- $app step
	with step auto -- $app step
	with step ops PROBE_PRESET=ops -- $app step
	with step nan PROBE_PRESET=nan -- $app step
	with step nancopy PROBE_PRESET=nan PROBE_DEVICE=copy STEP_STEPS=4 -- $app step
	plain step $app step
	unset STEP_BATCH
	at_most 'step: ms with all collectives measured, of one without libprobe' "$(step_ms auto)" 1.01 "$(step_ms plain)"
	at_most 'step: ms with all operators measured' "$(step_ms ops)" 1.15 "$(step_ms plain)"
	at_most 'step: ms that preset nan adds, of those that it adds by copies' "$(awk -v a="$(step_ms nan)" -v b="$(step_ms plain)" 'BEGIN { if (a && b) print a - b }')" \
		0.1 "$(awk -v a="$(step_ms nancopy)" -v b="$(step_ms plain)" 'BEGIN { if (a && b) print a - b }')"
}

app=
if python3 -c 'import torch; assert torch.cuda.is_available(); print("# PyTorch", torch.__version__, "NCCL", *torch.cuda.nccl.version())' 2>/dev/null; then
	app='python3 tests/gpu/torch_gpu.py'
	two='bash tests/gpu/two_ranks.sh'
else
	skip torch 'no PyTorch with CUDA'
fi
for part in $parts; do
	case $part in
	kernel)
		if kernel_app; then
			timeout 300 "$tmp/kernel_gpu" "${KERNEL_MIB:-256}" "${KERNEL_TIMES:-20}" >"$tmp/kernel"
			result 'kernel: every type has the reference'"'"'s figures' $?
			sed 's/^ok [0-9]*/# ok/; s/^not ok [0-9]*/# not ok/; /^1\.\./d' "$tmp/kernel"
			slow=$(slow_types "$tmp/kernel" | tr '\n' ' ')
			[ -z "$slow" ]
			result "kernel: float32 at 85 % of the bandwidth of a copy, 16 bits 70 %, 8 bits 40 %; slower: ${slow:-none}" $?
		else
			skip kernel 'libcore.a is not built (make build/libcore.a), or its libraries are missing'
		fi
		;;
	sanitizer)
		if command -v compute-sanitizer >/dev/null && kernel_app; then
			timeout 140 compute-sanitizer --error-exitcode 9 "$tmp/kernel_gpu" 8 1 >"$tmp/sanitizer" 2>&1
			result 'sanitizer: no access that is not allowed' $?
			timeout 140 compute-sanitizer --tool racecheck --error-exitcode 9 "$tmp/kernel_gpu" 8 1 >"$tmp/racecheck" 2>&1
			result 'sanitizer: no race in shared memory' $?
		else
			skip sanitizer 'no compute-sanitizer'
		fi
		;;
	host | waits)
		if [ "$cuda_h" ] && [ "$cudart" ] && [ "$nccl_h" ] && [ "$nccl" ] && build nccl_gpu "$cuda_h" "$nccl_h" -- "$nccl" "$cudart"; then
			measure_"$part"
		else
			skip "$part" 'no CUDA runtime, no nccl.h, or it does not compile'
		fi
		;;
	step)
		[ "$app" ] && measure_step
		;;
	eager)
		[ "$app" ] || continue
		timeout "$limit" $app eager
		result 'eager: runs' $?
		;;
	nccl)
		if [ "$cuda_h" ] && [ "$cudart" ] && [ "$nccl_h" ] && [ "$nccl" ] && build nccl_gpu "$cuda_h" "$nccl_h" -- "$nccl" "$cudart"; then
			compare nccl nccl A=1 -- "$tmp/nccl_gpu"
		else
			skip nccl 'no CUDA runtime, no nccl.h, or it does not compile'
		fi
		;;
	cublas)
		echo 'cublas: ["*"]' >"$tmp/cublas.yaml"
		if [ "$cuda_h" ] && [ "$cudart" ] && [ "$cublas_h" ] && [ "$cublas" ] && build cublas_gpu "$cuda_h" "$cublas_h" -- "$cublas" "$cudart"; then
			compare cublas cublas PROBE_WRAP_OPS="$tmp/cublas.yaml" -- "$tmp/cublas_gpu"
		else
			skip cublas 'no CUDA runtime, no cublas_v2.h, or it does not compile'
		fi
		;;
	collectives) [ "$app" ] && compare collectives c10d A=1 -- $app collectives ;;
	operators) [ "$app" ] && compare operators '::\(mm\|tanh\|exp\|cos\)::' PROBE_PRESET=ops -- $app operators ;;
	gloo)
		[ "$app" ] || continue
		plain gloo $two $app gloo
		with gloo copy PROBE_DEVICE=copy -- $two $app gloo
		;;
	train | fsdp | compile | graph | profiler)
		[ "$app" ] || continue
		plain $part $app $part
		for how in ${HOWS:-off auto copy nan}; do
			case $how in
			off) with $part off PROBE_DEVICE=off -- $app $part ;;
			auto) with $part auto -- $app $part ;;
			nancopy) with $part nancopy PROBE_PRESET=nan PROBE_DEVICE=copy -- $app $part ;;
			copy) with $part copy PROBE_DEVICE=copy -- $app $part ;;
			nan) with $part nan PROBE_PRESET=nan -- $app $part ;;
			esac
		done
		;;
	presets)
		[ "$app" ] || continue
		plain train $app train
		for preset in ops dump state; do
			with train $preset PROBE_PRESET=$preset PROBE_NAMES=true PROBE_SCALARS=true -- $app train
		done
		peak=$(sed -n 's/^peak //p' "$tmp/train.state.err")
		[ "$(python3 tests/e2e/rows.py "$tmp/train.state.out" 'float([v for v in V if v["name"] == "memory-allocator-peak"][-1]["value"])')" = "$peak.0" ]
		result 'train, state: memory-allocator-peak is what PyTorch says itself' $?
		;;
	kinds)
		[ "$app" ] || continue
		of="param_origin param_updated grad_unreduced grad_reduced exp_avg exp_avg_sq actv actv_grad"
		for scene in clip accumulate closure; do
			run="python3 tests/apps/torch_device.py - $tmp/kinds.$scene.truth $scene"
			mkdir -p "$tmp/kinds.$scene.truth"
			plain kinds.$scene $run
			with kinds.$scene auto PROBE_PRESET=state PROBE_KINDS="${of// /,}" -- $run
			python3 tests/e2e/kinds_truth.py "$tmp/kinds.$scene.auto.out" "$tmp/kinds.$scene.truth" $of | sed 's/^/# /'
			result "kinds, $scene: every value is the program's own" "${PIPESTATUS[0]}"
			python3 tests/e2e/scalars_printed.py "$tmp/kinds.$scene" "$tmp/kinds.$scene.auto.out/rank0/scalars_0-99.csv" loss
			result "kinds, $scene: the loss" $?
		done
		;;
	nan)
		[ "$app" ] || continue
		plain nan $app nan
		with nan nan PROBE_PRESET=nan -- $app nan
		"$probe" report "$tmp/nan.nan.out" >"$tmp/nan.report" 2>&1
		sed '/^run  /,$d;s/^/# /' "$tmp/nan.report"
		line=$(grep -n 'torch.log(x' tests/gpu/torch_gpu.py | cut -d: -f1)
		grep -q 'first in step 7' "$tmp/nan.report" && grep -q "torch_gpu.py:$line" "$tmp/nan.report"
		result 'nan: the step and the line of the operator' $?
		;;
	esac
done
echo "1..$n"
exit $bad

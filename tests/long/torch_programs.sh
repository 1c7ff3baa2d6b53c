#!/usr/bin/env bash
# Training loops as people write them (tests/apps/py/programs.py) compute the same with the preload as without, bit by bit: losses,
# gradients, weights and the states of all random number generators of 20 steps, with all kinds, names and scalars on. What trainers need comes into
# a virtual environment of its own in $B/long/programs, on top of the PyTorch of the other tests (1 GB; nothing but packages is
# downloaded). PROGRAMS='ddp gan': only these. STEPS=5: fewer steps. EACH=1: on ddp, each kind alone as well.
# timeout: 7200
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: programs'
base=$python steps=${STEPS:-20}
venv=$(realpath "$B")/long/programs
TORCH_LIMIT=${TORCH_LIMIT:-600}
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false DS_ACCELERATOR=cpu

# Installs what is missing; the PyTorch below it is seen by a path file. What cannot be had is skipped.
prepare() {
	local site
	[ -x "$venv/bin/python" ] || "$base" -m venv "$venv" || return
	site=$("$venv/bin/python" -c 'import site; print(site.getsitepackages()[0])')
	"$base" -c 'import os, torch; print(os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__))))' >"$site/torch_below.pth"
	[ -e "$venv/.trainers" ] || { "$venv/bin/pip" install --quiet transformers accelerate lightning wheel && touch "$venv/.trainers"; }
	[ -e "$venv/.deepspeed" ] || { DS_BUILD_OPS=0 "$venv/bin/pip" install --quiet --no-build-isolation deepspeed && touch "$venv/.deepspeed"; }
	[ -e "$venv/.megatron" ] || { "$venv/bin/pip" install --quiet --no-build-isolation megatron-core && touch "$venv/.megatron"; }
}

needs() { # PROGRAM
	case $1 in
	trainer | accelerate | lightning) echo trainers ;;
	zero*) echo deepspeed ;;
	megatron) echo megatron ;;
	esac
}

on=(PROBE_KINDS="${KINDS:-[param_origin, param_updated, grad_unreduced, grad_reduced, exp_avg, exp_avg_sq, actv, actv_grad, mg_direction, ur_distribution, update_ratio]}"
	PROBE_NAMES=true PROBE_STEP_BOUNDARY=iteration)
"$probe" config | grep -q '^scalars:' && on+=(PROBE_SCALARS=true)

run_program() { # PROGRAM, then what is on
	local p=$1
	shift
	new_out
	torchrun_with 2 "$@" tests/apps/py/programs.py "$p" "$steps"
	# A program that does not repeat itself proves nothing.
	if ! diff -q "$tmp/plain" "$tmp/with" >/dev/null; then
		cp "$tmp/plain" "$tmp/first"
		torchrun_plain 2 tests/apps/py/programs.py "$p" "$steps"
		if ! diff -q "$tmp/plain" "$tmp/first" >/dev/null; then
			skip "$p" 'two runs without the preload differ'
			return
		fi
	fi
	same_output "$p: $(grep -c '\] step ' "$tmp/plain") steps"
	like "$p: and something was recorded" "$(ls "$out"/rank0/*.csv 2>/dev/null)" 'rank0'
}

prepare >"$tmp/pip" 2>&1
[ -x "$venv/bin/python" ] && python=$venv/bin/python
for p in ${PROGRAMS:-ddp fsdp1 fsdp1_orig fsdp2 accumulation amp lbfgs gan checkpoint checkpoint_reentrant evaluation compiled loader_fork \
	loader_spawn loader_persistent trainer accelerate lightning zero1 zero2 zero3 megatron}; do
	n=$(needs "$p")
	if [ -n "$n" ] && [ ! -e "$venv/.$n" ]; then
		skip "$p" "no $n: $(grep -i error "$tmp/pip" | tail -1)"
		continue
	fi
	torchrun_plain 2 tests/apps/py/programs.py "$p" "$steps"
	if [ "$status" != 0 ]; then
		skip "$p" "it does not run here: $(grep -E 'Error|error' "$tmp/plain.err" | tail -1 | cut -c1-150)"
		continue
	fi
	run_program "$p" "${on[@]}"
	[ "$p" = ddp ] && [ -n "${EACH:-}" ] || continue
	for k in param_origin param_updated grad_unreduced grad_reduced exp_avg exp_avg_sq actv actv_grad mg_direction ur_distribution update_ratio; do
		run_program "$p" PROBE_KINDS="[$k]"
	done
done
finish

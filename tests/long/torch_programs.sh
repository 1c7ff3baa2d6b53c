#!/usr/bin/env bash
# Training loops as people write them (tests/apps/py/programs.py) compute the same with the preload as without, bit by bit: losses,
# gradients, weights and the states of all random number generators of 20 steps, with all kinds, names and scalars on. What
# trainers need: trainers.sh. PROGRAMS='ddp gan': only these. STEPS=5: fewer steps. EACH=1: on ddp, each kind alone as well.
# timeout: 7200
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: programs'
. tests/e2e/trainers.sh
steps=${STEPS:-20}

on=(PROBE_KINDS="${KINDS:-[param_origin, param_updated, grad_unreduced, grad_reduced, exp_avg, exp_avg_sq, actv, actv_grad, mg_direction, ur_distribution, update_ratio]}"
	PROBE_NAMES=true PROBE_STEP_BOUNDARY=iteration)
"$probe" config | grep -q '^scalars:' && on+=(PROBE_SCALARS=true)

# Files of kinds, names and scalars that have more than a header on each of these.
with_rows() { # RANK...
	local r
	for r; do
		awk 'FNR == 2 {n = FILENAME; sub(".*/", "", n); sub("(_[0-9]+-[0-9]+)?[.]csv$", "", n); print n}' "$out/$r"/*.csv
	done 2>/dev/null | sort | uniq -c | awk -v ranks=$# '$1 == ranks {printf "%s ", $2}'
}

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
	like "$p: and these have rows on both ranks" "$(with_rows rank0 rank1)" "${want:-param_updated}"
	echo "# $p: $(with_rows rank0 rank1)"
}

trainers_prepare
for p in ${PROGRAMS:-ddp fsdp1 fsdp1_orig fsdp2 accumulation amp lbfgs gan checkpoint checkpoint_reentrant evaluation compiled loader_fork \
	loader_spawn loader_persistent trainer accelerate lightning zero1 zero2 zero3 megatron}; do
	why=$(trainers_lack "$p")
	if [ -n "$why" ]; then
		skip "$p" "$why"
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
		want="(^| )$k " run_program "$p" PROBE_KINDS="[$k]"
	done
done
finish

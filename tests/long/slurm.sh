#!/usr/bin/env bash
# The plugin of Slurm in a real Slurm: a cluster of one node (munged, slurmctld, slurmd) of this test's own, with its own ports, key and
# folders. Prints TAP.
# root: slurmd
# timeout: 600
. "$(dirname "$0")/../e2e/lib.sh"
PATH=$PATH:/usr/sbin
for need in slurmctld slurmd munged srun; do
	command -v $need >/dev/null || { skip 'Slurm' "no $need (Debian: slurmctld slurmd slurm-client munge libslurm-dev)"; finish; }
done
[ "$(id -u)" = 0 ] || { skip 'Slurm' 'slurmd needs root'; finish; }
[ -e /usr/include/slurm/spank.h ] || { skip 'Slurm' 'no slurm/spank.h (Debian: libslurm-dev)'; finish; }
if ! make -s slurm WERROR=1 B="$B" LIBDIR="$tmp/no" >"$tmp/built" 2>&1; then
	fail 'make slurm' "$(tail -3 "$tmp/built")"
	finish
fi
plugin=$(realpath "$B/spank_probe.so")

mkdir "$tmp/state" "$tmp/spool" "$tmp/munge"
chmod 755 "$tmp"
chmod 700 "$tmp/munge"
free_port() {
	python3 -c 'import socket
s = socket.socket()
s.bind(("", 0))
print(s.getsockname()[1])'
}
head -c 1024 /dev/urandom >"$tmp/munge/key"
chmod 600 "$tmp/munge/key"
munged --foreground --force --socket="$tmp/munge/socket" --key-file="$tmp/munge/key" --pid-file="$tmp/munge/pid" \
	--log-file="$tmp/munge/log" --seed-file="$tmp/munge/seed" >"$tmp/munged.out" 2>&1 </dev/null &
started+=($!)
wait_until 20 test -S "$tmp/munge/socket" || { fail 'munged begins' "$(cat "$tmp/munged.out" "$tmp/munge/log")"; finish; }
host=$(hostname -s)
export SLURM_CONF=$tmp/slurm.conf
cat >"$SLURM_CONF" <<END
ClusterName=probe
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$tmp/munge/socket
CredType=cred/munge
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
StateSaveLocation=$tmp/state
SlurmdSpoolDir=$tmp/spool
SlurmctldPidFile=$tmp/slurmctld.pid
SlurmdPidFile=$tmp/slurmd.pid
SlurmctldLogFile=$tmp/slurmctld.log
SlurmdLogFile=$tmp/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
PlugStackConfig=$tmp/plugstack.conf
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
END
printf 'optional %s library=%s\n' "$plugin" "$lib" >"$tmp/plugstack.conf"
slurmctld -D >"$tmp/slurmctld.out" 2>&1 </dev/null &
started+=($!)
slurmd -D >"$tmp/slurmd.out" 2>&1 </dev/null &
started+=($!)
idle() { sinfo -h -o %t 2>/dev/null | grep -q '^idle'; }
if ! wait_until 60 idle; then
	fail 'a cluster of one node' "$(tail -3 "$tmp"/slurm*.log "$tmp"/slurm*.out)"
	finish
fi
pass 'a cluster of one node'
like 'srun --help has it' "$(srun --help 2>&1)" '--probe[^ ]* +record the communication'
cat >"$tmp/env.sh" <<'END'
echo "$SLURM_PROCID ${LD_PRELOAD:-none} ${PROBE_OUTPUT_DIR:-none}"
END
is 'without the option nothing changes' "$(srun -Q -n 2 -O bash "$tmp/env.sh" 2>&1 | sort | tr '\n' ' ')" '0 none none 1 none none '
is '--probe=DIR: the preload, and the folder' "$(srun -Q -n 2 -O --probe="$tmp/dir" bash "$tmp/env.sh" 2>&1 | sort | tr '\n' ' ')" "0 $lib $tmp/dir 1 $lib $tmp/dir "
is '--probe: the folder that is usual' "$(srun -Q -n 1 --probe bash "$tmp/env.sh" 2>&1)" "0 $lib none"
other=/lib/x86_64-linux-gnu/libm.so.6
[ -e "$other" ] || other=$(ldconfig -p | awk '/libm\.so\.6/ {print $NF; exit}')
is 'what is preloaded already comes after it' "$(srun -Q -n 1 --export=ALL,LD_PRELOAD="$other" --probe bash "$tmp/env.sh" 2>&1)" "0 $lib:$other none"
is 'it is there once' "$(srun -Q -n 1 --export=ALL,LD_PRELOAD="$lib" --probe bash "$tmp/env.sh" 2>&1)" "0 $lib none"
like 'sbatch --probe' "$(cd "$tmp" && sbatch -W -o "$tmp/batch.out" --probe="$tmp/batch" --wrap="srun -n 1 bash $tmp/env.sh" >/dev/null 2>&1; cat "$tmp/batch.out")" "^0 $lib $tmp/batch ?$"
# A job: MPI by PMIx, where this Slurm and this MPI have it.
for m in $flavours; do
	[ $m = openmpi ] || continue
	srun --mpi=list 2>&1 | grep -q pmix || { skip 'a job of MPI' 'this Slurm has no PMIx'; break; }
	srun -n 2 -O --mpi=pmix "$(realpath "$B/apps/openmpi/mpi_collectives")" >"$tmp/plain" 2>"$tmp/plain.err" || {
		skip 'a job of MPI' "it does not run without the plugin: $(tail -1 "$tmp/plain.err")"
		break
	}
	srun -n 2 -O --mpi=pmix --probe="$tmp/job" "$(realpath "$B/apps/openmpi/mpi_collectives")" >"$tmp/with" 2>"$tmp/with.err"
	is 'a job of MPI: status' $? 0
	is 'it goes as without' "$(sort "$tmp/with")" "$(sort "$tmp/plain")"
	is 'its ranks are recorded' "$(cd "$tmp/job" && echo rank*)" 'rank0 rank1'
	like 'its job is that of Slurm' "$("$probe" report --json "$tmp/job" | grep '"run"')" '"run": "slurm'
done
# A library that is not there: the task runs.
printf 'optional %s library=/none/libprobe.so\n' "$plugin" >"$tmp/plugstack.conf"
srun -n 1 --probe bash "$tmp/env.sh" >"$tmp/o" 2>"$tmp/e"
is 'a library that cannot be read: the task runs' "$? $(cat "$tmp/o")" '0 0 none none'
like '... and that is reported' "$(cat "$tmp/e")" '/none/libprobe.so cannot be read on this node'
finish

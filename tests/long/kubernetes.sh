#!/usr/bin/env bash
# The job in docs/how-to/kubernetes.md: against the schemas of Kubernetes and of the training operator (both from PyPI), and its pods as
# processes, without a cluster: the init container's command fills the volume, then the command of each pod runs with the pod's
# variables, those of the operator (PET_*), and one rank in place of eight. Prints TAP.
# timeout: 900
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/torch.sh
page=docs/how-to/kubernetes.md
venv=$(realpath "$B")/long/kubernetes
mkdir -p "${venv%/*}"
{ [ -x "$venv/bin/python" ] || python3 -m venv "$venv"; } >"$tmp/pip" 2>&1 &&
	"$venv/bin/pip" install --quiet 'kubernetes-validate==1.*' 'kubeflow-training==1.9.*' >>"$tmp/pip" 2>&1 || {
	skip 'schemas of Kubernetes' "they cannot be had from PyPI: $(tail -1 "$tmp/pip")"
	finish
}
awk '/^```yaml$/ {on = 1; next} /^```/ {on = 0} on' "$page" >"$tmp/job.yaml"
cat >"$tmp/job.py" <<'PY'
import json, re, sys
import kubernetes_validate, yaml
import kubeflow.training.models as jobs
import kubernetes.client.models as core

job = yaml.safe_load(open(sys.argv[1]))

# Every key of the document is one of its class in the operator's API, and has its type.
def check(value, kind, where):
    if kind.startswith(("list[", "dict(")):
        inner = re.sub(r"^(list\[|dict\((str, )?)(.*)[\])]$", r"\3", kind)
        want = list if kind[0] == "l" else dict
        if not isinstance(value, want):
            return [f"{where}: {kind} expected, got {value!r}"]
        items = enumerate(value) if want is list else value.items()
        return [e for k, v in items for e in check(v, inner, f"{where}.{k}")]
    if kind in ("str", "int", "bool", "object"):
        return [] if kind == "object" or type(value).__name__ == kind else [f"{where}: {kind} expected, got {value!r}"]
    cls = getattr(jobs, kind, None) or getattr(core, kind, None)
    if cls is None:
        return [f"{where}: no type {kind}"]
    if not isinstance(value, dict):
        return [f"{where}: {kind} expected, got {value!r}"]
    names = {name: attribute for attribute, name in cls.attribute_map.items()}
    return [f"{where}.{k}: {kind} has no such key" if k not in names else e
            for k, v in value.items() for e in ([None] if k not in names else check(v, cls.openapi_types[names[k]], f"{where}.{k}"))]

def strict_pod(template):
    try:
        kubernetes_validate.validate({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, **template}, "1.30", strict=True)
        return []
    except kubernetes_validate.ValidationError as e:
        return [str(e).splitlines()[0]]

replicas = job["spec"]["pytorchReplicaSpecs"]
errors = check(job, "KubeflowOrgV1PyTorchJob", "job")
for name, replica in replicas.items():
    template, pod = replica["template"], replica["template"]["spec"]
    errors += strict_pod(template)
    volumes = {v["name"] for v in pod["volumes"]}
    for c in pod["initContainers"] + pod["containers"]:
        errors += [f"{name}.{c['name']}: no volume {m['name']}" for m in c["volumeMounts"] if m["name"] not in volumes]
    # The operator looks for this name, and gives the address of the master only if there is one.
    errors += [] if "pytorch" in [c["name"] for c in pod["containers"]] else [f"{name}: no container pytorch"]
errors += [] if replicas.get("Master", {}).get("replicas") == 1 else ["no Master, so no MASTER_ADDR"]
if len(sys.argv) > 2 and sys.argv[2] == "pods":
    pods, rank = sum(r["replicas"] for r in replicas.values()), 0
    for name in ("Master", "Worker"):
        for _ in range(replicas[name]["replicas"]):
            pod = replicas[name]["template"]["spec"]
            main = pod["containers"][0]
            print(json.dumps({"rank": rank, "pods": pods, "init": pod["initContainers"][0]["command"], "command": main["command"],
                              "env": {e["name"]: e["value"] for e in main["env"]}}))
            rank += 1
else:
    print("\n".join(errors))
PY
is 'the schemas accept it' "$("$venv/bin/python" "$tmp/job.py" "$tmp/job.yaml" 2>&1)" ''
broken() { # TEXT SED-COMMAND PATTERN
	sed "$2" "$tmp/job.yaml" >"$tmp/broken.yaml"
	like "a mistake is noticed: $1" "$("$venv/bin/python" "$tmp/job.py" "$tmp/broken.yaml" 2>&1)" "$3"
}
broken 'a wrong key' 's/initContainers:/initContainer:/' 'initContainer'
broken 'a number in place of a text' 's/nprocPerNode: "8"/nprocPerNode: 8/' 'nprocPerNode: str expected, got 8'
broken 'a volume that is not there' 's/- name: records$/- name: record/' 'no volume records'
broken 'no master' 's/ Master:/ Leader:/' 'no Master'

# ---- its pods ----

torch_python 'the pods as processes'
make --no-print-directory -s "B=$B" install PREFIX="$tmp/image/opt/libprobe" >"$tmp/installed" 2>&1
"$venv/bin/python" "$tmp/job.py" "$tmp/job.yaml" pods >"$tmp/pods"
cp tests/apps/train_ddp.py "$tmp/train.py"
cat >"$tmp/pod.py" <<'PY'
# POD IMAGE VOLUMES PORT PYTHON SCRIPT...: the init container, then the command; paths of containers are below IMAGE and VOLUMES
import json, os, re, subprocess, sys
pod, image, volumes, port, python, *script = sys.argv[1:]
pod = json.loads(pod)
here = f"{volumes}/pod{pod['rank']}"
def place(text):
    return re.sub("^/records", volumes + "/records", re.sub("^/libprobe", here + "/libprobe", re.sub("^/opt", image + "/opt", text)))
os.makedirs(here + "/libprobe")
subprocess.run([place(w) for w in pod["init"]], check=True)
assert pod["command"] == ["torchrun", "train.py"], pod["command"]
env = dict(os.environ, **{k: place(v) for k, v in pod["env"].items()}, OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo", PYTHONUNBUFFERED="0",
           MASTER_ADDR="127.0.0.1", MASTER_PORT=port, WORLD_SIZE=str(pod["pods"]), RANK=str(pod["rank"]), PET_MASTER_ADDR="127.0.0.1",
           PET_MASTER_PORT=port, PET_NNODES=str(pod["pods"]), PET_NODE_RANK=str(pod["rank"]), PET_NPROC_PER_NODE="1")
sys.exit(subprocess.run([python, "-m", "torch.distributed.run", *script], env=env).returncode)
PY
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
pids=()
n=0
while read -r pod; do
	timeout 400 python3 "$tmp/pod.py" "$pod" "$tmp/image" "$tmp" "$port" "$python" "$tmp/train.py" --steps 12 --nan-at 7:1 >"$tmp/pod$n.out" 2>&1 </dev/null &
	pids+=($!)
	n=$((n + 1))
done <"$tmp/pods"
is 'two pods' "$n" 2
for n in 0 1; do
	wait "${pids[n]}"
	rc=$?
	is "pod $n: status" $rc 0
	[ $rc = 0 ] || sed 's/^/# /' "$tmp/pod$n.out" | tail -5
done
is 'their ranks lie side by side' "$(cd "$tmp/records/run7" 2>/dev/null && echo rank*)" 'rank0 rank1'
like 'probe in the volume reads them' "$("$tmp/pod0/libprobe/bin/probe" report "$tmp/records/run7" 2>&1)" 'nan +first in step 7, rank 1: '
finish

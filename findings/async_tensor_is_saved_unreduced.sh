#!/usr/bin/env bash
# PyTorch 2.13.0, gloo, 2 ranks: torch.save() of the result of a functional collective.
#
# Question: rank 0 has 1, rank 1 has 2 and arrives 0.5 s later. Rank 0 hands the result of all_reduce(x, "sum", group), which has not been
#           waited for, to different readers. What do they read?
# Guess:    3 each time: the tensor that the function returns waits when it is used.
# Real:     item(), tolist(), numpy(), str(), clone() and operators wait and read 3. torch.save() and pickle wait for nothing: what is
#           loaded again is 1, the number of rank 0 before the reduction. copy.deepcopy() raises.
# Matters:  a tensor that is dumped or sent to another process right after its collective holds the rank's own input. A dump of
#           this kind differs from the training, which is right.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import copy, io, pickle, re, time, torch, torch.distributed as dist
import torch.distributed._functional_collectives as functional
dist.init_process_group("gloo")
def saved_and_loaded(tensor):
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    return torch.load(file, weights_only=False).item()
readers = {
    "item()": lambda t: t.item(),
    "tolist()": lambda t: t.tolist()[0],
    "numpy()": lambda t: float(t.numpy()[0]),
    "clone().item()": lambda t: t.clone().item(),
    "t + 0": lambda t: (t + 0).item(),
    "str": lambda t: float(re.search(r"[0-9.]+", str(t))[0]),
    "torch.save": saved_and_loaded,
    "pickle": lambda t: pickle.loads(pickle.dumps(t)).item(),
    "copy.deepcopy": lambda t: copy.deepcopy(t).item(),
    "wait(), torch.save": lambda t: saved_and_loaded(functional.wait_tensor(t)),
}
for name, read in readers.items():
    dist.barrier()
    if dist.get_rank() == 1:
        time.sleep(0.5)
    result = functional.all_reduce(torch.tensor([1.0 + dist.get_rank()]), "sum", dist.group.WORLD)
    try:
        seen = read(result)
    except RuntimeError as error:
        seen = type(error).__name__
    if dist.get_rank() == 0:
        print(f"{name}: {seen}", flush=True)
    functional.wait_tensor(result)
dist.destroy_process_group()
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
item(): 3.0
tolist(): 3.0
numpy(): 3.0
clone().item(): 3.0
t + 0: 3.0
str: 3.0
torch.save: 1.0
pickle: 1.0
copy.deepcopy: RuntimeError
wait(), torch.save: 3.0
S

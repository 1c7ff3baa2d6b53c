# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's ZeRO on processors, beside an account of its own of what is asked of torch.distributed.
   deepspeed_zero.py SCENE STEPS FILE
SCENE: stage1, stage2, stage3; ccl (stage 1, where sums and broadcasts go to oneCCL by an extension that DeepSpeed compiles at
the start); shm (its all-reduce of inference over shared memory, another such extension). Losses and weights go to stdout, to
FILE.RANK one line a collective: the library and function, the type and number of elements that this rank gives."""
import functools
import hashlib
import inspect
import logging
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

SCENE, STEPS, FILE = sys.argv[1], int(sys.argv[2]), sys.argv[3]
asked = []


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in tensors_of(v)] if isinstance(value, (list, tuple)) else []


def counted(name, given, function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        values = dict(zip(given, args), **kwargs)
        sent = tensors_of(values.get(SENT.get(name, "tensor")))
        asked.append(f"c10d {name} {str(sent[0].dtype)[6:] if sent else '-'} {sum(t.numel() for t in sent)}")
        return function(*args, **kwargs)
    return call


# What a rank gives, where the argument is not called tensor.
SENT = {"all_gather_into_tensor": "input_tensor", "reduce_scatter_tensor": "input", "reduce_scatter": "input_list",
        "all_to_all_single": "input", "all_to_all": "input_tensor_list", "barrier": "none", "gather": "tensor",
        "scatter": "scatter_list", "all_reduce_coalesced": "tensors", "all_gather_coalesced": "input_tensor_list"}


def count_calls():
    """Before DeepSpeed is imported, which keeps some of the functions; also what PyTorch's own functions call (objects)."""
    c10d = dist.distributed_c10d
    for name in ("all_reduce", "broadcast", "reduce", "all_gather", "gather", "scatter", "send", "recv", "isend", "irecv",
                 *(n for n in SENT if n not in ("gather", "scatter"))):
        function = getattr(c10d, name)
        call = counted(name, list(inspect.signature(function).parameters), function)
        for module in (c10d, dist):
            if getattr(module, name, None) is function:
                setattr(module, name, call)


class CountedExtension:
    """What DeepSpeed asks of its compiled extension, whose functions take the tensor first."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        function = getattr(self.inner, name)
        if name not in ("broadcast", "all_reduce", "all_reduce_caching", "inference_all_reduce", "barrier"):
            return function

        def call(*args):
            t = args[0] if isinstance(args[0], torch.Tensor) else None
            # It tells oneCCL that bytes are int8.
            asked.append(f"oneccl {name} {'-' if t is None else str(t.dtype)[6:].replace('uint8', 'int8')} {0 if t is None else t.numel()}")
            return function(*args)
        return call


count_calls()
import deepspeed  # noqa: E402


def digest(tensors):
    h = hashlib.sha256()
    for t in tensors:
        h.update(t.detach().contiguous().view(torch.uint8).numpy().tobytes() if t.numel() else b"")
    return h.hexdigest()[:16]


def say(text):
    print(f"[rank {rank}] {text}", flush=True)


def train(stage):
    net = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))
    engine, *_ = deepspeed.initialize(model=net, optimizer=torch.optim.AdamW(net.parameters(), lr=1e-2), config={
        "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 2, "gradient_clipping": 1.0,
        "zero_allow_untested_optimizer": True, "bf16": {"enabled": stage == 2},
        "zero_optimization": {"stage": stage, "stage3_param_persistence_threshold": 0, "reduce_bucket_size": 3000}})
    draw = torch.Generator().manual_seed(7 + rank)
    for n in range(2 * STEPS):
        x, y = torch.randn(8, 32, generator=draw), torch.randn(8, 4, generator=draw)
        if stage == 2:
            x, y = x.bfloat16(), y.bfloat16()
        loss = nn.functional.mse_loss(engine(x), y)
        engine.backward(loss)
        engine.step()
        say(f"step {n} loss {loss.item():.17g} weights {digest(net.parameters())}")
    with torch.no_grad():
        with deepspeed.zero.GatheredParameters(list(net.parameters()), enabled=stage == 3):
            say(f"end weights {digest(net.parameters())}")


def shared_memory():
    from deepspeed import comm
    backend = comm.comm.cdb
    say(f"extension {backend.shm_comm_op is not None} level {getattr(backend, 'shm_vector_kernel_level', None)}")
    for n in range(STEPS):
        # Short ones go another way than those from 1 MB on.
        t = torch.full((1000 if n % 2 else 300000,), float(rank + n))
        comm.inference_all_reduce(t)
        say(f"step {n} sum {t.sum().item():.17g}")


def to_oneccl():
    """The backend "ccl" wants a PyTorch that has it; over a group that is there already it works with any."""
    from deepspeed import comm
    from deepspeed.comm.ccl import CCLBackend
    dist.init_process_group("gloo")
    backend = CCLBackend(rank=dist.get_rank(), world_size=dist.get_world_size())
    backend.ccl_comm_op = CountedExtension(backend.ccl_comm_op)
    comm.comm.cdb = backend


torch.set_num_threads(1)
torch.manual_seed(1)
logging.getLogger("DeepSpeed").setLevel(logging.ERROR)
# Else it compiles that kernel at the first start of any training.
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = SCENE == "shm"
if SCENE == "shm":
    os.environ["LOCAL_SIZE"] = os.environ["WORLD_SIZE"]  # as its launcher sets it: all ranks are on one machine
if SCENE == "ccl":
    to_oneccl()
else:
    deepspeed.init_distributed("gloo")
rank = dist.get_rank()
if SCENE == "shm":
    shared_memory()
else:
    train(1 if SCENE == "ccl" else int(SCENE[5:]))
dist.barrier()
dist.destroy_process_group()
with open(f"{FILE}.{rank}", "w") as f:
    f.writelines(line + "\n" for line in asked)

# SPDX-License-Identifier: Apache-2.0
"""
Trains a small model with several ranks on the stand-in for a device: PyTorch's DDP on the stand-ins of NCCL and of CUDA's driver
(tests/doubles/torch). Prints losses and digests of weights, so that two runs can be compared bit by bit, and writes what it
computed from copies of its own to FOLDER/rank<R>.json, for tests/e2e/kinds_truth.py.

    RANK=R WORLD_SIZE=N torch_device_ranks.py EXTENSIONS FOLDER STORE SCENE

EXTENSIONS: folder of torch_device.so and torch_group.so; STORE: a file by which the ranks find each other. SCENE:

    ddp     one bucket a parameter; gradients are views of them
    nan     ddp, and an input of the last rank has a NaN in step 3
    kept    the layout of Megatron: gradients are added up in one buffer (main_grad), which is all-reduced
    writes  no training: results of mul are written in ways that do not raise the tensor's version, then read by add. Prints
            each way, and the largest element that add finds
"""

import ctypes
import hashlib
import json
import os
import sys
import time

extensions, folder, store, scene = sys.argv[1:5]
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
device = ctypes.CDLL(f"{extensions}/torch_device.so")  # before PyTorch, which looks for its accelerator once
driver = ctypes.CDLL("libcuda.so.1")
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

torch.cuda._lazy_init = lambda: None
torch.cuda.is_available = lambda: True
group = ctypes.CDLL(f"{extensions}/torch_group.so")
dist.init_process_group("cpu:gloo", init_method=f"file://{store}", rank=rank, world_size=size)


def join():
    text = ctypes.create_string_buffer(128)
    found = dist.distributed_c10d._get_default_store()
    if rank == 0:
        group.torch_group_id(text)
        found.set("id of the communicator", text.raw)
    name = dist.distributed_c10d._get_default_group().group_name
    group.torch_group_join(name.encode(), found.get("id of the communicator"), rank, size)


join()
torch.manual_seed(7)
dist._DEFAULT_FIRST_BUCKET_BYTES = 1
driver.double_log.restype = ctypes.c_char_p
truth, step, launches = [], 0, []


def note(kind, name, tensor):
    t = tensor.detach().cpu().double()
    truth.append([kind, name, step, None, {
        "min": t.min().item(), "max": t.max().item(), "mean": t.mean().item(), "norm": t.norm().item(),
        "zeros": (t.abs() < 1e-8).double().mean().item(), "nans": t.isnan().sum().item(), "infs": t.isinf().sum().item()}])


def copy_by_driver(t):
    """As a kernel of the program's own that gets the tensor's address."""
    driver.cuMemcpyAsync.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p]
    driver.cuMemcpyAsync(t.data_ptr(), sevens.data_ptr(), t.nbytes, None)


if scene == "writes":
    sevens, ones = torch.full((8,), 7.0), torch.ones(8).to("cuda")
    for _ in range(40):  # the kernel is loaded meanwhile
        torch.mul(ones, 1)
        time.sleep(0.025)
    for way, write in (("data", lambda t: t.data.sub_(9)), ("all_reduce", dist.all_reduce), ("driver", copy_by_driver)):
        written = torch.mul(ones, 2)
        version = written._version
        write(written)
        same = written._version == version
        read = torch.add(written, written)
        print(rank, way, "same version" if same else "another version", written.cpu().max().item())
    dist.destroy_process_group()
    sys.exit()

net = torch.nn.Sequential(torch.nn.Linear(16, 24), torch.nn.ReLU(), torch.nn.Linear(24, 4)).to("cuda")
names = dict(net.named_parameters())


class Kept:
    """Megatron's buffer of gradients."""

    def __init__(self):
        self.buffer, at = torch.zeros(sum(p.numel() for p in names.values())).to("cuda"), 0
        for p in names.values():
            p.main_grad = self.buffer[at:at + p.numel()].view(p.shape)
            p.register_post_accumulate_grad_hook(self.add)
            at += p.numel()

    def add(self, p):
        p.main_grad.add_(p.grad)
        p.grad = None

    def reduce(self):
        for name, p in names.items():
            note("grad_unreduced", name, p.main_grad)
        dist.all_reduce(self.buffer)
        for p in names.values():
            p.grad = p.main_grad / size


if scene == "kept":
    kept, model = Kept(), net
else:
    model = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=1e-6, gradient_as_bucket_view=True)
    for name, p in names.items():
        p.register_hook(lambda g, name=name: note("grad_unreduced", name, g))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
draws = torch.Generator().manual_seed(100 + rank)
for step in range(6):
    if step == 1:
        waits = driver.double_waits()
    optimizer.zero_grad()
    for name, p in names.items():
        note("param_origin", name, p)
    x = torch.randn(32, 16, generator=draws)
    if scene == "nan" and step == 3 and rank == size - 1:
        x[5, 7] = float("nan")
    loss = ((model(x.to("cuda")) - 1) ** 2).mean()
    loss.backward()
    if scene == "kept":
        kept.reduce()
    for name, p in names.items():
        note("grad_reduced", name, p.grad)
    optimizer.step()
    if scene == "kept":
        kept.buffer.zero_()
    for name, p in names.items():
        note("param_updated", name, p)
    print(rank, step, "loss", repr(loss.cpu().item()))
    print(rank, step, "weights", hashlib.sha256(b"".join(p.detach().cpu().numpy().tobytes() for p in names.values())).hexdigest())
    counted = torch.tensor([1.0 + rank, step]).to("cuda")
    dist.all_reduce(counted)
    print(rank, step, "counted", counted.cpu().tolist())
    launches.append([int(line.split()[-1]) for line in driver.double_log().decode().splitlines() if "values of" in line])
with open(f"{folder}/rank{rank}.json", "w") as f:
    json.dump(truth, f)
with open(f"{folder}/launches{rank}.json", "w") as f:  # tensors of each launch of libprobe's kernel, step by step
    json.dump(launches, f)
print(rank, "waits after the first step", driver.double_waits() - waits)
dist.destroy_process_group()

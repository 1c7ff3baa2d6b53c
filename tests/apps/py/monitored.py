# SPDX-License-Identifier: Apache-2.0
"""
A DDP training that goes on from a checkpoint: monitored.py FIRST LAST CHECKPOINT [msprobe CONFIG]. Steps FIRST to LAST - 1; the
checkpoint is read if FIRST is not 0, and written at the end. With a CONFIG under msprobe's TrainerMon, which gets the data-parallel
group if `group` is in the CONFIG's file name, and the first step. A CONFIG with `save` in its file name is for
PrecisionDebugger.save() of loss and output.
Where the library of probe.h is loaded and `save` is the last argument, the same tensors go through probe_save().
A CONFIG with `api` in its file name has format api: CHECKPOINT.api<RANK> gets a line `kind name op step value` for each number that TrainerMon
hands to its writer; and, if `api` is the last argument, for each number that probe_stats_next() has after a step.
"""
import ctypes
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.set_num_threads(1)
torch.manual_seed(0)
first, last, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
config = sys.argv[5] if "msprobe" in sys.argv else ""
name = os.path.basename(config)
inner = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
model = nn.parallel.DistributedDataParallel(inner)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
if first:
    saved = torch.load(path)
    inner.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
debugger = None
if "save" in name:
    from msprobe.pytorch import PrecisionDebugger
    debugger = PrecisionDebugger(config_path=config)
elif config:
    from msprobe.pytorch import TrainerMon
    monitor = TrainerMon(config, params_have_main_grad=False)
    monitor.set_monitor(model, optimizer=optimizer, grad_acc_steps=1, dp_group=dist.group.WORLD if "group" in name else None,
                        start_iteration=first)
api = open(f"{path}.api{dist.get_rank()}", "w") if "api" in name or sys.argv[-1] == "api" else None


def write_metrics(ops, metrics, step, prefix="", **_):
    for tensor, by_op in metrics.items():
        for op in {"min", "max", "mean", "norm"} & set(ops):
            print(prefix, tensor.split("/")[0].split(":")[-1], op, step, float(by_op[op]), file=api)


def list_stats():
    lib, at, step, value = ctypes.CDLL(None), ctypes.c_ulong(0), ctypes.c_long(), ctypes.c_double()
    texts = [ctypes.c_char_p() for _ in range(3)]
    while lib.probe_stats_next(ctypes.byref(at), *map(ctypes.byref, texts), ctypes.byref(step), ctypes.byref(value)) == 1:
        print(*(t.value.decode() for t in texts), step.value, value.value, file=api)


if api and config:
    monitor.summary_writer.write_metrics = write_metrics


def save(name, tensor):
    if debugger:
        debugger.save(tensor, name, save_backward=False)
    elif sys.argv[-1] == "save":
        t = tensor.detach().contiguous()
        shape = "x".join(map(str, t.shape)) or "-"
        assert ctypes.CDLL(None).probe_save(name.encode(), ctypes.c_void_p(t.data_ptr()), b"float32", shape.encode()) == 0


for step in range(first, last):
    torch.manual_seed(100 * step + dist.get_rank())
    out = model(torch.randn(4, 8))
    loss = out.square().mean()
    save("out", out)
    save("loss", loss)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if debugger:
        debugger.step()
    if api and not config:
        list_stats()
    print(step, repr(loss.item()))
    if api:
        api.flush()
if dist.get_rank() == 0:
    torch.save({"model": inner.state_dict(), "optimizer": optimizer.state_dict()}, path)
dist.destroy_process_group()

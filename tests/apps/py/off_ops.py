"""Threads call PyTorch in each way that has entries of its own (an operator, a backward pass, a virtual function of a process
group, an asynchronous one with its wait) while recording is switched off and on, by set_off_reason() of libprobe.so, which lies
OFF_SWITCH bytes after probe_step(). Without OFF_SWITCH nothing is switched. Prints "off FROM TO" and "on FROM TO", times of day in
ns between which nothing was switched and each thread had made some calls, then "result WAY ok" for each way."""
import ctypes
import os
import threading
import time

import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
groups = [dist.new_group([0]) for _ in range(2)]
over = False


def operator(i):
    return torch.addmm(torch.full((2, 2), float(i)), torch.eye(2), torch.ones(2, 2)).sum().item() == 4 * i + 4


def backward(i):
    x = torch.full((3,), float(i), requires_grad=True)
    (x * x).sum().backward()
    return x.grad.tolist() == [2.0 * i] * 3


def collective(i):
    x = torch.full((4,), float(i))
    dist.all_reduce(x, group=groups[0])
    return x.tolist() == [float(i)] * 4


def asynchronous(i):
    x, out = torch.full((4,), float(i)), [torch.zeros(4)]
    dist.all_gather(out, x, group=groups[1], async_op=True).wait()
    return out[0].tolist() == [float(i)] * 4


WAYS = (operator, backward, collective, asynchronous)
made, right = [0] * len(WAYS), [True] * len(WAYS)


def call_until_over(n):
    while not over:
        right[n] &= WAYS[n](made[n] % 1000)
        made[n] += 1


def wait_for_calls(n):
    was = list(made)
    while any(m < w + n for m, w in zip(made, was)):
        time.sleep(0.001)


def keep(off):
    switch(2, off)
    wait_for_calls(2)  # those on their way, and one more
    begun = time.time_ns()
    wait_for_calls(10)
    print("off" if off else "on", begun, time.time_ns(), flush=True)


threads = [threading.Thread(target=call_until_over, args=(n,)) for n in range(len(WAYS))]
for t in threads:
    t.start()
if "OFF_SWITCH" in os.environ:
    at = ctypes.cast(ctypes.CDLL(None).probe_step, ctypes.c_void_p).value + int(os.environ["OFF_SWITCH"])
    switch = ctypes.CFUNCTYPE(None, ctypes.c_uint, ctypes.c_bool)(at)
    wait_for_calls(2)
    for i in range(4):
        keep(i % 2 == 0)
else:
    wait_for_calls(20)
over = True
for t in threads:
    t.join()
for f, ok in zip(WAYS, right):
    print("result", f.__name__, "ok" if ok else "wrong")
dist.destroy_process_group()

# SPDX-License-Identifier: Apache-2.0
"""
A training that writes checkpoints of each kind, and knows itself which of them are healthy.

    ckpts.py FOLDER FILE      prints a digest of the weights; FILE: `name step sum-of-squares` of each checkpoint, the sum of its
                              embedding's gradient in that step

In steps 9 to 11 the embedding's gradient is large. Half of a checkpoint is left at the end.
"""
import hashlib
import json
import os
import struct
import sys
import time

import torch

folder, numbers = sys.argv[1], open(sys.argv[2], "w")
os.makedirs(folder)
torch.manual_seed(0)
torch.set_num_threads(1)
m = torch.nn.Sequential(torch.nn.Embedding(20, 8), torch.nn.Flatten(), torch.nn.Linear(32, 4))
m = torch.nn.ModuleDict({"embed_tokens": m[0], "head": m[2]})
o = torch.optim.SGD(m.parameters(), lr=1e-3)


def legacy(path):
    torch.save(m.state_dict(), path, _use_new_zipfile_serialization=False)


def safetensors(path):
    """As the format says; by a temporary name."""
    data = m["head"].weight.detach().numpy().tobytes()
    head = json.dumps({"head.weight": {"dtype": "F32", "shape": [4, 32], "data_offsets": [0, len(data)]}}).encode()
    with open(path + ".tmp", "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + data)
    os.rename(path + ".tmp", path)


def dcp(path):
    import torch.distributed.checkpoint as c

    c.save(m.state_dict(), checkpoint_id=path, no_dist=True)


def forked(path):
    pid = os.fork()
    if not pid:
        torch.save(m.state_dict(), path)
        os._exit(0)
    os.waitpid(pid, 0)


KINDS = [("zip.pt", lambda p: torch.save(m.state_dict(), p)), ("legacy.pth", legacy), ("model.safetensors", safetensors),
         ("dcp", dcp), ("forked.ckpt", forked)]
for step in range(16):
    loss = m["head"](m["embed_tokens"](torch.randint(20, (16, 4))).flatten(1)).square().mean()
    o.zero_grad()
    (loss * (500 if 9 <= step <= 11 else 0.1)).backward()
    g = m["embed_tokens"].weight.grad
    square = float(g.double().square().sum())
    o.step()
    if step % 2 == 0 and step:
        time.sleep(0.05)  # a file's time is only good to some ms
        name, write = KINDS[(step // 2 - 1) % len(KINDS)]
        write(f"{folder}/{step:02}-{name}")
        print(f"{step:02}-{name}", step, square, file=numbers, flush=True)
    time.sleep(0.05)
whole = open(f"{folder}/02-zip.pt", "rb").read()
open(f"{folder}/99-half.pt", "wb").write(whole[: len(whole) // 2])
print("digest", hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in m.parameters())).hexdigest())

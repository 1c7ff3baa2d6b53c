# SPDX-License-Identifier: Apache-2.0
"""
A training that keeps its losses apart in functions of its own, and writes what went through them: `watched.py FILE` has lines
`step series value`; prints its losses and a checksum of the weights.
"""
import functools
import sys
import zlib

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
truth = open(sys.argv[1], "w")
step = 0
tracker = {}


def note(series, value):
    print(step, series, repr(float(value.detach() if torch.is_tensor(value) else value)), file=truth)


def logged(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)
    return wrapper


@logged
def save_to_aux_losses_tracker(name, loss, layer_number, num_layers, reduce_group=None, avg_group=None):
    tracker[name] = tracker.get(name, 0) + loss.detach() / num_layers


class MTPLossLoggingHelper:
    @staticmethod
    @logged
    def save_loss_to_tracker(loss, layer_number, scale=1.0):
        loss.mul_(2)  # the row has the value that came in
        return {"scaled": loss * scale, "name": "mtp", "step": layer_number}


def plain(value, flag=True):
    return value * 2


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(8, 16)
        self.b = torch.nn.Linear(16, 4)

    def forward(self, x, weight):
        h = self.a(x).tanh()
        aux = h.square().mean() * weight
        for layer in 1, 2:
            loss = aux * layer
            note(f"save_to_aux_losses_tracker/load_balancing_loss/layer_number{layer}/loss", loss)
            note(f"save_to_aux_losses_tracker/load_balancing_loss/layer_number{layer}/num_layers", 2)
            save_to_aux_losses_tracker("load_balancing_loss", loss, layer, num_layers=2)
        note("Net.forward/weight", weight)
        note("Net.forward/result.1", aux)
        return self.b(h), aux


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=0.01)
for step in range(4):
    out, aux = net(torch.randn(4, 8), 0.5 + step)
    lm = out.square().mean()
    mtp = lm.detach().double().clone()
    note("MTPLossLoggingHelper.save_loss_to_tracker/layer_number7/loss", mtp)
    note("MTPLossLoggingHelper.save_loss_to_tracker/layer_number7/scale", 0.25)
    got = MTPLossLoggingHelper.save_loss_to_tracker(mtp, 7, scale=0.25)
    note("MTPLossLoggingHelper.save_loss_to_tracker/layer_number7/result.scaled", got["scaled"])
    note("MTPLossLoggingHelper.save_loss_to_tracker/layer_number7/result.step", 7)
    note("plain/value", step)
    note("plain/result", plain(*[step]))
    plain(100 + step)  # CPython 3.11 runs this call by itself
    loss = lm + aux
    loss.backward()
    opt.step()
    opt.zero_grad()
    print(repr(loss.item()), repr(got["scaled"].item()))
print(zlib.crc32(b"".join(p.detach().numpy().tobytes() for p in net.parameters())))
truth.close()

# SPDX-License-Identifier: Apache-2.0
"""
Trains a small model on the stand-in for a device (tests/doubles/torch/torch_device.cpp). Prints its losses and norms, and writes
what it computed from copies of its own, for tests/e2e/kinds_truth.py, to FOLDER/rank0.json.

    torch_device.py LIBRARY FOLDER SCENE     clip, accumulate, amp, closure, sgd, late

late: the device stands still at the end of each step, so that nothing measured there has arrived when the step is over.

LIBRARY -: on a real GPU.
"""

import ctypes
import json
import sys

library, folder, scene = sys.argv[1:4]
real = library == "-"
if not real:
    extension = ctypes.CDLL(library)  # before PyTorch, which looks for its accelerator once
    driver = ctypes.CDLL("libcuda.so.1")
import torch  # noqa: E402

if not real:
    torch.cuda._lazy_init = lambda: None
    torch.cuda.is_available = lambda: True  # for the gradient scaler
torch.manual_seed(7)
truth = []
state = {"step": 0, "micro": 0}


def note(kind, name, tensor, micro=None):
    t = tensor.detach().cpu().double()
    truth.append([kind, name, state["step"], micro, {
        "min": t.min().item(), "max": t.max().item(), "mean": t.mean().item(), "norm": t.norm().item(),
        "zeros": (t.abs() < 1e-8).double().mean().item(), "nans": t.isnan().sum().item(), "infs": t.isinf().sum().item()}])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(16, 24)
        self.second = torch.nn.Linear(24, 4)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)).t().t())


def activation_hook(name):
    def hook(module, inputs, output):
        if torch.is_grad_enabled():
            note("actv", f"{name}.input", inputs[0], state["micro"])
            note("actv", f"{name}.output", output, state["micro"])
            micro = state["micro"]
            output.register_hook(lambda g: note("actv_grad", f"{name}.output", g, micro))
            if inputs[0].requires_grad:
                inputs[0].register_hook(lambda g: note("actv_grad", f"{name}.input", g, micro))
    return hook


net = Net().to("cuda")
for name, module in net.named_modules():
    module.register_forward_hook(activation_hook(name))
if scene == "sgd":
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
else:
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
if scene == "late":
    optimizer.register_step_post_hook(lambda *_: extension.torch_device_hold(True))
scaler = torch.amp.GradScaler("cuda", init_scale=1024.0) if scene == "amp" else None
accumulate = 2 if scene == "accumulate" else 1


def passes():
    total = 0.0
    for micro in range(accumulate):
        state["micro"] = micro
        loss = ((net(torch.randn(32, 16).to("cuda")) - 1) ** 2).mean() / accumulate
        (scaler.scale(loss) if scaler else loss).backward()
        total += loss.detach()
    for name, p in net.named_parameters():
        note("grad_unreduced", name, p.grad)
    return total


def before_step():
    for name, p in net.named_parameters():
        note("grad_reduced", name, p.grad)
        for key, value in optimizer.state[p].items():
            if key != "step":
                note(key, name, value)


def closure():
    optimizer.zero_grad()
    loss = passes()
    before_step()
    return loss


for step in range(6):
    state["step"] = step
    if step == 1 and not real:
        waits = driver.double_waits()
    optimizer.zero_grad()
    norm = None
    for name, p in net.named_parameters():
        note("param_origin", name, p)
    if scene == "closure":
        loss = optimizer.step(closure)
    else:
        loss = passes()
        if scaler:
            scaler.unscale_(optimizer)
        if scene == "clip":
            norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        before_step()
        scaler.step(optimizer) if scaler else optimizer.step()
        if scene == "late":
            extension.torch_device_hold(False)
        if scaler:
            scaler.update()
    for name, p in net.named_parameters():
        note("param_updated", name, p)
    print(step, "weight_norm", repr(torch.cat([p.detach().cpu().flatten() for p in net.parameters()]).norm().item()))
    print(step, "loss", repr(loss.cpu().item()))
    if norm is not None:
        print(step, "grad-norm", repr(norm.cpu().item()))
with open(f"{folder}/rank0.json", "w") as f:
    json.dump(truth, f)
if not real:
    print("waits after the first step", driver.double_waits() - waits)

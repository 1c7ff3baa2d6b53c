# SPDX-License-Identifier: Apache-2.0
"""
Operators of many kinds: prints a hash of every result. --truth FILE: writes inputs and outputs of some calls as Python sees
them.
"""
import hashlib
import json
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
truth = []


def numbers(t):
    x = t.detach().double().flatten()
    if not x.numel() or x.isnan().all():
        return [list(t.shape), x.numel()]
    fine = x[~x.isnan()]
    return [list(t.shape), x.numel(), fine.min().item(), fine.max().item(), fine.mean().item(), fine.norm().item(),
            int(x.isnan().sum()), int(x.isinf().sum())]


old = torch.__version__.startswith("1.")  # without some of what follows


def say(name, value):
    def flat(v):
        if isinstance(v, torch.Tensor):
            v = v.detach()
            v = v.to_dense() if v.layout != torch.strided else v
            return str(v.dtype) + str(tuple(v.shape)) + str(v.tolist())
        if isinstance(v, (tuple, list)):
            return "".join(flat(x) for x in v)
        return repr(v)
    sys.stdout.write(f"{name} {hashlib.sha1(flat(value).encode()).hexdigest()}\n")


def call(op, f, ins):
    """One operator, its inputs and outputs known."""
    before = [numbers(t) for t in ins]
    out = f()  # noqa
    outs = [out] if isinstance(out, torch.Tensor) else list(out)
    truth.append({"op": op, "in": before, "out": [numbers(t) for t in outs]})
    say(op, out)


a, b = torch.randn(5, 7), torch.randn(7, 3)
c = torch.randn(2, 3, 8, 8)
nan = torch.tensor([1.0, float("nan"), float("inf"), -2.0])
with torch.no_grad():
    call("mm", lambda: torch.mm(a, b), [a, b])
    call("add.Tensor", lambda: torch.add(a, a.t().contiguous().t(), alpha=2), [a, a])
    call("mul.Tensor", lambda: a * 3.5, [a, torch.tensor(3.5)])
    call("sum", lambda: nan.sum(), [nan])
    call("max.dim", lambda: torch.max(a, 1), [a])
    call("native_layer_norm", lambda: torch.native_layer_norm(a, [7], torch.ones(7), None, 1e-5), [a, torch.ones(7)])
    call("cat", lambda: torch.cat([a, a, a[:2]], 0), [a, a, a[:2]])
    call("split.Tensor", lambda: torch.split(a, 2), [a])
    call("index.Tensor", lambda: a[torch.tensor([1, 0])], [a, torch.tensor([1, 0])])
    call("convolution", lambda: torch.convolution(c, torch.ones(4, 3, 3, 3), torch.ones(4), [1, 1], [1, 1], [1, 1], False,
                                                  [0, 0], 1), [c, torch.ones(4, 3, 3, 3), torch.ones(4)])
    call("topk", lambda: torch.topk(a, 3), [a])
    call("relu_", lambda: torch.relu_(a.clone()), [a])
    call("linear", lambda: F.linear(a, b.t(), torch.ones(3)), [a, b.t(), torch.ones(3)])
    call("lstm.input", lambda: torch.lstm(torch.ones(2, 1, 3), [torch.zeros(1, 1, 4)] * 2,
                                          [torch.ones(16, 3), torch.ones(16, 4), torch.ones(16), torch.ones(16)], True, 1,
                                          0.0, False, False, False),
         [torch.ones(2, 1, 3)] + [torch.zeros(1, 1, 4)] * 2 +
         [torch.ones(16, 3), torch.ones(16, 4), torch.ones(16), torch.ones(16)])
    call("clamp", lambda: torch.clamp(a, -0.5, 0.5), [a])
    call("to.dtype", lambda: a.to(torch.bfloat16), [a])
    # Numbers, flags, lists and texts that may be omitted, by value: here, and skipped.
    call("logit", lambda: torch.logit(a.sigmoid(), 0.25), [a.sigmoid()])
    call("nan_to_num", lambda: torch.nan_to_num(nan, 0.5, None, -3.0), [nan])
    call("std.correction", lambda: torch.std(a, 1, correction=0, keepdim=True), [a])
    call("argmax", lambda: torch.argmax(a, 1), [a])
    call("cumsum", lambda: torch.cumsum(a, 1, dtype=torch.float64), [a])
    call("div.Tensor_mode", lambda: torch.div(a, a.flip(0), rounding_mode="floor"), [a, a.flip(0)])
    call("upsample_bilinear2d.vec", lambda: F.interpolate(c, scale_factor=(1.5, 2.0), mode="bilinear", align_corners=False,
                                                          recompute_scale_factor=False), [c])

# Everything else: only that nothing changes.
for name, f in {
    "scalars": lambda: (a.sum().item(), bool((a > 0).any()), torch.equal(a, a), a.is_nonzero if 0 else 1),
    "fft": lambda: torch.view_as_real(torch.fft.rfft2(c)),
    "svd": lambda: torch.linalg.svd(a)[1],
    "sparse": lambda: torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2)).to_dense(),
    "nested": lambda: torch.nested.to_padded_tensor(torch.nested.nested_tensor([a, a[:2]]), 0.0),
    "meta": lambda: tuple((torch.empty(3, 4, device="meta") + 1).shape),
    "vmap": lambda: torch.func.vmap(lambda r: r * r.sum())(a),
    "grad": lambda: torch.func.grad(lambda r: (r ** 2).sum())(a),
    "jacobian": lambda: torch.func.jacrev(torch.sin)(a[0]),
    "quantized": lambda: torch.quantize_per_tensor(a, 0.1, 0, torch.qint8).dequantize(),
    "complex": lambda: torch.view_as_real((torch.randn(3, dtype=torch.complex64).conj() * 2).resolve_conj()),
    "attention": lambda: F.scaled_dot_product_attention(c, c, c),
    "dropout": lambda: F.dropout(a, 0.5),
    "rng": lambda: (torch.randn(3), torch.randint(0, 9, (4,)), torch.randperm(5)),
    "einsum": lambda: torch.einsum("ij,jk->ik", a, b),
    "foreach": lambda: torch._foreach_add([a, a], 1.0),
    "index_put": lambda: a.clone().index_put_((torch.tensor([0]),), torch.zeros(7)),
    "out": lambda: torch.add(a, a, out=torch.empty(5, 7)),
    "inference": lambda: torch.inference_mode()(lambda: (a @ b).relu())(),
    "jit": lambda: torch.jit.trace(lambda v: (v @ b).relu(), a)(a),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16)(lambda: a @ b)(),
    "empty": lambda: torch.empty(0, 3).sum(0),
    "string": lambda: torch.nn.functional.gelu(a, approximate="tanh"),
    "double": lambda: torch.std(a.double(), correction=0),
    "numpy": lambda: torch.from_numpy(a.numpy() + 1),
    "short names": lambda: (a.tanh(), (a * a).sqrt(), torch.addmm(torch.ones(3), a, b)),
    "skipped": lambda: (torch.logit(a), torch.nan_to_num(nan), torch.std(a), a.argmax(), a.cumsum(0), a.div(3.5), a.sum((0, 1)),
                         F.interpolate(c, (5, 6), mode="bilinear"), torch.norm(a, 3, [1], True, dtype=torch.float64)),
    "by value": lambda: (torch.fft.fft(a, 4, norm="ortho").abs(), torch.quantile(a, 0.3, 1, interpolation="lower"),
                         torch.repeat_interleave(b, 2, 0), a.to(torch.float64, copy=True, memory_format=torch.preserve_format),
                         torch.zeros_like(a, dtype=torch.int16), torch.full((2, 2), 0.5, dtype=torch.float64),
                         F.interpolate(c, scale_factor=0.7), torch.bincount(torch.tensor([1, 2, 2]), minlength=4)),
}.items():
    if old and name in ("vmap", "grad", "jacobian", "attention", "double"):
        continue
    say(name, f())

model = torch.nn.Sequential(torch.nn.Embedding(20, 16), torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True),
                            torch.nn.Linear(16, 20))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
tokens = torch.randint(0, 20, (4, 9))
for _ in range(3):
    loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    sys.stdout.write(f"loss {loss.item():.17g}\n")
for f in (lambda: a @ a, lambda: torch.cat([a, b]), lambda: a.view(3, 3), lambda: F.conv2d(a, b), lambda: torch.empty(-1),
          lambda: torch.linalg.inv(torch.zeros(2, 2)), lambda: a[10]):
    try:
        f()
        sys.stdout.write("no error\n")
    except (RuntimeError, IndexError) as e:
        sys.stdout.write(f"{type(e).__name__} {str(e).splitlines()[0]}\n")
if len(sys.argv) > 2:
    with open(sys.argv[2], "w") as f:
        json.dump(truth, f)

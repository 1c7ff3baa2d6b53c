# SPDX-License-Identifier: Apache-2.0
"""
PyTorch's own sample inputs of every CPU operator (op_db), forward and backward: prints for each sample a hash of the
results, or the error. Usage: op_db.py [EVERY [FIRST [SAMPLES [all]]]]: every EVERY-th operator from number FIRST on, SAMPLES of
each, 0: as many as there are; all: in each of its types, else in one.
"""
import hashlib
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db

warnings.simplefilter("ignore")
torch.set_num_threads(1)
every, first, samples = [int(a) for a in sys.argv[1:4]] + [1, 0, 4][len(sys.argv[1:4]):]
all_types = sys.argv[4:] == ["all"]


def flat(v):
    if isinstance(v, torch.Tensor):
        v = v.detach()
        if v.layout != torch.strided:
            v = v.to_dense()
        v = v.resolve_conj().resolve_neg().contiguous()
        return f"{v.dtype}{tuple(v.shape)}".encode() + (v.flatten().view(torch.uint8).numpy().tobytes() if v.numel() else b"")
    if isinstance(v, (tuple, list)):
        return b"".join(flat(x) for x in v)
    return repr(v).encode()


def leaves(v):
    if isinstance(v, torch.Tensor):
        return [v] if v.requires_grad else []
    if isinstance(v, (tuple, list)):
        return [t for x in v for t in leaves(x)]
    return []


def run(op, sample):
    out = op(sample.input, *sample.args, **sample.kwargs)
    grads = ()
    ins, outs = leaves(sample.input) + leaves(sample.args), leaves(out)
    if ins and outs:
        grads = torch.autograd.grad([o.sum() if not o.is_complex() else o.abs().sum() for o in outs], ins, allow_unused=True)
    return flat(out) + b"|" + flat(grads)


def types(op):
    have = op.supported_dtypes("cpu")
    if all_types:
        return sorted(have, key=str)
    return [d for d in (torch.float32, torch.complex64, torch.int64, torch.bool) if d in have][:1]


def run_all(op, dtype):
    name = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
    if all_types:
        name += ":" + str(dtype)[6:]
    grad = op.supports_autograd and (dtype in op.supported_backward_dtypes("cpu") if all_types else dtype.is_floating_point)
    torch.manual_seed(1)
    try:
        it = op.sample_inputs("cpu", dtype, requires_grad=grad)
        for i, sample in enumerate(it):
            if samples and i == samples:
                break
            torch.manual_seed(2)
            try:
                print(name, i, hashlib.sha1(run(op, sample)).hexdigest(), flush=True)
            except Exception as e:
                print(name, i, type(e).__name__, str(e).split("\n")[0][:80], flush=True)
    except Exception as e:
        print(name, "samples", type(e).__name__, str(e).split("\n")[0][:80], flush=True)


for op in op_db[first::every]:
    for dtype in types(op):
        run_all(op, dtype)
print("op_db: done", len(op_db))

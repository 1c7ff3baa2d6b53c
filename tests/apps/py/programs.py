# SPDX-License-Identifier: Apache-2.0
"""
Training loops as people write them, one a scene: plain PyTorch, and the trainers that are used most. Models come from a
configuration and have random weights. Each step prints its loss with all digits, and digests of gradients, weights and
the states of all random number generators, so that two runs can be compared line by line.

    torchrun --nproc_per_node 2 programs.py SCENE [STEPS]
"""
import hashlib
import os
import random
import sys

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 20


def say(text):
    sys.stdout.write(f"[{rank}] {text}\n")
    sys.stdout.flush()


def bytes_of(t):
    t = t.detach()
    if hasattr(t, "to_local"):
        t = t.to_local()
    return t.contiguous().view(-1).view(torch.uint8).numpy().tobytes()


def digest(tensors):
    h = hashlib.sha256()
    for t in tensors:
        h.update(b"-" if t is None else bytes_of(t))
    return h.hexdigest()[:16]


def random_states():
    h = hashlib.sha256(bytes_of(torch.get_rng_state()))
    h.update(repr(random.getstate()).encode())
    h.update(repr(numpy.random.get_state()).encode())
    return h.hexdigest()[:16]


def note(n, loss, *models):
    """The state after a backward pass, before its gradients are cleared."""
    p = [p for m in models for p in m.parameters()]
    say(f"step {n} loss {float(loss):.17g} grads {digest(x.grad for x in p)} weights {digest(p)} random {random_states()}")


# ---- models ----

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.down(nn.functional.gelu(self.up(self.norm(x)))))


class Net(nn.Module):
    def __init__(self, width=16, layers=3, ends=True):
        super().__init__()
        self.inp = nn.Linear(8, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(layers))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = self.inp(x)
        for layer in self.layers:
            x = layer(x)
        return self.out(x)


class Checkpointed(Net):
    reentrant = False

    def forward(self, x):
        from torch.utils.checkpoint import checkpoint
        x = self.inp(x)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=self.reentrant)
        return self.out(x)


class Pairs(torch.utils.data.Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(7)
        self.x = torch.randn(n, 8, generator=g)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.x[i].sum().sin()[None]


def batch(n, rows=8):
    x = torch.randn(rows, 8, generator=torch.Generator().manual_seed(100 * n + rank))
    return x, x.sum(1, keepdim=True).sin()


def loss_of(model, n):
    x, y = batch(n)
    return nn.functional.mse_loss(model(x), y)


# ---- plain PyTorch ----

def train(model, optimizer=None, show=None):
    o = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-2)
    for n in range(STEPS):
        o.zero_grad()
        loss = loss_of(model, n)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        o.step()
        note(n, loss, show or model)


def ddp():
    train(DDP(Net(), bucket_cap_mb=0.002))


def fsdp1():
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    train(FSDP(Net(), auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=torch.device("cpu")))


def fsdp1_orig():
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    train(FSDP(Net(), auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=torch.device("cpu"), use_orig_params=True))


def fsdp2():
    from torch.distributed.fsdp import fully_shard
    m, mesh = Net(), dist.device_mesh.init_device_mesh("cpu", (size,), mesh_dim_names=("dp",))
    for layer in m.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(m, mesh=mesh)
    train(m)


def accumulation():
    m = DDP(Net())
    o = torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9)
    for n in range(STEPS):
        o.zero_grad()
        for k in range(4):
            if k < 3:
                with m.no_sync():
                    loss = loss_of(m, 4 * n + k) / 4
                    loss.backward()
            else:
                loss = loss_of(m, 4 * n + k) / 4
                loss.backward()
        o.step()
        note(n, loss, m)


def amp():
    m = DDP(Net())
    o = torch.optim.AdamW(m.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 40, growth_interval=5)
    for n in range(STEPS):
        o.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16 if n % 2 else torch.bfloat16):
            loss = loss_of(m, n)
        scaler.scale(loss).backward()
        scaler.unscale_(o)
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        scaler.step(o)
        scaler.update()
        note(n, loss, m)
    say(f"scale {scaler.get_scale()}")


def lbfgs():
    m = Net(layers=1).eval()
    o = torch.optim.LBFGS(m.parameters(), lr=0.5, max_iter=4)
    for n in range(STEPS):
        def closure():
            o.zero_grad()
            loss = loss_of(m, 0)
            loss.backward()
            return loss
        note(n, o.step(closure), m)


def gan():
    d, g = DDP(Net(layers=1)), DDP(nn.Sequential(nn.Linear(2, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8)))
    od, og = torch.optim.Adam(d.parameters(), lr=1e-2), torch.optim.Adam(g.parameters(), lr=1e-2)
    for n in range(STEPS):
        real, noise = batch(n)[0], torch.randn(8, 2)
        od.zero_grad()
        ld = nn.functional.softplus(-d(real)).mean() + nn.functional.softplus(d(g(noise).detach())).mean()
        ld.backward()
        od.step()
        og.zero_grad()
        lg = nn.functional.softplus(-d.module(g(noise))).mean()
        lg.backward()
        og.step()
        note(n, ld + lg, d, g)


def checkpoint():
    train(DDP(Checkpointed()))


def checkpoint_reentrant():
    Checkpointed.reentrant = True
    m = Checkpointed()
    o = torch.optim.AdamW(m.parameters(), lr=1e-2)
    for n in range(STEPS):
        o.zero_grad()
        loss = loss_of(m, n)
        loss.backward()
        for p in m.parameters():
            dist.all_reduce(p.grad)
        o.step()
        note(n, loss, m)


def compiled():
    m = Net(layers=2)
    fast = torch.compile(m, backend=os.environ.get("PROGRAMS_BACKEND", "inductor"))
    train(DDP(fast))
    say(f"graphs {torch._dynamo.utils.counters['stats']['unique_graphs']} breaks {sum(torch._dynamo.utils.counters['graph_break'].values())}")


def evaluation():
    """Training with an evaluation between steps, and metrics."""
    m = DDP(Net())
    o = torch.optim.AdamW(m.parameters(), lr=1e-2)
    for n in range(STEPS):
        m.train()
        o.zero_grad()
        loss = loss_of(m, n)
        loss.backward()
        o.step()
        note(n, loss, m)
        if n % 5 == 4:
            m.eval()
            with torch.no_grad():
                t = loss_of(m, 1000 + n)
            dist.all_reduce(t)
            say(f"eval {n} {t.item():.17g}")


def loaders(how, persistent=False):
    m = Net(layers=1)
    o = torch.optim.SGD(m.parameters(), lr=0.01)
    data = Pairs(8 * 10 * size)
    sampler = torch.utils.data.distributed.DistributedSampler(data)
    loader = torch.utils.data.DataLoader(data, batch_size=8, num_workers=2, multiprocessing_context=how,
                                         persistent_workers=persistent, sampler=sampler)
    n = 0
    while n < STEPS:
        sampler.set_epoch(n)
        for x, y in loader:
            if n == STEPS:
                break
            o.zero_grad()
            loss = nn.functional.mse_loss(m(x), y)
            loss.backward()
            for p in m.parameters():
                dist.all_reduce(p.grad)
            o.step()
            note(n, loss, m)
            n += 1


def loader_fork():
    loaders("fork")


def loader_spawn():
    loaders("spawn")


def loader_persistent():
    loaders("fork", True)


# ---- trainers ----

def language_model():
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(vocab_size=97, n_positions=32, n_embd=16, n_layer=2, n_head=2,
                                      bos_token_id=0, eos_token_id=0, loss_type="ForCausalLM"))


def sentences(n):
    g = torch.Generator().manual_seed(5)
    ids = torch.randint(0, 97, (n, 16), generator=g)
    return [{"input_ids": row, "labels": row} for row in ids]


def trainer():
    import tempfile
    from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

    class Notes(TrainerCallback):
        def on_pre_optimizer_step(self, args, state, control, model=None, **k):
            self.grads = digest(p.grad for p in model.parameters())

        def on_log(self, args, state, control, logs=None, **k):
            say(f"log {state.global_step} {sorted((a, f'{b:.17g}') for a, b in logs.items() if a in ('loss', 'grad_norm', 'learning_rate'))}")

        def on_step_end(self, args, state, control, model=None, **k):
            say(f"step {state.global_step} grads {self.grads} weights {digest(model.parameters())} random {random_states()}")

    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(output_dir=folder, max_steps=STEPS, per_device_train_batch_size=2,
                                 gradient_accumulation_steps=2, learning_rate=1e-3, logging_steps=1, save_strategy="no",
                                 report_to=[], use_cpu=True, disable_tqdm=True, ddp_backend="gloo")
        t = Trainer(model=language_model(), args=args, train_dataset=sentences(8 * STEPS * size), callbacks=[Notes()])
        t.remove_callback(PrinterCallback)  # it says how long it took
        t.train()


def accelerate():
    from accelerate import Accelerator
    a = Accelerator(cpu=True, gradient_accumulation_steps=2)
    m = language_model()
    loader = torch.utils.data.DataLoader(sentences(4 * STEPS * size), batch_size=2, shuffle=True,
                                         generator=torch.Generator().manual_seed(3))
    m, o, loader = a.prepare(m, torch.optim.AdamW(m.parameters(), lr=1e-3), loader)
    n = 0
    for b in loader:
        with a.accumulate(m):
            loss = m(**b).loss
            a.backward(loss)
            if a.sync_gradients:
                a.clip_grad_norm_(m.parameters(), 1.0)
            o.step()
            if a.sync_gradients:
                note(n, loss, m)
            o.zero_grad()
        n += 1


def lightning():
    import logging
    import warnings
    import tempfile
    import lightning as L
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Lit(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def training_step(self, b, i):
            x, y = b
            self.loss = nn.functional.mse_loss(self.net(x), y)
            return self.loss

        def validation_step(self, b, i):
            x, y = b
            self.log("val", nn.functional.mse_loss(self.net(x), y), sync_dist=True)

        def on_before_zero_grad(self, o):
            if hasattr(self, "loss"):
                note(self.global_step, self.loss, self.net)

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-2)

    load = [torch.utils.data.DataLoader(Pairs(n), batch_size=8) for n in (8 * 2 * STEPS * size, 16 * size)]
    with tempfile.TemporaryDirectory() as folder:
        t = L.Trainer(max_steps=STEPS, accelerator="cpu", devices=size, strategy="ddp", logger=False, enable_checkpointing=False,
                      enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
                      accumulate_grad_batches=2, gradient_clip_val=1.0, val_check_interval=min(10, 2 * STEPS))
        t.fit(Lit(), *load)
        say(f"step end weights {digest(t.lightning_module.parameters())} random {random_states()}")


def zero(stage):
    os.environ["DS_ACCELERATOR"] = "cpu"
    import logging
    import deepspeed
    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)
    # Else it compiles C++ for minutes at the first start, and where that was ended in the middle each later one waits for it.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    m = Net()
    engine, *_ = deepspeed.initialize(model=m, optimizer=torch.optim.AdamW(m.parameters(), lr=1e-2), config={
        "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 2, "gradient_clipping": 1.0,
        "zero_allow_untested_optimizer": True, "zero_optimization": {"stage": stage}, "bf16": {"enabled": stage == 2}})
    for n in range(2 * STEPS):
        x, y = batch(n)
        if stage == 2:
            x, y = x.bfloat16(), y.bfloat16()
        loss = nn.functional.mse_loss(engine(x), y)
        engine.backward(loss)
        engine.step()
        say(f"step {n} loss {loss.item():.17g} weights {digest(m.parameters())} random {random_states()}")
    master = [p for g in engine.optimizer.param_groups for p in g["params"]]
    say(f"master {digest(master)}")


def zero1():
    zero(1)


def zero2():
    zero(2)


def zero3():
    zero(3)


def on_cpu(function):
    def made(*a, **k):
        return function(*a, **{n: "cpu" if n == "device" and "cuda" in str(v) else v for n, v in k.items()})
    return made


def megatron():
    """megatron-core's parallel state, its DistributedDataParallel with buffers of gradients (main_grad) and DistributedOptimizer."""
    from megatron.core import parallel_state
    from megatron.core.distributed import DistributedDataParallel as MegatronDDP, DistributedDataParallelConfig, finalize_model_grads
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
    from megatron.core.transformer import TransformerConfig
    for name in ("tensor", "zeros", "empty", "full", "ones", "zeros_like", "empty_like"):  # it asks for CUDA by name
        setattr(torch, name, on_cpu(getattr(torch, name)))
    torch.cuda.current_device = lambda: torch.device("cpu")
    torch.Tensor.cuda = lambda t, *a, **k: t
    kind = torch.Tensor.type
    torch.Tensor.type = lambda t, *a, **k: kind(t, *a, **k) if a or k else kind(t).replace("torch.", "torch.cuda.")
    parallel_state.initialize_model_parallel(1, 1)
    config = TransformerConfig(num_layers=2, hidden_size=16, num_attention_heads=2, use_cpu_initialization=True)
    m = Net()
    m = MegatronDDP(config, DistributedDataParallelConfig(use_distributed_optimizer=True, overlap_grad_reduce=False), m)
    o = get_megatron_optimizer(OptimizerConfig(optimizer="adam", lr=1e-2, use_distributed_optimizer=True, clip_grad=1.0), [m])
    for n in range(STEPS):
        m.zero_grad_buffer()
        o.zero_grad()
        loss = loss_of(m, n)
        loss.backward()
        finalize_model_grads([m])
        ok, norm, _ = o.step()
        say(f"step {n} loss {loss.item():.17g} norm {float(norm):.17g} main_grad {digest(p.main_grad for p in m.parameters())} "
            f"weights {digest(m.parameters())} random {random_states()}")


def main():
    scene = sys.argv[1]
    torch.set_num_threads(1)
    torch.manual_seed(1)
    random.seed(1)
    numpy.random.seed(1)
    if scene not in ("trainer", "accelerate", "lightning"):
        dist.init_process_group("gloo")
    globals()[scene]()
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()
    say(f"{scene}: ok")
    # As in trainings.py: destructors at exit end now and then with "terminate called without an active exception".
    os._exit(0)


if __name__ == "__main__":  # workers that are spawned read this file, too
    main()

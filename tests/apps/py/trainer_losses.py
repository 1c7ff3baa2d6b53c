# SPDX-License-Identifier: Apache-2.0
"""
Training loops of the trainers that are used most, with 4 micro steps. Each says its losses as such a program prints them:
`step loss VALUE` of every step into FILE.<rank>, or, where the trainer prints what it has gathered, into FILE.mean (rank 0).

    torchrun --nproc_per_node 2 trainer_losses.py SCENE FILE

Scenes: accelerate, trainer (a model that is told the number of tokens), trainer_plain (one that is not), lightning, deepspeed,
zero (ZeRO 2), megatron (the schedule of megatron-core). Prints a digest of weights and random state.
"""
import hashlib
import logging
import os
import sys
import tempfile
import warnings

import torch
import torch.distributed as dist
from torch import nn

STEPS, MICRO = 5, 4
scene, path = sys.argv[1:3]
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.manual_seed(3)
torch.set_num_threads(1)
warnings.simplefilter("ignore")
out = None


def say(step, value, where=None):
    global out
    out = out or open(f"{path}.{rank if where is None else where}", "w")
    print(step, "loss", repr(float(value)), file=out, flush=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 1)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


def batch(i):
    g = torch.Generator().manual_seed(1000 * rank + i)
    x = torch.randn(8, 8, generator=g)
    return x, x.sum(1, keepdim=True).sin()


class Pairs(torch.utils.data.Dataset):
    def __len__(self):
        return 8 * MICRO * STEPS * size

    def __getitem__(self, i):
        x = torch.randn(8, generator=torch.Generator().manual_seed(i))
        return x, x.sum()[None].sin()


def micro_losses(step, losses):
    """A program prints the mean of its micro batches' losses."""
    say(step, sum(losses) / len(losses))


def accelerate():
    from accelerate import Accelerator
    a = Accelerator(cpu=True, gradient_accumulation_steps=MICRO)
    m = Net()
    m, o, loader = a.prepare(m, torch.optim.AdamW(m.parameters(), lr=1e-2), torch.utils.data.DataLoader(Pairs(), batch_size=8))
    losses, step = [], 0
    for x, y in loader:
        with a.accumulate(m):
            loss = nn.functional.mse_loss(m(x), y)
            a.backward(loss)
            losses.append(loss.item())
            o.step()
            o.zero_grad()
            if a.sync_gradients:
                micro_losses(step, losses)
                losses, step = [], step + 1
    return m


def language_model():
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(vocab_size=97, n_positions=32, n_embd=16, n_layer=1, n_head=2, bos_token_id=0,
                                      eos_token_id=0, loss_type="ForCausalLM"))


class PlainModel(nn.Module):
    """Its loss is the mean over its micro batch, whatever the trainer knows of the others."""

    def __init__(self):
        super().__init__()
        self.inner = language_model()

    def forward(self, input_ids, labels):
        return {"loss": self.inner(input_ids=input_ids, labels=labels).loss}


def trainer(plain=False):
    from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

    class Lines(TrainerCallback):
        def on_log(self, args, state, control, logs=None, **k):
            if "loss" in logs and rank == 0:
                say(state.global_step - 1, logs["loss"], "mean")

    g = torch.Generator().manual_seed(5)
    rows = torch.randint(0, 97, (8 * STEPS * MICRO * size, 12), generator=g)
    labels = rows.clone()
    for i in range(len(rows)):  # micro batches have different numbers of tokens
        labels[i, :i % 7] = -100
    data = [{"input_ids": r, "labels": t} for r, t in zip(rows, labels)]
    m = PlainModel() if plain else language_model()
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(output_dir=folder, max_steps=STEPS, per_device_train_batch_size=2, learning_rate=1e-3,
                                 gradient_accumulation_steps=MICRO, logging_steps=1, save_strategy="no", report_to=[],
                                 use_cpu=True, disable_tqdm=True, ddp_backend="gloo")
        t = Trainer(model=m, args=args, train_dataset=data, callbacks=[Lines()])
        t.remove_callback(PrinterCallback)  # it says how long it took
        t.train()
    return m


def trainer_plain():
    return trainer(True)


def lightning():
    import lightning as L
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    losses = []

    class Lit(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def training_step(self, b, i):
            x, y = b
            loss = nn.functional.mse_loss(self.net(x), y)
            losses.append(loss.item())
            return loss

        def on_train_batch_end(self, *a):
            if len(losses) == MICRO:
                micro_losses(self.global_step - 1, losses)
                losses.clear()

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-2)

    m = Lit()
    with tempfile.TemporaryDirectory() as folder:
        t = L.Trainer(max_steps=STEPS, accelerator="cpu", devices=size, strategy="ddp", logger=False, enable_checkpointing=False,
                      enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
                      accumulate_grad_batches=MICRO, gradient_clip_val=1.0)
        t.fit(m, torch.utils.data.DataLoader(Pairs(), batch_size=8))
    return m


def deepspeed(stage=0):
    import deepspeed as ds
    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)
    # Else it compiles C++ for minutes at the first start.
    ds.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    m = Net()
    groups = [{"params": [m.a.weight, m.b.weight]}, {"params": [m.a.bias, m.b.bias], "weight_decay": 0.0}]
    engine, *_ = ds.initialize(model=m, optimizer=torch.optim.AdamW(groups, lr=1e-2), config={
        "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": MICRO, "gradient_clipping": 1.0,
        "zero_allow_untested_optimizer": True, "zero_optimization": {"stage": stage}})
    for step in range(STEPS):
        losses = []
        for k in range(MICRO):
            x, y = batch(MICRO * step + k)
            loss = nn.functional.mse_loss(engine(x), y)
            engine.backward(loss)
            engine.step()
            losses.append(loss.item())
        micro_losses(step, losses)
    return m


def zero():
    return deepspeed(2)


def on_cpu(function):
    def made(*a, **k):
        return function(*a, **{n: "cpu" if n == "device" and "cuda" in str(v) else v for n, v in k.items()})
    return made


def megatron():
    from megatron.core import parallel_state
    from megatron.core.distributed import DistributedDataParallel as DDP, DistributedDataParallelConfig
    from megatron.core.distributed import finalize_model_grads
    from megatron.core.enums import ModelType
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
    from megatron.core.pipeline_parallel import get_forward_backward_func
    from megatron.core.transformer import TransformerConfig
    for name in ("tensor", "zeros", "empty", "full", "ones", "zeros_like", "empty_like"):  # it asks for CUDA by name
        setattr(torch, name, on_cpu(getattr(torch, name)))
    torch.cuda.current_device = lambda: torch.device("cpu")
    torch.Tensor.cuda = lambda t, *a, **k: t
    kind = torch.Tensor.type
    torch.Tensor.type = lambda t, *a, **k: kind(t, *a, **k) if a or k else kind(t).replace("torch.", "torch.cuda.")
    parallel_state.initialize_model_parallel(1, 1)
    config = TransformerConfig(num_layers=2, hidden_size=16, num_attention_heads=2, use_cpu_initialization=True)

    class Model(Net):
        def set_input_tensor(self, t):
            pass

    inner = Model()
    inner.config, inner.model_type = config, ModelType.encoder_or_decoder
    m = DDP(config, DistributedDataParallelConfig(use_distributed_optimizer=True), inner)
    o = get_megatron_optimizer(OptimizerConfig(optimizer="adam", lr=1e-2, use_distributed_optimizer=True, clip_grad=1.0), [m])
    config.grad_scale_func, config.finalize_model_grads_func = o.scale_loss, finalize_model_grads

    def forward_step(batches, model):
        x, y = next(batches)

        def loss_of(y_hat):
            loss = nn.functional.mse_loss(y_hat, y)
            return loss, {"loss": loss.detach().clone()}

        return model(x), loss_of

    batches = iter([batch(i) for i in range(STEPS * MICRO)])
    for step in range(STEPS):
        m.zero_grad_buffer()
        o.zero_grad()
        got = get_forward_backward_func()(forward_step_func=forward_step, data_iterator=batches, model=[m], num_microbatches=MICRO,
                                          seq_length=8, micro_batch_size=8, forward_only=False)
        o.step()
        micro_losses(step, [g["loss"].item() for g in got])
    return inner


if scene not in ("accelerate", "trainer", "trainer_plain", "lightning"):
    dist.init_process_group("gloo")
model = globals()[scene]()
h = hashlib.sha256(torch.get_rng_state().numpy().tobytes())
for p in model.parameters():
    h.update(p.detach().numpy().tobytes())
print(f"{scene} rank {rank}: {h.hexdigest()}", flush=True)
if dist.is_initialized():
    dist.barrier()
# Destructors at exit end now and then with "terminate called without an active exception".
os._exit(0)

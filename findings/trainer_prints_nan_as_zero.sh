#!/usr/bin/env bash
# Transformers 5.24.0, PyTorch 2.13.0: the loss that Trainer reports when the loss is NaN.
#
# Question: from step 6 of 10 on the loss is NaN. Which losses are in the log at `logging_steps=1`, at `logging_steps=5` and 10, and
#           what is the training's loss at the end?
# Guess:    nan.
# Real:     0.0 with `logging_steps=1` and 5, and 0.5 for the whole training; with 10 it is 0.917 for both, a number that no step had.
#           A loss that is not finite is replaced by the sum since the last line of the log, divided by the steps since then plus one
#           (`logging_nan_inf_filter`, on by default). grad_norm alone shows the NaN, and the weights are NaN.
# Matters:  a dashboard shows a loss that falls to 0 or stays as it was while the model is destroyed.
. "$(dirname "$0")/lib.sh"
environment transformers torch==2.13.0 transformers==5.24.0 accelerate==1.15.0 numpy
cat >"$work/program.py" <<'P'
import contextlib, io, sys
import torch
from transformers import Trainer, TrainingArguments
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.calls = torch.nn.Linear(1, 1), 0
        torch.nn.init.zeros_(self.layer.weight), torch.nn.init.zeros_(self.layer.bias)
    def forward(self, x, labels=None):
        self.calls += 1
        loss = (self.layer(x) - 1).square().mean()
        return {"loss": loss * float("nan") if self.calls > 5 else loss, "logits": x}
data = [{"x": torch.ones(1), "labels": torch.ones(1)}] * 40
for steps, more in (1, {}), (5, {}), (10, {}), (1, {"logging_nan_inf_filter": False}):
    arguments = TrainingArguments(sys.argv[1], max_steps=10, per_device_train_batch_size=4, logging_steps=steps, report_to=[],
                                  use_cpu=True, disable_tqdm=True, save_strategy="no", learning_rate=1e-9, **more)
    trainer = Trainer(Model(), arguments, train_dataset=data)
    with contextlib.redirect_stdout(io.StringIO()):
        whole = trainer.train().training_loss
    print(f"logging_steps={steps} {more or ''}: losses", [h["loss"] for h in trainer.state.log_history if "loss" in h])
    print(f"  of the training: {whole}, last grad_norm: {trainer.state.log_history[-2]['grad_norm']},"
          f" weight: {trainer.model.layer.weight.item()}")
P
"$python" -W ignore "$work/program.py" "$work/out" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
logging_steps=1 : losses [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
  of the training: 0.5, last grad_norm: nan, weight: nan
logging_steps=5 : losses [1.0, 0.0]
  of the training: 0.5, last grad_norm: nan, weight: nan
logging_steps=10 : losses [0.9166666984558105]
  of the training: 0.9166666984558105, last grad_norm: nan, weight: nan
logging_steps=1 {'logging_nan_inf_filter': False}: losses [1.0, 1.0, 1.0, 1.0, 1.0, nan, nan, nan, nan, nan]
  of the training: nan, last grad_norm: nan, weight: nan
S

#!/usr/bin/env bash
# TorchMetrics 1.9.0: the aggregations with which losses and gradient norms are logged, given NaN.
#
# Question: what are the sum, maximum, minimum and mean of NaN and NaN, and of 1, NaN and 3, with the default settings?
# Guess:    NaN in all of them: a loss that is NaN is what one logs losses for.
# Real:     NaN is taken out first, with a warning. The maximum of nothing is then -inf, the minimum inf, the sum 0; only the mean is NaN.
#           The mean of 1, NaN and 3 is 2.
# Matters:  a training whose every loss is NaN has the summed loss 0, the best there is: early stopping and the choice of the best
#           checkpoint follow it.
. "$(dirname "$0")/lib.sh"
environment torchmetrics torchmetrics==1.9.0 torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch
from torchmetrics.aggregation import MaxMetric, MeanMetric, MinMetric, SumMetric
nan = float("nan")
for metric in SumMetric, MaxMetric, MinMetric, MeanMetric:
    for values in [nan, nan], [1.0, nan, 3.0]:
        m = metric()
        each = [m(torch.tensor(v)).item() for v in values]
        print(f"{metric.__name__} of {values}: one by one {each}, in all {m.compute().item()}")
P
"$python" -W ignore "$work/program.py" >"$work/seen" || exit 2
expect_output "$work/seen" <<'S'
SumMetric of [nan, nan]: one by one [0.0, 0.0], in all 0.0
SumMetric of [1.0, nan, 3.0]: one by one [1.0, 0.0, 3.0], in all 4.0
MaxMetric of [nan, nan]: one by one [-inf, -inf], in all -inf
MaxMetric of [1.0, nan, 3.0]: one by one [1.0, -inf, 3.0], in all 3.0
MinMetric of [nan, nan]: one by one [inf, inf], in all inf
MinMetric of [1.0, nan, 3.0]: one by one [1.0, inf, 3.0], in all 1.0
MeanMetric of [nan, nan]: one by one [nan, nan], in all nan
MeanMetric of [1.0, nan, 3.0]: one by one [1.0, nan, 3.0], in all 2.0
S

#!/usr/bin/env bash
# PaddlePaddle 3.3.1, CPU: the cross entropy of a confident wrong answer.
#
# Question: the logits are v and 0, the label is the second. What are cross_entropy(), log_softmax() and softmax() of the second for v = 60,
#           70, 100 and 1000, in float32 and float64?
# Guess:    a loss of v, a log_softmax of -v, a softmax of exp(-v) down to 0: what log_softmax is there for.
# Real:     from 64 on all stay: the loss is 64, log_softmax -64, softmax 1.6e-28, in float64 too. The gradients are right (1 and -1).
#           logsumexp() is right: v - logsumexp() gives the true loss.
# Matters:  a training that diverges shows a loss that levels off at 64 (or is averaged with such), while logits grow without bound;
#           perplexities and log-likelihoods of sequences are too good, and differ from those of other frameworks by the same weights.
. "$(dirname "$0")/lib.sh"
environment paddle paddlepaddle==3.3.1
cat >"$work/program.py" <<'P'
import paddle
import paddle.nn.functional as F
for kind in "float32", "float64":
    for v in 60.0, 70.0, 100.0, 1000.0:
        x = paddle.to_tensor([[v, 0.0]], dtype=kind, stop_gradient=False)
        loss = F.cross_entropy(x, paddle.to_tensor([1]))
        loss.backward()
        print(f"{kind} {v:g}: loss {loss.item():g}, gradient {x.grad.tolist()[0]}, log_softmax {F.log_softmax(x)[0, 1].item():g}, "
              f"softmax {F.softmax(x)[0, 1].item():.2g}, logsumexp {paddle.logsumexp(x).item():g}")
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
float32 60: loss 60, gradient [1.0, -1.0], log_softmax -60, softmax 8.8e-27, logsumexp 60
float32 70: loss 64, gradient [1.0, -1.0], log_softmax -64, softmax 1.6e-28, logsumexp 70
float32 100: loss 64, gradient [1.0, -1.0], log_softmax -64, softmax 1.6e-28, logsumexp 100
float32 1000: loss 64, gradient [1.0, -1.0], log_softmax -64, softmax 1.6e-28, logsumexp 1000
float64 60: loss 60, gradient [1.0, -1.0], log_softmax -60, softmax 8.8e-27, logsumexp 60
float64 70: loss 64, gradient [1.0, -1.0], log_softmax -64, softmax 1.6e-28, logsumexp 70
float64 100: loss 64, gradient [1.0, -1.0], log_softmax -64, softmax 1.6e-28, logsumexp 100
float64 1000: loss 64, gradient [1.0, -1.0], log_softmax -64, softmax 1.6e-28, logsumexp 1000
S

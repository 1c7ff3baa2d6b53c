# SPDX-License-Identifier: Apache-2.0
"""
Attention in several forms: `attention.py FILE ROWS` has lines `step kind name numbers`, by formulas written down in float64; prints its
losses and a checksum. ROWS: of a head, for entropy and softmax_max; 0: all. `attention.py FILE ROWS msprobe`: these two alone, by
msprobe's own functions, of all rows.
"""
import math
import sys
import zlib

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
truth = open(sys.argv[1], "w")
ROWS, PEER = int(sys.argv[2]), "msprobe" in sys.argv
BATCH, TOKENS, WIDTH, HEADS = 2, 37, 32, 4
step = 0


def note(kind, name, *values):
    print(step, kind, name, *(repr(float(v)) for v in values), file=truth)


def note_exact(name, logits, sink=False):
    """logits: [batch, heads, queries, keys], as softmax gets them"""
    if not PEER:
        for h, v in enumerate(logits.detach().double().amax((0, 2, 3))):
            note("max_attention_logit", f"{name}/head_{h}", v, -math.inf if sink else v)


def scores(q, k):
    return q.detach().double() @ k.detach().double().transpose(-1, -2) / math.sqrt(q.shape[-1])


def note_bounds(name, s):
    """s: logits in float64, -inf where masked"""
    if PEER:
        return
    keys = (s > -math.inf).sum(-1)
    seen = keys > 0
    lse = torch.logsumexp(s, -1)
    for h in range(s.shape[1]):
        upper = lse[:, h][seen[:, h]].max()
        lower = (lse - keys.clamp(min=1).log())[:, h][seen[:, h]].max()
        assert lower <= s[:, h].max() <= upper
        note("max_attention_logit", f"{name}/head_{h}", upper, lower)


def note_spread(name, q, k):
    if PEER:
        from msprobe.pytorch.monitor import features
        order = [t.detach().permute(0, 2, 1, 3) for t in (q, k)]
        entropy, most = features.cal_entropy(features.cal_qkt(*order, order="b,s,h,d"))
        note("attention_entropy", name, entropy, TOKENS, TOKENS)
        note("softmax_max", name, most, TOKENS, TOKENS)
        return
    rows = list(range(TOKENS)) if not ROWS or ROWS >= TOKENS else [(2 * i + 1) * TOKENS // (2 * ROWS) for i in range(ROWS)]
    s = scores(q, k)[0, 0].tolist()
    entropy, most = [], []
    for i in rows:
        e = [math.exp(x - max(s[i][:i + 1])) for x in s[i][:i + 1]]
        p = [x / sum(e) for x in e]
        entropy.append(-sum(x * math.log(x) for x in p if x))
        most.append(max(p))
    note("attention_entropy", name, sum(entropy) / len(rows), len(rows), TOKENS)
    note("softmax_max", name, sum(most) / len(rows), len(rows), TOKENS)


class Attention(nn.Module):
    def __init__(self, form, name):
        super().__init__()
        self.form, self.label = form, name
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        if form == "sink":
            self.sinks = nn.Parameter(torch.full((HEADS,), 3.0))
        if form == "tracked":
            self.register_buffer("max_attention_logit", torch.zeros(HEADS))
        if form == "packed":
            self.num_heads = HEADS

    def forward(self, x):
        q, k, v = self.qkv(x).view(BATCH, TOKENS, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        causal = torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()
        if self.form == "causal":
            note_bounds(self.label, scores(q, k).masked_fill(~causal, -math.inf))
            note_spread(self.label, q, k)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        elif self.form == "masked":  # a different length of each sequence, a bias, and a row without keys
            mask = torch.randn(BATCH, 1, TOKENS, TOKENS)
            for b in range(BATCH):
                mask[b, :, :, TOKENS - 9 * (b + 1):] = -math.inf
            mask[0, :, 5] = -math.inf
            note_bounds(self.label, scores(q, k) + mask.double())
            note_spread(self.label, q, k)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        elif self.form == "boolean":
            note_bounds(self.label, scores(q, k).masked_fill(~causal, -math.inf))
            note_spread(self.label, q, k)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=causal)
        elif self.form == "dropped":  # not fused
            note_exact(self.label, scores(q, k))
            note_spread(self.label, q, k)
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1)
        elif self.form == "packed":
            s = torch.bmm(q.flatten(0, 1), k.flatten(0, 1).transpose(1, 2)) / math.sqrt(WIDTH / HEADS)
            note_exact(self.label, s.view(BATCH, HEADS, TOKENS, TOKENS))
            y = torch.bmm(s.softmax(-1), v.flatten(0, 1)).view(BATCH, HEADS, TOKENS, WIDTH // HEADS)
        else:
            s = (q @ k.transpose(-1, -2) / math.sqrt(WIDTH / HEADS)).masked_fill(~causal, -math.inf)
            if self.form == "sink":
                s = torch.cat([s, self.sinks.view(1, HEADS, 1, 1).expand(BATCH, HEADS, TOKENS, 1)], -1)
            if self.form == "tracked":
                self.max_attention_logit = s.detach().amax((0, 2, 3)) + 1  # it is taken as it is
                note_exact(self.label, self.max_attention_logit.view(1, HEADS, 1, 1))
            else:
                note_exact(self.label, s, self.form == "sink")
            y = s.softmax(-1)[..., :TOKENS] @ v
        return x + y.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        forms = "causal", "masked", "boolean", "dropped", "plain", "packed", "sink", "tracked"
        self.layers = nn.ModuleList(Attention(f, f"layers.{n}") for n, f in enumerate(forms))
        self.head = nn.Linear(WIDTH, 5)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x).softmax(-1)  # of three dimensions, and no attention


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=0.01)
for step in range(4):
    loss = net(torch.randn(BATCH, TOKENS, WIDTH)).square().mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    print(repr(loss.item()))
truth.close()
print(zlib.crc32(b"".join(p.detach().numpy().tobytes() for p in net.parameters())))

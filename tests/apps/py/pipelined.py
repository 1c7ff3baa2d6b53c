"""A network in pipeline stages, one a rank. MODE schedule: PyTorch's Schedule1F1B, whose stages say of each message what it is;
by_hand: send_forward() and others as Megatron calls them, with receives begun ahead, so that the order of messages tells nothing.
Prints losses, and a line for each message: T step rank op peer direction micro-batch."""
import sys

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

MODE, STEPS, PARTS = sys.argv[1], 3, 4
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(7 + rank)
part = torch.nn.Linear(6, 6)
optimizer = torch.optim.SGD(part.parameters(), lr=0.05)
step = 0


def say(op, peer, way, n):
    print("T", step, rank, op, peer, way, n, flush=True)


def by_schedule():
    global step
    stage = PipelineStage(part, rank, size, torch.device("cpu"))
    for name, op, way in (("get_fwd_recv_ops", "recv", "forward"), ("get_fwd_send_ops", "send", "forward"),
                          ("get_bwd_recv_ops", "recv", "backward"), ("get_bwd_send_ops", "send", "backward")):
        def told(n, real=getattr(stage, name), op=op, way=way):
            ops = real(n)
            for p in ops:
                say(op, p.peer, way, n)
            return ops
        setattr(stage, name, told)
    schedule = Schedule1F1B(stage, PARTS, loss_fn=torch.nn.functional.mse_loss)
    for step in range(STEPS):
        torch.manual_seed(step)
        x, y, losses = torch.randn(8, 6), torch.randn(8, 6), []
        schedule.step(*([x] if rank == 0 else []), **({"target": y, "losses": losses} if rank == size - 1 else {}))
        optimizer.step()
        optimizer.zero_grad()
        print("loss", rank, step, [float(v.detach()) for v in losses], float(part.weight.detach().sum()), flush=True)


def send_forward(x, n):
    say("send", rank + 1, "forward", n)
    return dist.isend(x, rank + 1)


def recv_backward(g, n):
    say("recv", rank + 1, "backward", n)
    return dist.irecv(g, rank + 1)


def recv_forward(x, n):
    say("recv", rank - 1, "forward", n)
    return dist.irecv(x, rank - 1)


def send_backward(g, n):
    say("send", rank - 1, "backward", n)
    return dist.isend(g, rank - 1)


def run_first(x):
    """Receives of gradients stand open before anything is sent."""
    grads = [torch.empty(2, 6) for _ in range(PARTS)]
    open_ = [recv_backward(g, n) for n, g in enumerate(grads)]
    outs = [part(v) for v in x.chunk(PARTS)]
    for w in [send_forward(o.detach(), n) for n, o in enumerate(outs)] + open_:
        w.wait()
    for o, g in zip(outs, grads):
        o.backward(g)


def run_last(y):
    ins = [torch.empty(2, 6) for _ in range(PARTS)]
    for w in [recv_forward(v, n) for n, v in enumerate(ins)]:
        w.wait()
    for n, (v, t) in enumerate(zip(ins, y.chunk(PARTS))):
        v.requires_grad_()
        torch.nn.functional.mse_loss(part(v), t).backward()
        send_backward(v.grad, n).wait()


def by_hand():
    global step
    for step in range(STEPS):
        torch.manual_seed(step)
        x, y = torch.randn(8, 6), torch.randn(8, 6)
        run_last(y) if rank else run_first(x)
        optimizer.step()
        optimizer.zero_grad()
        print("loss", rank, step, float(part.weight.detach().sum()), flush=True)


by_schedule() if MODE == "schedule" else by_hand()
dist.destroy_process_group()

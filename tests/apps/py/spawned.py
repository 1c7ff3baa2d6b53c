"""A job on gloo that Python's own launchers start, and of which a rank fails in a way that leaves no uncaught exception.
spawned.py HOW RANK STEP PORT: spawn (torch.multiprocessing.spawn), fork and process (multiprocessing.Process, forked and
started again), and of ranks of the first: exit (the exception is caught, its text printed, sys.exit), log (logged, os._exit), abort (printed, os.abort),
killed (as exit, and a signal ends it on its way out), stays (SystemExit is caught, training goes on, and a signal ends it two steps later),
early (an exception is printed and training goes on; the exit has nothing to do with it), fine (the same, and no exit)"""
import atexit
import logging
import os
import signal
import sys
import traceback


def work(rank, how, who, when, port):
    import torch
    import torch.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=str(rank), WORLD_SIZE="2")
    dist.init_process_group("gloo")
    t = torch.ones(10)
    net = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(when + 6):
        net(torch.ones(2, 3)).sum().backward()
        for p in net.parameters():
            dist.all_reduce(p.grad)
        try:
            if rank == who and step == (1 if how in ("early", "fine") else when):
                raise ValueError(f"batch {step} is bad")
        except ValueError as e:
            if how in ("spawn", "fork", "process"):
                raise
            if how in ("exit", "killed"):
                print("failed:", e, flush=True)
                if how == "killed":
                    atexit.register(os.kill, os.getpid(), signal.SIGKILL)
                sys.exit(3)
            if how == "stays":
                try:
                    sys.exit(3)
                except SystemExit:
                    pass
            if how == "abort":
                traceback.print_exc()
                os.abort()
            if how == "log":
                logging.exception("failed")
                os._exit(4)
            traceback.print_exc()
        if how == "stays" and rank == who and step == when + 2:
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "early" and rank == who and step == when:
            sys.exit(5)
        dist.all_reduce(t)
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    how, who, when, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    if how in ("fork", "process"):
        import multiprocessing

        start = multiprocessing.get_context("fork" if how == "fork" else "spawn")
        ranks = [start.Process(target=work, args=(r, how, who, when, port)) for r in range(2)]
        for p in ranks:
            p.start()
        for p in ranks:
            p.join()
        sys.exit(max(abs(p.exitcode) for p in ranks))
    import torch.multiprocessing

    torch.multiprocessing.spawn(work, args=(how, who, when, port), nprocs=2)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose work a stream does later (completion: stream), and groups of them.
 *
 * Without an active device runtime (a library that computes on the processor), the work is done when the function
 * returns; between group_start and the outermost group_end of a thread, when that returns. Outputs are measured then,
 * on the calling thread. With a device runtime, only the stream knows. With `device: copy` the calling thread puts
 * snapshots on it: of inputs before the real function is called (inside a group, nothing of the group is on the stream
 * yet); of outputs after it, and inside a group after the outermost group_end. Snapshots that have arrived are measured
 * by the next thread that comes here; no thread waits. Otherwise buffers on the device, and all outputs, are recorded
 * without statistics.
 *
 * If the library accepted a call without starting it (lib->in_progress), it is not known when its outputs are valid:
 * they are not measured.
 *
 * Calls that are not completed by a stream (PyTorch's operators) come here too if the adapter has found buffers on a
 * device (operation.on_device), with `device: copy` only. If calls of a lower library do the work (adapter.carried: a
 * process group and NCCL), the caller's stream copies the inputs. The streams of the inner calls copy the outputs after
 * them. That is before the outer call has ended for any thread, so no thread can change or free the memory in between.
 *
 * Lock: the list of pending snapshots has a mutex. It is a leaf except for the backend's functions that are called
 * under it (poll); initialised again in a forked child.
 */
#ifndef PROBE_CALL_STREAM_H
#define PROBE_CALL_STREAM_H

#include "call/call.h"

/*
 * Before the record is opened: decides for each input whether it can be read now, and takes snapshots. Inputs for which
 * neither works are marked nostats.
 */
void stream_enter(struct call *c);

/*
 * For an adapter: the call has a buffer on a device (operation.on_device). At the call's end as well, if only its results are
 * there: then stream_enter() was not called, and nothing marks the stream's time before the call.
 */
void stream_set_on_device(struct operation *w);

/* The call returned: closes its record, or keeps it until its outputs are valid. c->rec is not NULL. */
void stream_leave(struct call *c, int64_t ret);

/* Inside a call that is measured by its inner calls, a function of a library with streams has returned. */
void stream_carried(struct call *c);

/* Call before and after a group function. */
void stream_group_enter(struct call *c);
void stream_group(struct call *c, int64_t ret);

/* True if a group of this call's library is open on this thread. Calls in it take effect at its end. */
bool stream_in_group(const struct call *c);

/* Removes the snapshots of the buffers of a call that gets no record, or no end. */
void stream_remove_operation(struct operation *w);

/* Ends the calls whose snapshots have arrived. Cheap if none is pending. */
void stream_poll(void);

/* Call in a forked child. */
void stream_reset(void);

#endif

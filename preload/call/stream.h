/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose work a stream does later (completion: stream), and groups of them.
 *
 * Where no device's runtime is at work (a library that computes on the processor) the work is done when the function
 * returns, or, between group_start and the outermost group_end of a thread, when that returns: outputs are measured
 * there, on the calling thread. Where one is at work only the stream knows. With `device: copy` snapshots are put on it
 * by the calling thread: of inputs before the real function is called (inside a group nothing of the group is on the
 * stream yet), of outputs after it, inside a group when the outermost group_end has returned. What has arrived is
 * measured by whichever thread comes here next; no thread waits. Otherwise buffers on the device, and all outputs, are
 * recorded without statistics.
 *
 * A call that the library accepted without starting it (lib->in_progress) has outputs at a time that is not known:
 * they are not measured.
 *
 * Calls that something else completes (PyTorch's operators) come here as well where the adapter has found buffers on a device
 * (operation.on_device), with `device: copy` only. Where the work is done by calls of a library below (adapter.carried: a process group
 * and NCCL) inputs are copied by the caller's stream, and outputs after those calls, by the stream that these were given: before
 * the call around them has come to an end for any thread, so no thread can change them or give their memory back in between.
 *
 * Lock: the list of snapshots on their way has a mutex, a leaf but for the backend's functions that are called with it
 * held (poll); made again in a forked child.
 */
#ifndef PROBE_CALL_STREAM_H
#define PROBE_CALL_STREAM_H

#include "call/call.h"

/*
 * Before the record is opened: says of each input whether it can be read now, and takes snapshots.
 * What can be had neither way is marked nostats.
 */
void stream_enter(struct call *c);

/* The call came back: closes its record, or keeps it until its outputs are valid. c->rec is not NULL. */
void stream_leave(struct call *c, int64_t ret);

/* The call that is measured by those inside of it has called a function of a library with streams, which has returned. */
void stream_carried(struct call *c);

/* A group function is about to be called, and came back. */
void stream_group_enter(struct call *c);
void stream_group(struct call *c, int64_t ret);

/* Is a group of this call's library open on this thread? What is called in it happens at its end. */
bool stream_in_group(const struct call *c);

/* Gives up the snapshots of a call that gets no record, or no end. */
void stream_drop(struct operation *w);

/* Ends the calls whose snapshots have arrived. Cheap when nothing is on its way. */
void stream_poll(void);

/* In a forked child. */
void stream_reset(void);

#endif

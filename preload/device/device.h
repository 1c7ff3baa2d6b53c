/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out which device owns a buffer. A pointer that the processor must not follow may belong
 * to a device (a GPU). Then only the device's own runtime knows about the memory, and only a
 * stream of the job can read it in the right order. The core uses the runtime through struct
 * device_backend, which adapters provide.
 *
 * A buffer is host memory if no runtime is active in the process, or if the active one says so.
 * Operations on streams accept memory of any kind, so for their buffers the kernel is also asked
 * before they are read (device_probe).
 */
#ifndef PROBE_DEVICE_DEVICE_H
#define PROBE_DEVICE_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/thread.h"

struct device_driver;

enum device_memory {
	DEVICE_IDLE, /* the runtime has not been started, so no memory belongs to a device */
	DEVICE_HOST, /* the runtime does not know the address */
	DEVICE_PINNED, /* host memory that the runtime knows: processor and device can read it */
	DEVICE_MEMORY, /* anything else, also if the runtime does not answer */
};

/*
 * A runtime. The functions are called on threads of the job, possibly by several at once. They
 * never wait for the device, and never end or start anything of the job.
 */
struct device_backend {
	const char *name;
	const char *library; /* prefix of the library's file name */
	/*
	 * Called when the library was loaded, and again when more libraries are loaded: finds its
	 * functions. Returns false if the device cannot be used.
	 */
	bool (*attach)(void);
	enum device_memory (*memory)(const void *p);
	/*
	 * True while operations on the stream are only recorded for later (CUDA graphs):
	 * libprobe's copies would be replayed with them. True also if the runtime does not
	 * answer.
	 */
	bool (*capturing)(uint64_t stream);
	/*
	 * Allocates the host memory of snapshots, in the thread's current context. Later snapshots allocate nothing. That may wait for
	 * the device: call it only while device_can_wait() (measure.h). NULL, as copy: there are no snapshots.
	 */
	void (*init_copies)(void);
	/*
	 * Takes a snapshot: puts a copy of [from, from + bytes) to host memory on the stream, after all of its work so far, and
	 * a mark after the copy. *snapshot: its number, not 0. Returns 0, -ENOBUFS (no memory left for it), or -EIO (the runtime
	 * refuses, or there is no memory for snapshots at all).
	 */
	int (*copy)(uint64_t stream, const void *from, size_t bytes, uint32_t *snapshot);
	/*
	 * Returns 1 if the stream has passed the mark, with the copy in *at, which is valid until
	 * drop(); 0 if it has not yet; -EIO if it never will.
	 */
	int (*poll)(uint32_t snapshot, const void **at);
	/* Ends a snapshot. Its memory is reused only when the stream has passed the mark. */
	void (*drop)(uint32_t snapshot);
	/* measures values on the device (measure.h); NULL: not possible */
	const struct device_driver *driver;
};

/* All backends that were compiled in, NULL-terminated; none if there are no adapters. */
extern const struct device_backend *const device_backends[] __attribute__((weak));

/*
 * Returns the backend whose runtime is loaded, or NULL. Checks again if a library was loaded
 * since; about 30 ns.
 */
const struct device_backend *device_present(void);

/* Returns the last result of device_present() on any thread. */
const struct device_backend *device_known(void);

/* Equal if no library was loaded for 10 s and no backend is known. */
extern _Atomic uint32_t device_loads __attribute__((visibility("hidden"))),
	device_quiet_loads __attribute__((visibility("hidden")));

#define DEVICE_ASK_EVERY 1024

/* The slow part of device_watch(). */
const struct device_backend *device_look(void);

/*
 * Like device_present(), for calls whose buffers are about to be read: without a lock, a clock or
 * a system call if nothing was loaded for 10 s.
 */
static inline const struct device_backend *device_watch(void)
{
	if (__builtin_expect(
		    atomic_load_explicit(&device_loads, memory_order_relaxed) ==
			    atomic_load_explicit(&device_quiet_loads, memory_order_relaxed),
		    1) &&
		++thread_inside()->looks % DEVICE_ASK_EVERY)
		return NULL;
	return device_look();
}

/* In a forked child: how often it and its ancestors were forked. A runtime that had been started before does not work there. */
uint32_t device_get_forks(void);
void device_forked(void);

/*
 * The program is about to load a library. untold: the library may load others without libprobe
 * seeing it. Any thread, also before libprobe is initialised.
 */
void device_loading(bool untold);

/*
 * True if both ends of [p, p + bytes] are host memory according to runtime b (NULL: no runtime).
 * Reads nothing. *kind: the runtime's answer, DEVICE_IDLE without a runtime.
 */
bool device_is_host(
	const struct device_backend *b, const void *p, size_t bytes, enum device_memory *kind);

/*
 * True if the kernel can read the first and the last byte of [p, p + bytes). Never faults; an unmapped hole inside the range is
 * not noticed. bytes 0: true. 0.1 to 0.3 us. Keeps errno.
 */
bool device_probe(const void *p, size_t bytes);

#endif

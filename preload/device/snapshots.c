/* SPDX-License-Identifier: Apache-2.0 */
#include "device/snapshots.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/log.h"
#include "device/measure.h"

#define PAGE_MIN ((size_t)64 << 10)
#define PAGES_MAX 16384u
#define SNAPSHOTS 4096u

static struct snapshot {
	void *event, *context; /* kept for another snapshot in the same context */
	uint32_t first, pages; /* pages 0: the entry is free */
	bool unwanted;
} snapshots[SNAPSHOTS];
static uint8_t taken[PAGES_MAX];
static char *region;
static size_t region_bytes = SNAPSHOT_REGION, page = PAGE_MIN;
static bool refused; /* page-locked memory is not available */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void release_snapshot(struct snapshot *s)
{
	memset(taken + s->first, 0, s->pages);
	s->pages = 0;
}

/* Frees snapshots that were dropped and whose copy is complete. */
static void free_unwanted_snapshots(const struct snapshot_runtime *r)
{
	for (uint32_t i = 1; i < SNAPSHOTS; i++)
		if (snapshots[i].unwanted && snapshots[i].pages &&
			r->query(snapshots[i].event) != 0)
			release_snapshot(&snapshots[i]);
}

static uint32_t count_pages(size_t bytes)
{
	return (uint32_t)((bytes + page - 1) / page);
}

/* Finds n contiguous free pages (first fit). Returns PAGES_MAX if there are none. */
static uint32_t find_pages(uint32_t n)
{
	const uint32_t pages = (uint32_t)(region_bytes / page);
	uint32_t run = 0;

	for (uint32_t i = 0; i < pages; i++) {
		run = taken[i] ? 0 : run + 1;
		if (run == n)
			return i + 1 - n;
	}
	return PAGES_MAX;
}

static struct snapshot *find_free_snapshot(void *context)
{
	struct snapshot *any = NULL;

	for (uint32_t i = 1; i < SNAPSHOTS; i++) {
		if (snapshots[i].pages)
			continue;
		if (snapshots[i].context == context)
			return &snapshots[i];
		if (!any || !snapshots[i].event)
			any = &snapshots[i];
		if (!snapshots[i].event)
			break; /* later slots were never used either */
	}
	return any;
}

static bool have_event(const struct snapshot_runtime *r, struct snapshot *s, void *context)
{
	if (s->event && s->context == context)
		return true;
	if (s->event)
		r->destroy_event(s->event);
	s->event = NULL;
	s->context = context;
	return r->create_event(&s->event);
}

/* Call with the lock held. Returns 0, -EIO if there is none, -ENODEV if it has just been refused. */
static int init_snapshot_region(const struct snapshot_runtime *r)
{
	void *memory = NULL;

	if (region || refused)
		return region ? 0 : -EIO;
	refused = !device_can_wait() || !r->allocate(&memory, region_bytes);
	region = memory;
	return refused ? -ENODEV : 0;
}

void snapshots_set_size(size_t bytes)
{
	pthread_mutex_lock(&lock);
	if (!region && !refused) {
		region_bytes = bytes;
		page = PAGE_MIN;
		while (bytes / page > PAGES_MAX)
			page *= 2;
	}
	pthread_mutex_unlock(&lock);
}

/* Logged without the lock: the reader of stderr may be slow. */
static void log_no_space(size_t bytes, int err)
{
	if (err == -ENODEV)
		log_loss(LOSS_DEVICE,
			device_can_wait()
				? "tensors on a device are not copied: its runtime has no "
				  "page-locked memory"
				: "tensors on a device are not copied: collectives had started "
				  "before copies were wanted; start the program with device: copy");
	else if (err == -EMSGSIZE)
		log_loss(LOSS_DEVICE,
			"a buffer of %zu MiB on a device is not copied: there are %zu MiB for "
			"copies; raise device_copy_mib",
			bytes >> 20, region_bytes >> 20);
	else if (err == -ENOBUFS)
		log_loss(LOSS_DEVICE,
			"pending copies of buffers on a device use the %zu MiB that there are: "
			"further ones are not made until the device has caught up; raise "
			"device_copy_mib",
			region_bytes >> 20);
	else if (err == -EMFILE)
		log_loss(LOSS_DEVICE,
			"%u copies of buffers on a device are pending: further ones are not made "
			"until the device has caught up",
			SNAPSHOTS - 1);
}

void snapshots_init(const struct snapshot_runtime *r)
{
	int err;

	pthread_mutex_lock(&lock);
	err = init_snapshot_region(r);
	pthread_mutex_unlock(&lock);
	log_no_space(0, err);
}

/*
 * Call with the lock held. Returns 0, -EIO, -ENODEV, -EMSGSIZE (larger than all space), -ENOBUFS (the space is
 * in use) or -EMFILE (too many copies are pending).
 */
static int start_snapshot(const struct snapshot_runtime *r, void *context, void *stream,
	const void *from, size_t bytes, uint32_t *snapshot)
{
	struct snapshot *s;
	uint32_t n, at;
	int err = init_snapshot_region(r);

	if (err)
		return err;
	if (bytes > region_bytes)
		return -EMSGSIZE;
	n = count_pages(bytes);
	at = find_pages(n);
	s = find_free_snapshot(context);
	if (at == PAGES_MAX || !s) {
		free_unwanted_snapshots(r);
		at = find_pages(n);
		s = find_free_snapshot(context);
	}
	if (at == PAGES_MAX || !s)
		return s ? -ENOBUFS : -EMFILE;
	if (!have_event(r, s, context) || !r->copy(region + at * page, from, bytes, stream))
		return -EIO;
	memset(taken + at, 1, n);
	s->first = at;
	s->pages = n;
	/* Without the mark, the end of the copy is not known: its pages are never reused. */
	s->unwanted = false;
	if (!r->record(s->event, stream))
		return -EIO;
	*snapshot = (uint32_t)(s - snapshots);
	return 0;
}

int snapshot_copy(const struct snapshot_runtime *r, void *context, void *stream, const void *from,
	size_t bytes, uint32_t *snapshot)
{
	int err;

	if (!bytes)
		return -ENOBUFS;
	pthread_mutex_lock(&lock);
	err = start_snapshot(r, context, stream, from, bytes, snapshot);
	pthread_mutex_unlock(&lock);
	log_no_space(bytes, err);
	return err == -EMSGSIZE || err == -EMFILE ? -ENOBUFS : err == -ENODEV ? -EIO : err;
}

int snapshot_poll(const struct snapshot_runtime *r, uint32_t n, const void **at)
{
	int state = r->query(snapshots[n].event);

	if (state == 0)
		return 0;
	*at = region + snapshots[n].first * page;
	return state == 1 ? 1 : -EIO;
}

void snapshot_drop(const struct snapshot_runtime *r, uint32_t n)
{
	bool done = r->query(snapshots[n].event) != 0;

	pthread_mutex_lock(&lock);
	snapshots[n].unwanted = true;
	if (done)
		release_snapshot(&snapshots[n]);
	pthread_mutex_unlock(&lock);
}

void snapshots_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

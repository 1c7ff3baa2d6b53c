/* SPDX-License-Identifier: Apache-2.0 */
#include "device/measure.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/private_stack.h"
#include "base/log.h"
#include "device/device.h"

#define CONTEXTS 8u
#define SLOTS 1024u
#define UNIT_PARTS 64u /* scratch memory is divided into this many parts */
#define UNITS 1024u
#define STREAMS 256u
#define NO_SLOT UINT32_MAX

/* A launch, made or being prepared. */
struct launched {
	uint32_t number; /* equals slot->done when the launch has completed; 0: it never will */
	uint64_t stream;
	uint16_t unit, units; /* part of the scratch memory; units 0: it was not launched */
	_Atomic uint16_t wanted; /* its snapshots that have not been dropped */
	bool used;
	struct device_measured job[STATS_JOBS];
};

enum context_state {
	CONTEXT_NONE,
	CONTEXT_WARMING, /* everything is allocated, but the device has not yet shown that it runs the kernel */
	CONTEXT_READY,
	CONTEXT_OFF,
};

struct measure_context {
	_Atomic(void *) context;
	uint64_t id;
	_Atomic int state;
	pthread_mutex_t lock;
	void *function;
	struct stats_slot *
		/*
		 * libprobe's memory that the device may write: kept even when the context is
		 * destroyed
		 */
		slot;
	struct launched *launched;
	uint64_t slot_at, parts_at, counters_at; /* addresses on the device */
	uint32_t last; /* number of the latest launch */
	uint32_t next; /* where the search for a free slot starts */
	uint8_t taken[UNITS];
	struct {
		uint64_t stream;
		uint32_t pending;
	} streams[STREAMS]; /* streams with pending launches */
	struct stats_launch launch; /* the launch being prepared */
};

static struct measure_context contexts[CONTEXTS];
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool collectives; /* a collective has begun */

void device_collective_begins(const struct device_backend *b)
{
	if (b && !atomic_load_explicit(&collectives, memory_order_relaxed) &&
		b->memory(&collectives) != DEVICE_IDLE)
		atomic_store_explicit(&collectives, true, memory_order_relaxed);
}

bool device_can_wait(void)
{
	return !atomic_load_explicit(&collectives, memory_order_relaxed);
}

/* ---- contexts ---- */

static struct measure_context *find_measure_context(const struct device_guard *g)
{
	for (unsigned i = 0; i < CONTEXTS; i++) {
		struct measure_context *m = &contexts[i];

		if (atomic_load_explicit(&m->context, memory_order_acquire) == g->context &&
			m->id == g->id)
			return m;
	}
	return NULL;
}

static void *map_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool start_context(struct measure_context *m, const struct device_driver *d)
{
	const size_t slots = SLOTS * sizeof(struct stats_slot);
	const size_t counters = SLOTS * STATS_COUNTERS * sizeof(uint32_t);
	const size_t parts = (size_t)UNITS * UNIT_PARTS * sizeof(struct stats_part);
	uint64_t ns = 0;

	if (!d->load(&m->function, &ns))
		return false;
	log_info(2, "the kernel for values on a device was loaded in %llu ms",
		(unsigned long long)(ns / 1000000));
	m->slot = map_memory(slots);
	m->launched = map_memory(SLOTS * sizeof(struct launched));
	if (!m->slot || !m->launched || !d->share(m->slot, slots, &m->slot_at) ||
		!d->allocate(&m->counters_at, counters + parts))
		return false;
	m->parts_at = m->counters_at + counters;
	m->launch = (struct stats_launch){
		.slot = m->slot_at, .parts = m->parts_at, .counters = m->counters_at, .number = 1};
	m->last = m->next = 1;
	return d->warm(m->function, m->counters_at, counters, &m->launch, sizeof(m->launch));
}

struct making {
	struct measure_context *m;
	const struct device_driver *d;
	bool ready;
};

static void load_kernel_on_private_stack(void *arg)
{
	struct making *a = arg;

	a->ready = start_context(a->m, a->d);
}

/* The driver compiles the kernel on the thread that asks, and it is not known how much stack that takes. */
static bool load_on_deep_stack(struct measure_context *m, const struct device_driver *d)
{
	struct making a = {m, d, false};

	private_stack_call_deep(load_kernel_on_private_stack, &a);
	return a.ready;
}

/* Called in the context. Returns its entry, usable or not; NULL: there are too many. */
static struct measure_context *add_context(
	const struct device_driver *d, const struct device_guard *g)
{
	struct measure_context *m;

	/*
	 * While another thread makes the entry, this thread's tensors have no values: making it
	 * takes a second, and no thread waits for libprobe.
	 */
	if (pthread_mutex_trylock(&making))
		return NULL;
	m = find_measure_context(g);
	for (unsigned i = 0; !m && i < CONTEXTS; i++) {
		if (atomic_load_explicit(&contexts[i].context, memory_order_relaxed))
			continue;
		m = &contexts[i];
		pthread_mutex_init(&m->lock, NULL);
		m->id = g->id;
		if (!device_can_wait()) {
			atomic_store_explicit(&m->state, CONTEXT_OFF, memory_order_release);
			log_loss(LOSS_DEVICE,
				"tensors on a device are not measured: collectives had "
				"started before the measurement was set up; start the "
				"program with device: auto");
		} else if (load_on_deep_stack(m, d)) {
			atomic_store_explicit(&m->state, CONTEXT_WARMING, memory_order_release);
		} else {
			atomic_store_explicit(&m->state, CONTEXT_OFF, memory_order_release);
			log_loss(LOSS_DEVICE,
				"tensors on a device are not measured: its driver rejects "
				"the kernel, or has no memory for it; device: copy "
				"measures copies");
		}
		atomic_store_explicit(&m->context, g->context, memory_order_release);
	}
	pthread_mutex_unlock(&making);
	return m;
}

static void prepare_entered(const struct device_driver *d, struct device_guard *g, bool entered)
{
	if (entered && !find_measure_context(g))
		add_context(d, g);
	d->leave(g);
}

void device_prepare(const struct device_backend *b)
{
	const struct device_driver *d = b ? b->driver : NULL;
	struct device_guard g;
	int state = 1;

	if (!d)
		return;
	prepare_entered(d, &g, d->enter_current(&g));
	/* One thread may work with all devices of the process, each with a communicator of its own. */
	for (unsigned i = 0; i < CONTEXTS && state >= 0; i++) {
		state = d->enter_device(&g, i);
		prepare_entered(d, &g, state == 1);
	}
}

/* ---- launches ---- */

static uint32_t get_slot_done(const struct measure_context *m, uint32_t i)
{
	return __atomic_load_n(&m->slot[i].done, __ATOMIC_ACQUIRE);
}

static bool is_ready(struct measure_context *m)
{
	int state = atomic_load_explicit(&m->state, memory_order_acquire);

	/* The first launch, of slot 0, has cleared the counters. */
	if (state == CONTEXT_WARMING && get_slot_done(m, 0) == 1) {
		state = CONTEXT_READY;
		atomic_store_explicit(&m->state, state, memory_order_release);
	}
	return state == CONTEXT_READY;
}

/*
 * Returns the stream's counter, created if necessary; NULL: too many streams have pending
 * launches.
 */
static uint32_t *get_stream_counter(struct measure_context *m, uint64_t stream)
{
	unsigned unused = STREAMS;

	for (unsigned i = 0; i < STREAMS; i++) {
		if (m->streams[i].pending && m->streams[i].stream == stream)
			return &m->streams[i].pending;
		if (!m->streams[i].pending && unused == STREAMS)
			unused = i;
	}
	if (unused == STREAMS)
		return NULL;
	m->streams[unused].stream = stream;
	return &m->streams[unused].pending;
}

static void free_launched(struct measure_context *m, struct launched *l)
{
	uint32_t *pending = l->units ? get_stream_counter(m, l->stream) : NULL;

	if (pending && *pending)
		--*pending;
	memset(m->taken + l->unit, 0, l->units);
	l->units = 0;
	l->used = false;
}

/*
 * Removes launches that have completed or failed, and whose results are no longer needed. Who drops a result leaves that to
 * the next launch that finds no room: dropping takes no lock, because its holder may be inside the driver.
 */
static void sweep_launched(struct measure_context *m)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct launched *l = &m->launched[i];

		if (l->used && !atomic_load_explicit(&l->wanted, memory_order_acquire) &&
			(!l->number || get_slot_done(m, i) == l->number))
			free_launched(m, l);
	}
}

/*
 * Returns the number of launches that the stream has not passed yet; completed ones do not count,
 * even if their values have not been read.
 */
static uint32_t count_under_way(const struct measure_context *m, uint64_t stream)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SLOTS; i++) {
		const struct launched *l = &m->launched[i];

		n += l->units && l->number && l->stream == stream &&
		     get_slot_done(m, i) != l->number;
	}
	return n;
}

static uint32_t find_launch_slot(const struct measure_context *m)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		uint32_t at = (m->next + i) % SLOTS;

		if (!m->launched[at].used)
			return at;
	}
	return NO_SLOT;
}

/*
 * Finds n contiguous free parts of the scratch memory (first fit). Returns UNITS if there are
 * none.
 */
static uint32_t find_units(const struct measure_context *m, uint32_t n)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i < UNITS; i++) {
		run = m->taken[i] ? 0 : run + 1;
		if (run == n)
			return i + 1 - n;
	}
	return UNITS;
}

static bool has_stream_slot(struct measure_context *m, uint64_t stream)
{
	uint32_t *pending = get_stream_counter(m, stream);

	if (pending && *pending < MEASURE_STREAM_MAX)
		return true;
	sweep_launched(m);
	pending = get_stream_counter(m, stream);
	return pending &&
	       (*pending < MEASURE_STREAM_MAX || count_under_way(m, stream) < MEASURE_STREAM_MAX);
}

static bool open_slot(struct device_batch *b)
{
	struct measure_context *m = b->context;

	b->slot = has_stream_slot(m, b->stream) ? find_launch_slot(m) : NO_SLOT;
	if (b->slot == NO_SLOT) {
		sweep_launched(m);
		b->slot = has_stream_slot(m, b->stream) ? find_launch_slot(m) : NO_SLOT;
	}
	if (b->slot == NO_SLOT) {
		log_loss(LOSS_DEVICE,
			"libprobe has %u kernel launches pending on a stream, which is its limit: "
			"further tensors are not measured until the device has caught up",
			MEASURE_STREAM_MAX);
		return false;
	}
	m->next = (b->slot + 1) % SLOTS;
	m->launch.jobs = 0;
	b->shared = 0;
	return true;
}

static uint32_t compute_launch_blocks(const struct stats_launch *l)
{
	const struct stats_job *last = &l->job[l->jobs - 1];

	return l->jobs ? last->first_block + last->blocks : 0;
}

static uint32_t encode_measure_id(
	const struct measure_context *m, uint32_t slot, uint32_t job, uint32_t number)
{
	return SNAPSHOT_MEASURED | (uint32_t)(m - contexts) << 27 | slot << 17 | job << 12 |
	       (number & 0xfff);
}

static uint32_t get_next_number(struct measure_context *m)
{
	/*
	 * The number must not be 0, also in the bits of it that a pending result's number
	 * contains.
	 */
	do
		m->last++;
	while (!(m->last & 0xfff));
	return m->last;
}

/* Ends the preparation: the slot belongs to the launch; nothing is on the stream yet. */
static void close_slot(struct device_batch *b)
{
	struct measure_context *m = b->context;
	struct launched *l = &m->launched[b->slot];
	uint32_t blocks = compute_launch_blocks(&m->launch), units = blocks / UNIT_PARTS + 1;
	uint32_t unit = find_units(m, units), *pending = get_stream_counter(m, b->stream);

	if (unit == UNITS) {
		sweep_launched(m);
		unit = find_units(m, units);
		pending = get_stream_counter(m, b->stream);
	}
	/* The launch fails; its results report this when they are queried. */
	if (unit == UNITS || !pending) {
		l->number = 0;
		b->lost += m->launch.jobs + b->shared;
		log_loss(LOSS_DEVICE,
			"libprobe's kernel launches pending on a device use all of its %zu MiB "
			"there: further tensors are not measured until the device has caught up",
			(size_t)UNITS * UNIT_PARTS * sizeof(struct stats_part) >> 20);
		return;
	}
	++*pending;
	l->stream = b->stream;
	l->unit = (uint16_t)unit;
	l->units = (uint16_t)units;
	memset(m->taken + unit, 1, units);
	m->launch.number = l->number;
	m->launch.slot = m->slot_at + b->slot * sizeof(struct stats_slot);
	m->launch.parts = m->parts_at + (uint64_t)unit * UNIT_PARTS * sizeof(struct stats_part);
	m->launch.counters = m->counters_at + b->slot * STATS_COUNTERS * sizeof(uint32_t);
	if (!b->driver->launch(
		    m->function, blocks ? blocks : 1, &m->launch, sizeof(m->launch), b->stream)) {
		/*
		 * The job's device or its context is lost, or the driver refuses the kernel:
		 * nothing more is tried.
		 */
		l->number = 0;
		atomic_store_explicit(&m->state, CONTEXT_OFF, memory_order_release);
		log_loss(LOSS_DEVICE,
			"tensors on a device are no longer measured: its driver refused a "
			"launch");
	}
}

/*
 * A launch blocks in the driver when the stream's queue is full (of the job's own work). If the thread that can end that came
 * here, waiting for the lock would be a deadlock: its values are dropped instead.
 */
#define LOCK_NS 200000

static bool lock_context(struct measure_context *m)
{
	struct timespec until;

	if (pthread_mutex_trylock(&m->lock) == 0)
		return true;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOCK_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	return pthread_mutex_timedlock(&m->lock, &until) == 0;
}

/* Returns the entry of the guard's context if the device runs the kernel there; it is locked. */
static struct measure_context *lock_ready_context(
	const struct device_driver *d, const struct device_guard *g, bool *dropped)
{
	struct measure_context *m = find_measure_context(g);

	if (!m)
		m = add_context(d, g);
	if (!m)
		return NULL;
	if (!is_ready(m)) {
		/* The kernel is being loaded: some microseconds at the start, no loss that is worth a message. */
		*dropped = atomic_load_explicit(&m->state, memory_order_relaxed) == CONTEXT_WARMING;
		return NULL;
	}
	*dropped = !lock_context(m);
	return *dropped ? NULL : m;
}

bool device_batch_open(struct device_batch *batch, const struct device_backend *b, uint64_t stream,
	const void *memory, bool *dropped)
{
	const struct device_driver *d = b->driver;

	*dropped = false;
	batch->driver = d;
	batch->context = NULL;
	batch->stream = stream;
	batch->slot = NO_SLOT;
	batch->lost = 0;
	if (!d)
		return false;
	if (d->enter(&batch->guard, stream, memory))
		batch->context = lock_ready_context(d, &batch->guard, dropped);
	if (!batch->context)
		d->leave(&batch->guard);
	return batch->context != NULL;
}

static uint32_t write_job(struct device_batch *b, uint32_t index)
{
	struct measure_context *m = b->context;
	struct launched *l = &m->launched[b->slot];

	if (!l->used) { /* the first tensor of this launch */
		l->used = true;
		l->wanted = 0;
		l->number = get_next_number(m);
	}
	l->wanted++;
	return encode_measure_id(m, b->slot, index, l->number);
}

#define SHARED_MAX \
	1024 /* results of a launch, from which on equal tensors are read again: .wanted has 16 bits */

/*
 * Returns the index of the same tensor in the open launch, which reads it at the same point of the stream; STATS_JOBS: none. The
 * first block of *job is not set yet.
 */
static uint32_t find_same_job(
	const struct device_batch *b, struct stats_job *job, const struct device_measured *measured)
{
	const struct measure_context *m = b->context;

	if (b->slot == NO_SLOT || m->launched[b->slot].wanted > SHARED_MAX)
		return STATS_JOBS;
	for (uint32_t i = 0; i < m->launch.jobs; i++) {
		const struct device_measured *other = &m->launched[b->slot].job[i];

		if (m->launch.job[i].address != job->address || other->dtype != measured->dtype ||
			other->checksum != measured->checksum || other->count != measured->count)
			continue;
		job->first_block = m->launch.job[i].first_block;
		if (memcmp(job, &m->launch.job[i], sizeof(*job)) == 0)
			return i;
	}
	return STATS_JOBS;
}

uint32_t device_batch_add(struct device_batch *b, const struct device_tensor *t, bool *dropped)
{
	struct measure_context *m = b->context;
	const struct device_measured measured = {t->eps, t->count, (uint8_t)t->dtype, t->checksum};
	struct stats_job job;
	uint32_t n;

	*dropped = false;
	if (!stats_job_make(&job, t))
		return 0;
	n = find_same_job(b, &job, &measured);
	if (n < STATS_JOBS) {
		b->shared++;
		return write_job(b, n);
	}
	if (!b->driver->covers(&b->guard, t->lo, t->hi))
		return 0;
	if (b->slot != NO_SLOT &&
		(m->launch.jobs == STATS_JOBS ||
			compute_launch_blocks(&m->launch) + job.blocks > STATS_PARTS)) {
		close_slot(b);
		b->slot = NO_SLOT;
	}
	if (b->slot == NO_SLOT && !open_slot(b)) {
		b->slot = NO_SLOT;
		*dropped = true;
		return 0;
	}
	n = m->launch.jobs;
	job.first_block = compute_launch_blocks(&m->launch);
	m->launch.job[n] = job;
	m->launched[b->slot].job[n] = measured;
	m->launch.jobs = n + 1;
	return write_job(b, n);
}

uint32_t device_batch_add_mark(struct device_batch *b, bool alone)
{
	if (b->slot == NO_SLOT && !alone)
		return 0;
	if (b->slot == NO_SLOT && !open_slot(b)) {
		b->slot = NO_SLOT;
		return 0;
	}
	return write_job(b, STATS_JOBS);
}

uint32_t device_batch_close(struct device_batch *b)
{
	if (!b->context)
		return 0;
	if (b->slot != NO_SLOT)
		close_slot(b);
	pthread_mutex_unlock(&b->context->lock);
	b->driver->leave(&b->guard);
	b->context = NULL;
	return b->lost;
}

/* ---- results ---- */

static struct measure_context *get_snapshot_context(uint32_t snapshot)
{
	return &contexts[snapshot >> 27 & (CONTEXTS - 1)];
}

static uint32_t find_measure_slot(uint32_t snapshot)
{
	return snapshot >> 17 & (SLOTS - 1);
}

/*
 * Returns 1 if the launch has completed; 0: not yet; -EIO: it never will, or the number belongs
 * to another launch.
 */
static int look_at(uint32_t snapshot)
{
	struct measure_context *m = get_snapshot_context(snapshot);
	uint32_t number = m->launched[find_measure_slot(snapshot)].number;

	if (!number || (number & 0xfff) != (snapshot & 0xfff))
		return -EIO;
	if (get_slot_done(m, find_measure_slot(snapshot)) == number)
		return 1;
	return atomic_load_explicit(&m->state, memory_order_relaxed) == CONTEXT_OFF ? -EIO : 0;
}

int device_measured(uint32_t snapshot, struct stats *out, uint32_t *crc)
{
	struct measure_context *m = get_snapshot_context(snapshot);
	uint32_t slot = find_measure_slot(snapshot), job = snapshot >> 12 & 31;
	int state = look_at(snapshot);

	if (state == 1 && job < STATS_JOBS && out)
		stats_job_end(&m->launched[slot].job[job], &m->slot[slot].result[job], out, crc);
	return state;
}

bool device_get_times(uint32_t snapshot, uint64_t *begin, uint64_t *end)
{
	const struct measure_context *m = get_snapshot_context(snapshot);

	if (!SNAPSHOT_IS_MEASURED(snapshot) || look_at(snapshot) != 1)
		return false;
	*begin = m->slot[find_measure_slot(snapshot)].begin;
	*end = m->slot[find_measure_slot(snapshot)].end;
	return *begin && *end;
}

void device_measured_drop(uint32_t snapshot)
{
	struct launched *l = &get_snapshot_context(snapshot)->launched[find_measure_slot(snapshot)];

	atomic_fetch_sub_explicit(&l->wanted, 1, memory_order_release);
}

void device_measure_reset(void)
{
	pthread_mutex_init(&making, NULL);
	/* Without a device their pages were never touched, and stay so. */
	for (unsigned i = 0; i < CONTEXTS; i++) {
		if (!atomic_load_explicit(&contexts[i].context, memory_order_relaxed))
			break;
		pthread_mutex_init(&contexts[i].lock, NULL);
		atomic_store_explicit(&contexts[i].state, CONTEXT_OFF, memory_order_relaxed);
	}
}

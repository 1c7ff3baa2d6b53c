/* SPDX-License-Identifier: Apache-2.0 */
/* Lock: `lock` is a leaf, held for a few additions, some times per step. A forked child initialises it again. */
#include "training/steps/step_times.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "call/recorder.h"
#include "config/rooms/kinds.h"
#include "config/rooms/training.h"
#include "session/state.h"
#include "training/steps/flops.h"
#include "training/steps/late.h"
#include "training/steps/scalar.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
	uint64_t step_began; /* ticks; 0: not known */
	/* ticks at the end of the last part; the time after it may be forward; 0: nothing yet */
	uint64_t since;
	uint64_t forward, part[STEP_PARTS]; /* ticks in the current step */
	/* ticks at the start of a part in progress; 0: not in progress */
	uint64_t began[STEP_PARTS];
	/* forward, backward and data time of the step when the optimizer's step began */
	uint64_t inside;
	uint32_t passes; /* backward passes that are micro steps */
	bool passed_inside; /* a backward pass is inside the optimizer's step in progress */
	bool data, forwards; /* seen in this step */
	bool loads; /* there is a DataLoader, so data-time is known */
	bool forward_began; /* since the last backward pass, or since the step began */
	uint64_t samples, tokens; /* of the last batch; 0: not known */
	uint32_t ended; /* 1 + the last step that ended */
	uint64_t comm; /* total waiting time of `thread` when this step ended */
	const struct thread *thread;
	bool steps; /* an optimizer's steps are seen, so optimizer-time is known */
	uint32_t comms; /* pending communications, by step_comm_start() */
	/* ticks since when there are pending ones; ticks of the step with at least one */
	uint64_t comm_since, comm_other_ticks;
	/* step_comm_start() was called; step_comm_set_unknown() was called */
	bool comm_told, comm_unknown;
} now;

static step_source_fn *_Atomic sources[STEP_SOURCES_MAX];

void step_times_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(&now, 0, sizeof(now));
}

void step_add_source(step_source_fn *source)
{
	for (unsigned i = 0; i < STEP_SOURCES_MAX; i++) {
		step_source_fn *was = NULL;

		if (atomic_compare_exchange_strong(&sources[i], &was, source) || was == source)
			return;
	}
}

static uint64_t get_ticks_inside_optimizer(void)
{
	return now.forward + now.part[PART_BACKWARD] + now.part[PART_DATA];
}

/*
 * Sets the beginning of the first step: the arrival of the last batch before the model is called
 * in training, or this call.
 */
static void start_first_step(uint64_t at, bool loads)
{
	if (now.ended || now.passes || now.forward_began || (!loads && now.loads))
		return;
	now.step_began = at;
}

void step_part_start(enum step_part p)
{
	uint64_t at = clock_ticks();

	pthread_mutex_lock(&lock);
	now.began[p] = at;
	if (p == PART_DATA)
		start_first_step(at, true);
	if (p == PART_BACKWARD && now.since) {
		now.forward += at - now.since;
		now.forwards = true;
	}
	if (p == PART_OPTIMIZER) {
		now.inside = get_ticks_inside_optimizer();
		now.passed_inside = false;
	}
	now.since = at;
	pthread_mutex_unlock(&lock);
}

void step_part_stop(enum step_part p)
{
	uint64_t at = clock_ticks();

	pthread_mutex_lock(&lock);
	if (now.began[p]) {
		uint64_t took = at - now.began[p];

		if (p == PART_OPTIMIZER)
			took -= get_ticks_inside_optimizer() - now.inside;
		now.part[p] += took;
		now.began[p] = 0;
		now.since = at;
	}
	now.data |= p == PART_DATA;
	now.loads |= p == PART_DATA;
	now.steps |= p == PART_OPTIMIZER;
	if (p == PART_BACKWARD)
		now.forward_began = false;
	/*
	 * A closure may be called several times for one batch: only its first backward pass is a
	 * micro step.
	 */
	if (p == PART_BACKWARD && !(now.began[PART_OPTIMIZER] && now.passed_inside)) {
		now.passes++;
		now.passed_inside = now.began[PART_OPTIMIZER] != 0;
	}
	pthread_mutex_unlock(&lock);
}

void step_part_add(enum step_part p, uint64_t began, uint64_t ended)
{
	pthread_mutex_lock(&lock);
	now.part[p] += ended - began;
	now.steps |= p == PART_OPTIMIZER;
	now.since = ended;
	pthread_mutex_unlock(&lock);
}

void step_comm_start(void)
{
	uint64_t at = clock_ticks();

	pthread_mutex_lock(&lock);
	now.comm_told = true;
	if (!now.comms++)
		now.comm_since = at;
	pthread_mutex_unlock(&lock);
}

void step_comm_stop(void)
{
	uint64_t at = clock_ticks();

	pthread_mutex_lock(&lock);
	if (now.comms && !--now.comms)
		now.comm_other_ticks += at - now.comm_since;
	pthread_mutex_unlock(&lock);
}

void step_comm_set_unknown(void)
{
	pthread_mutex_lock(&lock);
	now.comm_unknown = true;
	pthread_mutex_unlock(&lock);
}

void step_forward_start(void)
{
	uint64_t at = clock_ticks();

	pthread_mutex_lock(&lock);
	start_first_step(at, false);
	/*
	 * The forward pass of a closure, or forward code inside a backward pass, does not begin
	 * another batch.
	 */
	if (!now.forward_began && !now.loads && now.since && !now.began[PART_OPTIMIZER] &&
		!now.began[PART_BACKWARD]) {
		now.part[PART_DATA] += at - now.since;
		now.data = true;
		now.since = at;
	}
	now.forward_began = true;
	pthread_mutex_unlock(&lock);
}

bool step_is_batch_wanted(void)
{
	const struct config *c = get_config();
	const struct training_keys *keys = get_training_keys(c);

	return !keys->global_batch_size && !keys->micro_batch_size &&
	       (scalar_is_wanted(SCALAR_BATCH_SIZE) || scalar_is_wanted(SCALAR_THROUGHPUT) ||
		       scalar_is_wanted(SCALAR_TOKENS_PER_SECOND));
}

void record_input_size(uint64_t samples, uint64_t tokens)
{
	pthread_mutex_lock(&lock);
	if (!now.loads) {
		now.samples = samples;
		now.tokens = tokens;
	}
	pthread_mutex_unlock(&lock);
}

void step_record_batch(uint64_t samples, uint64_t tokens)
{
	pthread_mutex_lock(&lock);
	now.samples = samples;
	now.tokens = tokens;
	pthread_mutex_unlock(&lock);
}

void step_waited_for_comm(uint64_t ticks)
{
	struct thread *t = thread_inside()->recorder;

	if (t)
		t->comm_ticks += ticks;
}

/* ---- numbers that need no events ---- */

static _Atomic uint64_t device_peak; /* bytes in use at most; 0: no device */

void step_record_device_memory(uint64_t bytes)
{
	uint64_t most = atomic_load_explicit(&device_peak, memory_order_relaxed);

	while (bytes > most && !atomic_compare_exchange_weak_explicit(&device_peak, &most, bytes,
				       memory_order_relaxed, memory_order_relaxed))
		;
}

/* Returns bytes of resident memory, 0: not known. syscall() is not a cancellation point. */
static uint64_t read_resident_bytes(void)
{
	char text[128] = "";
	const char *p = text;
	uint64_t pages = 0;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC);
	long n;

	if (fd < 0)
		return 0;
	n = syscall(SYS_read, fd, text, sizeof(text) - 1);
	syscall(SYS_close, fd);
	if (n <= 0)
		return 0;
	/* Skips to the second number. */
	while (*p && *p != ' ')
		p++;
	while (*p == ' ')
		p++;
	while (*p >= '0' && *p <= '9')
		pages = pages * 10 + (uint64_t)(*p++ - '0');
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void write_memory(uint32_t step)
{
	struct rusage used;
	uint64_t bytes;

	if (scalar_is_wanted(SCALAR_MEMORY_RSS) && (bytes = read_resident_bytes()))
		scalar_write(SCALAR_MEMORY_RSS, step, (double)bytes);
	bytes = atomic_load_explicit(&device_peak, memory_order_relaxed);
	if (bytes)
		scalar_write(SCALAR_MEMORY_ALLOCATOR, step, (double)bytes);
	if (scalar_is_wanted(SCALAR_MEMORY_PEAK) && getrusage(RUSAGE_SELF, &used) == 0)
		scalar_write(SCALAR_MEMORY_PEAK, step, (double)used.ru_maxrss * 1024);
}

/* ---- the end of a step ---- */

static double compute_ms(uint64_t ticks)
{
	return (double)clock_to_dur(&session.journal.head->clock, ticks) / 1e6;
}

static uint64_t get_rank_count(const struct ranges *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->n; i++)
		n += r->item[i].hi - r->item[i].lo + 1;
	return n;
}

/* Returns the number of ranks with batches of their own: from the keys if set; else all ranks. */
static double get_data_parallel_size(void)
{
	const struct config *cfg = get_config();
	const struct kinds_keys *kinds_keys = get_kinds_keys(cfg);
	uint64_t world = session.world_size > 0 ? (uint64_t)session.world_size : 1;
	uint64_t others =
		(kinds_keys->tp_group.n ? get_rank_count(&kinds_keys->tp_group) : 1) *
		(kinds_keys->process_group.n ? get_rank_count(&kinds_keys->process_group) : 1);

	if (kinds_keys->dp_group.n)
		return (double)get_rank_count(&kinds_keys->dp_group);
	return others && world % others == 0 ? (double)(world / others) : (double)world;
}

struct batch {
	double samples, tokens; /* summed over all ranks; 0: not known */
	bool derived;
};

static struct batch find_batch(const __typeof__(now) *was)
{
	const struct config *cfg = get_config();
	const struct training_keys *keys = get_training_keys(cfg);

	double times = (was->passes ? was->passes : 1) * get_data_parallel_size();
	struct batch b = {.samples = (double)keys->global_batch_size};

	if (!keys->global_batch_size)
		b.samples = (double)keys->micro_batch_size * times;
	b.derived = b.samples <= 0 && was->samples;
	if (b.derived) {
		b.samples = (double)was->samples * times;
		b.tokens = (double)was->tokens * times;
	}
	if (keys->seq_length)
		b.tokens = b.samples * (double)keys->seq_length;
	return b;
}

static void write_batch_size(uint32_t step, const struct batch *b)
{
	if (b->derived) {
		scalar_is_derived(SCALAR_BATCH_SIZE);
		scalar_is_derived(SCALAR_THROUGHPUT);
		if (b->tokens > 0)
			scalar_is_derived(SCALAR_TOKENS_PER_SECOND);
	}
	if (b->samples > 0)
		scalar_write(SCALAR_BATCH_SIZE, step, b->samples);
}

/* all: samples per second of all ranks, 0: not known. */
static void write_throughput(uint32_t step, double all, double world)
{
	double baseline = get_training_keys(get_config())->throughput_baseline;

	if (all <= 0)
		return;
	scalar_write(SCALAR_THROUGHPUT, step, all / world);
	scalar_write(SCALAR_B_SAMPLES, step, all * 86400 / 1e9);
	if (baseline > 0)
		scalar_write(SCALAR_LINEARITY, step, all / world / baseline);
}

/* ms: duration of the step; counted: floating-point operations counted in it, 0: not known. */
static void write_flops(uint32_t step, const struct flops *counted, double ms)
{
	const struct config *cfg = get_config();
	const struct training_keys *keys = get_training_keys(cfg);
	bool given = keys->model_flops_per_step > 0;
	double per_s = (given ? keys->model_flops_per_step : counted->model) / ms * 1e3;

	if (!given && per_s > 0) {
		scalar_is_derived(SCALAR_MODEL_FLOPS);
		scalar_is_derived(SCALAR_MFU);
	}
	if (per_s > 0)
		scalar_write(SCALAR_MODEL_FLOPS, step, per_s / 1e12);
	if (per_s > 0 && keys->peak_flops > 0)
		scalar_write(SCALAR_MFU, step, per_s / keys->peak_flops);
	if (counted->all > 0 && keys->peak_flops > 0)
		scalar_write(SCALAR_HFU, step, counted->all / ms * 1e3 / keys->peak_flops);
}

static void write_rates(
	uint32_t step, const struct batch *b, const struct flops *counted, double ms)
{
	double world = session.world_size > 0 ? session.world_size : 1;

	if (ms <= 0)
		return;
	if (b->tokens > 0)
		scalar_write(SCALAR_TOKENS_PER_SECOND, step, b->tokens / ms * 1e3);
	write_throughput(step, b->samples / ms * 1e3, world);
	write_flops(step, counted, ms);
}

/*
 * Copies the values of the step, and begins a new one. Returns false if another thread has just
 * ended the step.
 */
static bool copy_and_reset_step(uint32_t step, __typeof__(now) *was)
{
	const struct thread *t = thread_inside()->recorder;
	uint64_t at = clock_ticks();
	bool first;

	pthread_mutex_lock(&lock);
	first = now.ended != step + 1;
	if (first) {
		*was = now;
		was->step_began = now.step_began ? at - now.step_began : 0;
		if (now.comms) {
			was->comm_other_ticks += at - now.comm_since;
			now.comm_since = at;
		}
		now.comm_other_ticks = 0;
		/*
		 * The counter belongs to one thread: another thread's counter does not show the
		 * waits of this step.
		 */
		was->comm = t && t == now.thread ? t->comm_ticks - now.comm : 0;
		was->thread = t == now.thread ? t : NULL;
		memset(now.part, 0, sizeof(now.part));
		now.forward = 0;
		now.inside = 0;
		now.passes = 0;
		now.data = now.forwards = now.forward_began = false;
		now.step_began = now.since = at;
		now.ended = step + 1;
		now.thread = t;
		now.comm = t ? t->comm_ticks : 0;
		for (int p = 0; p < STEP_PARTS; p++)
			now.began[p] = now.began[p] ? at : 0;
	}
	pthread_mutex_unlock(&lock);
	return first;
}

/* Returns the ms of the step spent in communication or waiting for it; NAN: not known. */
static double find_comm_time(const __typeof__(now) *was)
{
	if (was->comm_unknown)
		return NAN;
	if (was->comm_told)
		return compute_ms(was->comm_other_ticks);
	/*
	 * In a job of several ranks, if this rank was never seen to communicate, its
	 * communication is not visible.
	 */
	if (!was->thread || (session.world_size > 1 && !was->thread->comm_ticks))
		return NAN;
	return compute_ms(was->comm);
}

static void write_times(uint32_t step, const __typeof__(now) *was, const struct batch *b,
	const struct flops *counted)
{
	bool trains = was->steps && (was->passes || was->part[PART_OPTIMIZER]);
	double ms = was->step_began ? compute_ms(was->step_began) : 0;
	double comm = was->step_began ? find_comm_time(was) : NAN;

	if (was->step_began)
		scalar_write(SCALAR_ITERATION_TIME, step, ms);
	if (was->data)
		scalar_write(SCALAR_DATA_TIME, step, compute_ms(was->part[PART_DATA]));
	if (was->forwards)
		scalar_write(SCALAR_FORWARD_TIME, step, compute_ms(was->forward));
	if (was->passes)
		scalar_write(SCALAR_BACKWARD_TIME, step, compute_ms(was->part[PART_BACKWARD]));
	if (trains)
		scalar_write(SCALAR_OPTIMIZER_TIME, step, compute_ms(was->part[PART_OPTIMIZER]));
	if (!isnan(comm))
		scalar_write(SCALAR_COMM_TIME, step, comm);
	write_rates(step, b, counted, ms);
}

static void handle_step_sources(uint32_t step)
{
	for (unsigned i = 0; i < STEP_SOURCES_MAX; i++) {
		step_source_fn *source = atomic_load(&sources[i]);

		if (source)
			source(step);
	}
}

struct ended_step {
	struct scalar_time at;
	uint32_t step;
};

/* Numbers of the step are still to come from a device: its sources are called when they are there. */
static void handle_step_sources_late(const void *data, const struct stats *stats)
{
	const struct ended_step *e = data;

	(void)stats;
	scalar_set_time(&e->at);
	handle_step_sources(e->step);
	scalar_set_time(NULL);
}

static void add_step_sources(uint32_t step)
{
	struct ended_step e = {.at = scalar_get_time(), .step = step};

	late_add(handle_step_sources_late, &e, sizeof(e), NULL, 0);
}

void step_times_close(uint32_t step)
{
	__typeof__(now) was;
	struct flops counted = {0}, f;
	struct batch batch;

	if (!session_is_on() && !session_start())
		return;
	/* Makes the thread's recorder, so that waits of the next step are counted. */
	thread_get();
	if (!copy_and_reset_step(step, &was))
		return;
	/* Computed first, because other values depend on it. */
	batch = find_batch(&was);
	write_batch_size(step, &batch);
	late_check();
	if (late_is_pending())
		add_step_sources(step);
	else
		handle_step_sources(step);
	if (flops_are_wanted() && flops_close_step(step, &f))
		counted = f;
	write_times(step, &was, &batch, &counted);
	write_memory(step);
}

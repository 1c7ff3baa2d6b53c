/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer thread and everything else that moves records from the journal into files: at each step's end, when the
 * journal is half full, each second, and when the program ends. Only the holder of session.drain_lock does it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fpenv.h"
#include "base/io.h"
#include "base/log.h"
#include "base/thread.h"
#include "call/stream.h"
#include "session.h"
#include "stats/threads.h"

#define WRITER_NICE 19
/* The end of the program waits for a writer that is at work: so long without progress, and so long at most. */
#define END_IDLE_MS 2000
#define END_LOCK_MS 30000
#define END_LOOK_MS 250

#define STEP_DRAIN_NS 50000000u

static _Atomic uint32_t wake_word;
static _Atomic uint64_t last_drain; /* ticks */
static _Atomic bool stop;
static _Atomic int writer_tid; /* 0: not running yet */
static _Atomic int waiting; /* threads of the job that wait for the files, or use them */

/* Copies into the journal's head what only this process knows: recovery has nothing else. */
static void update_head(void)
{
	struct journal_head *h = session.journal.head;

	clock_settle(&h->clock, &session.clock_settled);
	h->clock_last = h->clock;
	h->clock_last.tick = clock_ticks();
	h->clock_last.mono_ns = clock_ns(CLOCK_MONOTONIC);
	h->clock_last.real_ns = clock_ns(CLOCK_REALTIME);
	h->rank = session.world_rank;
	h->world_size = session.world_size;
	h->rank_guessed = session.rank_guessed;
	for (int i = 0; i < LOSS_COUNT; i++) {
		const char *text = log_loss_text((enum loss)i);

		if (text && !h->loss[i][0])
			memcpy(h->loss[i], text, LOSS_TEXT_MAX);
	}
}

static uint64_t seen_calls(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < session.journal.head->nthread && i < JOURNAL_THREADS; i++)
		n += __atomic_load_n(
			&journal_thread(&session.journal, i)->count[JC_SEEN], __ATOMIC_RELAXED);
	return n;
}

/*
 * The program may have closed our descriptor of the folder, as daemons close all. If the folder was removed, everything written from now on would vanish with it: it is taken anew, for by now its name
 * may be another process'. The journal that lay in it goes on in memory, and is lost with the process.
 */
static void follow_folder(void)
{
	struct folder f;
	struct files files;
	struct stat st;

	int err = folder_reopen(&session.folder);

	session.sink.files.dirfd = session.folder.dir.fd;
	if (!err && fstat(session.folder.dir.fd, &st) == 0 && st.st_nlink > 0)
		return;
	log_loss(LOSS_WRITE,
		"%s was removed: rows written so far are gone with it; making it again",
		session.folder.path);
	if (session_take_folder(&f) < 0)
		return;
	if (files_open(&files, &session.journal, f.dir.fd) < 0) {
		folder_close(&f);
		return;
	}
	files_close(&session.sink.files);
	session.sink.files = files;
	folder_close(&session.folder);
	session.folder = f;
	if (access(session.journal.head->journal_path, F_OK) < 0)
		session.journal.safe = false;
}

/* In the middle of a drain. Where it cannot be had anew nothing is written, until the next one. */
static void look_at_folder(struct files *f)
{
	f->dirfd = folder_reopen(&session.folder) == 0 ? session.folder.dir.fd : -1;
}

static void report_write(int err)
{
	log_loss(LOSS_WRITE,
		"writing to %s: %s; records wait in the journal and are lost when it is full; free "
		"space there",
		session.folder.path, strerror(-err));
}

/* since: the calling thread's processor time when it began; returns what it is now. */
static uint64_t count_own_time(uint64_t since)
{
	uint64_t now = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	__atomic_fetch_add(&session.journal.head->writer_ns, now - since, __ATOMIC_RELAXED);
	return now;
}

/* With drain_lock held. */
static int drain_now(bool last)
{
	struct journal_head *h = session.journal.head;
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct fpenv env;

	/* Rows hold numbers as text; the writer inherited the environment of the thread that started it. */
	fpenv_enter(&env);
	follow_folder();
	session.sink.files.look = look_at_folder;
	update_head();

	int err = drain_all(&session.drain, last);

	if (err)
		report_write(err);
	if (files_limit(&session.sink.files))
		log_loss(LOSS_LIMIT,
			"output_limit_mib (%lld) reached: oldest blocks but the first are removed",
			(long long)session.cfg.output_limit_mib);
	if (session.cfg.gzip && !last && !err) {
		int cut = files_compress(&session.sink.files, &waiting);

		if (cut < 0)
			log_loss(LOSS_WRITE,
				"compressing a file in %s: %s; files stay uncompressed from here "
				"on",
				session.folder.path, strerror(-cut));
	}
	atomic_store_explicit(&last_drain, clock_ticks(), memory_order_relaxed);
	cpu = count_own_time(cpu);

	uint64_t commit = atomic_load(&h->commit_seq), seen = seen_calls();

	if (last && !err)
		atomic_store(&h->state, JS_FINISHED);
	if (last || commit != session.meta_of_commit || seen != session.meta_of_count) {
		update_head();

		int late = sink_meta(&session.sink);

		if (late) {
			report_write(late);
		} else {
			session.meta_of_commit = commit;
			session.meta_of_count = seen;
		}
	}
	fpenv_leave(&env);
	count_own_time(cpu);
	return err;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#define AHEAD_BYTES (1u << 20)
#define FAULT_BYTES \
	(64u << 10) /* at once: the kernel keeps the job from mapping memory meanwhile */

/*
 * Takes the page faults of the journal's chunks before a thread of the job would: of those that have been in use, which
 * the kernel write-protects anew whenever it has written them to disk, and of as many again, at least 1 MiB. Not of the
 * whole journal at once: a program of few calls is to dirty few pages. An older kernel refuses; then the job's threads
 * take them (1 to 5 us each).
 */
static void prefault_chunks(void)
{
	static uint32_t most;
	struct journal *j = &session.journal;
	const struct journal_head *h = j->head;
	char *chunks = (char *)h + h->chunk_off;
	uint32_t ahead = AHEAD_BYTES / h->chunk_bytes + 1, n;

	for (uint32_t i = (h->nchunk - 1) / 64 + 1; i-- > most / 64;) {
		uint64_t bits = atomic_load_explicit(&h->bitmap[i], memory_order_relaxed);

		if (!bits)
			continue;
		n = i * 64 + 64 - (uint32_t)__builtin_clzll(bits);
		most = n > most ? n : most;
		break;
	}
	n = most + (most > ahead ? most : ahead);
	n = n < h->nchunk ? n : h->nchunk;
	for (uint64_t at = 0, end = (uint64_t)n * h->chunk_bytes; at < end; at += FAULT_BYTES)
		if (madvise(chunks + at, end - at < FAULT_BYTES ? end - at : FAULT_BYTES,
			    MADV_POPULATE_WRITE) < 0)
			return;
	atomic_store_explicit(&j->touched, n, memory_order_relaxed);
}

static void prefault(void)
{
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	prefault_chunks();
	count_own_time(cpu);
}

static void futex_wait_second(uint32_t value)
{
	struct timespec second = {.tv_sec = 1};

	syscall(SYS_futex, &wake_word, FUTEX_WAIT_PRIVATE, value, &second, NULL, 0);
}

static void *writer_main(void *arg)
{
	(void)arg;
	thread_word.busy = 1; /* nothing that we call is to be recorded */
	prctl(PR_SET_NAME, "probe-writer");
	atomic_store(&writer_tid, (int)syscall(SYS_gettid));
	setpriority(PRIO_PROCESS, (id_t)writer_tid, WRITER_NICE);

	/* A rank pinned to one core must not share it with us if there are others; the cpuset still holds. */
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	prefault();
	while (!atomic_load(&stop)) {
		if (!atomic_exchange(&wake_word, 0))
			futex_wait_second(0);
		if (atomic_load(&stop) || !session_is_on())
			break;
		pthread_mutex_lock(&session.drain_lock);
		if (session_is_on()) {
			drain_now(false);
			prefault();
		}
		pthread_mutex_unlock(&session.drain_lock);
	}
	return NULL;
}

int writer_start(void)
{
	int err;

	atomic_store(&stop, false);
	atomic_store(&waiting, 0);
	atomic_store(&writer_tid, 0);
	err = thread_spawn(writer_main, NULL);
	if (err) {
		session.inline_writer = true;
		log_loss(LOSS_WRITER,
			"no writer thread: %s; records are written by the program's own threads",
			strerror(-err));
	}
	return err;
}

void writer_wake(void)
{
	if (__builtin_expect(session.inline_writer, 0)) {
		int cancel;

		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		if (pthread_mutex_trylock(&session.drain_lock) == 0) {
			drain_now(false);
			pthread_mutex_unlock(&session.drain_lock);
		}
		pthread_setcancelstate(cancel, NULL);
		return;
	}
	if (!atomic_load_explicit(&wake_word, memory_order_relaxed) &&
		!atomic_exchange(&wake_word, 1))
		syscall(SYS_futex, &wake_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void writer_step(void)
{
	uint64_t since = clock_ticks() - atomic_load_explicit(&last_drain, memory_order_relaxed);

	if ((double)since * session.clock.ns_per_tick >= STEP_DRAIN_NS)
		writer_wake();
}

/* Waits a bounded time for a writer at work. */
static bool lock_for(long ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	return pthread_mutex_timedlock(&session.drain_lock, &until) == 0;
}

/* True if the writer could run: it waits for a processor, and for nothing that may never come (a dead file server). */
static bool writer_is_runnable(void)
{
	char path[64], stat[512];
	int tid = atomic_load(&writer_tid);
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	n = tid ? io_read_file(AT_FDCWD, path, stat, sizeof(stat)) : 0;

	/* The name, in parentheses, comes before it. */
	const char *end = n > 0 ? memrchr(stat, ')', (size_t)n) : NULL;

	return end && stat + n - end > 2 && end[2] == 'R';
}

/* The writer has the lowest priority: on a crowded machine a pass takes it long, but it gets on. */
static bool lock_at_end(void)
{
	uint64_t seq = 0;
	int idle = 0;

	for (int waited = 0; waited < END_LOCK_MS && idle < END_IDLE_MS; waited += END_LOOK_MS) {
		uint64_t now;

		if (lock_for(END_LOOK_MS))
			return true;
		now = atomic_load_explicit(&session.journal.head->commit_seq, memory_order_relaxed);
		idle = now == seq && !writer_is_runnable() ? idle + END_LOOK_MS : 0;
		seq = now;
	}
	return false;
}

void session_flush(void)
{
	int cancel;

	if (!session_is_on() || getpid() != session.pid)
		return;
	/* A thread that is cancelled while it writes would keep the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	atomic_fetch_add(&waiting, 1);
	if (lock_at_end()) {
		if (session_is_on())
			drain_now(false);
		pthread_mutex_unlock(&session.drain_lock);
	}
	atomic_fetch_sub(&waiting, 1);
	pthread_setcancelstate(cancel, NULL);
}

void session_exec(void)
{
	int err = errno;

	thread_word.busy++;
	session_flush();
	thread_word.busy--;
	errno = err;
}

void session_end(void)
{
	uint32_t on = SESSION_ON;
	int err = errno, cancel;

	if (!session_is_on() || getpid() != session.pid)
		return;
	thread_word.busy++;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	stream_poll();
	if (!atomic_compare_exchange_strong(&session.phase, &on, SESSION_ENDED))
		goto out;
	stats_threads_stop();
	atomic_store(&stop, true);
	atomic_fetch_add(&waiting, 1);
	if (lock_at_end()) {
		int bad = drain_now(true);

		/* What could not be written is still in there, for `probe recover`. */
		if (!bad && session.journal.safe) {
			const char *path = session.journal.head->journal_path;

			if (session.cfg.journal_dir[0] ||
				strncmp(path, session.folder.path, strlen(session.folder.path)))
				unlink(path);
			else
				unlinkat(session.folder.dir.fd, "journal.bin", 0);
		}
		pthread_mutex_unlock(&session.drain_lock);
	}
out:
	pthread_setcancelstate(cancel, NULL);
	thread_word.busy--;
	errno = err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer thread, and everything else that moves records from the journal into files: at the
 * end of each step, when an eighth of the journal or 1 MiB is in use, each second, and when the
 * program ends. Only the holder of the role (role.h) does this.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/private_stack.h"
#include "base/fpenv.h"
#include "base/io.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/tid.h"
#include "config/rooms/files.h"
#include "session/state.h"
#include "folder/opened.h"
#include "writer/output.h"
#include "writer/overhead.h"
#include "writer/own_start.h"
#include "writer/progress.h"
#include "writer/role.h"
#include "writer/writer.h"

#define STEP_DRAIN_NS 50000000u

static _Atomic uint32_t wake_word;
static _Atomic uint64_t last_drain; /* ticks */

/* Copies values that only this process knows into the journal's head, for recovery. */
static void update_head(void)
{
	struct journal_head *h = session.journal.head;

	clock_update(&h->clock, &output.clock_settled);
	h->clock_last = h->clock;
	h->clock_last.tick = clock_ticks();
	h->clock_last.mono_ns = clock_ns(CLOCK_MONOTONIC);
	h->clock_last.real_ns = clock_ns(CLOCK_REALTIME);
	for (int i = 0; i < LOSS_COUNT; i++) {
		const char *text = log_loss_text((enum loss)i);

		if (text && !h->loss[i][0])
			memcpy(h->loss[i], text, LOSS_TEXT_MAX);
	}
}

static uint64_t get_seen_calls(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0, all = journal_get_nthread(&session.journal); i < all; i++)
		n += __atomic_load_n(
			&journal_get_thread(&session.journal, i)->count[JC_SEEN], __ATOMIC_RELAXED);
	return n;
}

/*
 * Reopens the folder. The program may have closed its descriptor: daemons close all. If the
 * folder was removed, everything written into it from now on would be lost. So a folder is taken
 * again; the old name may belong to another process by now. A journal that was in the folder
 * continues in memory, and is lost with the process.
 */
static void open_folder_again(void)
{
	struct folder f;
	struct files files;
	struct stat st;

	int err = folder_reopen(&output.folder);

	output.sink.files.dirfd = output.folder.dir.fd;
	journal_lock_again(&session.journal, session.journal.head->journal_path);
	if (!err && fstat(output.folder.dir.fd, &st) == 0 && st.st_nlink > 0)
		return;
	log_loss(LOSS_WRITE,
		"%s was removed: rows written so far are gone with it; creating it again",
		output.folder.path);
	if (session_take_folder(&f, NULL) < 0)
		return;
	if (files_open(&files, &session.journal, f.dir.fd) < 0) {
		folder_close(&f);
		return;
	}
	files_move(&output.sink.files, &files);
	folder_close(&output.folder);
	output.folder = f;
	snprintf(session.journal.head->folder, JOURNAL_PATH_MAX, "%s", f.path);
	if (!has_journal(session.journal.head->journal_path))
		session.journal.safe = false;
}

bool journal_is_inside(void)
{
	size_t n = strlen(output.folder.path);
	const char *path = session.journal.head->journal_path;

	return strncmp(path, output.folder.path, n) == 0 && strcmp(path + n, "/journal.bin") == 0;
}

/* Checks the folder in the middle of a drain. If it cannot be reopened, nothing is written until the next drain. */
static void check_output_folder(struct files *f)
{
	f->dirfd = folder_reopen(&output.folder) == 0 ? output.folder.dir.fd : -1;
}

/*
 * Copies the journal's open calls to a file, once a second, unless the journal is in the rank's
 * folder. A journal in this folder is moved with it. Any other may end with the container or the
 * login session, and is not visible on other hosts.
 */
static void write_opened(bool last)
{
	static uint64_t second;
	uint64_t now = clock_ns(CLOCK_MONOTONIC) / 1000000000;

	if (journal_is_inside())
		return;
	if (last) {
		unlinkat(output.folder.dir.fd, OPENED_FILE, 0);
		return;
	}
	if (now == second)
		return;
	second = now;
	/* If this cannot be written, rows cannot either, which is reported. */
	opened_write(&session.journal, output.folder.dir.fd, &output.sink.opened);
}

static void report_unwritten_rows(int err)
{
	log_loss(LOSS_WRITE,
		"writing to %s: %s; records wait in the journal and are lost when it is full; %s",
		output.folder.path, io_error_text(err),
		io_get_remedy(err, "let the process write there"));
}

/* Rows are not concerned. last: the journal, which stays, is all that shows the process's end. */
static void report_unwritten_meta(int err, bool last)
{
	log_loss(LOSS_WRITE, "writing meta.json in %s: %s; %s; %s", output.folder.path,
		io_error_text(err),
		last ? "rows are complete; the folder looks unfinished until `probe recover` has "
		       "run"
		     : "rows are not concerned; it keeps its earlier content and is written again",
		io_get_remedy(err, "let the process write there"));
}

/*
 * Adds the processor time since `since` to the cost of writing. since: a value of the thread's
 * processor time. Returns its current value.
 */
static uint64_t add_own_cpu_time(uint64_t since)
{
	uint64_t now = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	__atomic_fetch_add(&session.journal.head->writer_ns, now - since, __ATOMIC_RELAXED);
	return now;
}

/*
 * Applies new values of keys to what is written about steps from now on. Keys that are only read
 * at the start are not affected.
 */
static void update_written_keys(void)
{
	files_set_config(&output.sink.files, get_generation()->cfg);
}

/*
 * Prepares the caller for writing: rows contain numbers as text, and a thread of the job may have
 * its own rounding mode. Caller has the role.
 */
static void start_writing(struct fpenv *env)
{
	const struct files_keys *keys = get_files_keys(get_config());

	fpenv_enter(env);
	follow_rank();
	open_folder_again();
	output.sink.files.look = check_output_folder;
	update_written_keys();
	update_thinning(keys->max_overhead, keys->overhead_window_ms);
	update_head();
}

/*
 * While nothing is recorded, meta.json shows the current step, updated once a second: a user who
 * switches recording on needs it.
 */
static bool is_step_news(const struct journal_head *h)
{
	static uint64_t second;
	static uint32_t told;
	uint32_t step = atomic_load_explicit(&h->step, memory_order_relaxed);
	uint64_t now = clock_ns(CLOCK_MONOTONIC) / 1000000000;

	if (step == told || now == second)
		return false;
	told = step;
	second = now;
	return true;
}

/*
 * True if meta.json must be updated, once a second, for readers on other hosts: they cannot see a
 * journal outside the folder, and recognise by meta.json that the process lives.
 */
static bool is_sign_of_life_due(const struct journal_head *h)
{
	static uint64_t told;

	if (journal_is_inside() || h->progress.at_ns == told)
		return false;
	told = h->progress.at_ns;
	return true;
}

/*
 * To be called after the passes. err: -errno if not everything was written. Returns err, or the
 * error of the last meta.json: without it nothing shows that the process ended, but the journal.
 * Caller has the role.
 */
static int stop_writing(int err, bool last)
{
	const struct files_keys *keys = get_files_keys(get_config());
	struct journal_head *h = session.journal.head;
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	atomic_store(&output.failed, err != 0);
	if (err)
		report_unwritten_rows(err);
	if (files_remove_oldest(&output.sink.files))
		log_loss(LOSS_LIMIT,
			"output_limit_mib (%lld) reached: oldest blocks but the first are removed",
			(long long)keys->output_limit_mib);
	if (keys->gzip && !last && !err) {
		int cut = files_compress(&output.sink.files, &output.hurry);

		atomic_store(&output.hurry, 0);
		if (cut < 0)
			log_loss(LOSS_WRITE,
				"compressing a file in %s: %s; files stay uncompressed from here "
				"on",
				output.folder.path, strerror(-cut));
	}
	atomic_store_explicit(&last_drain, clock_ticks(), memory_order_relaxed);
	cpu = add_own_cpu_time(cpu);

	uint64_t commit = atomic_load(&h->commit_seq), seen = get_seen_calls();

	note_own_start();
	write_opened(last && !err);
	if (last && !err) {
		sink_write_results(&output.sink);
		atomic_store(&h->state, JS_FINISHED);
	}
	if (last || commit != output.meta_of_commit || seen != output.meta_of_count ||
		is_step_news(h) || is_sign_of_life_due(h)) {
		update_head();

		int late = sink_write_meta(&output.sink);

		if (late) {
			report_unwritten_meta(late, last && !err);
			if (last && !err) {
				atomic_store(&h->state, JS_ENDED);
				err = late;
			}
		} else {
			output.meta_of_commit = commit;
			output.meta_of_count = seen;
		}
	}
	add_own_cpu_time(cpu);
	return err;
}

static int drain_counted(bool last)
{
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int more = drain_one_pass(&output.drain, DRAIN_TEXT, false, last);

	add_own_cpu_time(cpu);
	return more;
}

int drain_now(bool last)
{
	struct fpenv env;
	int more;

	start_writing(&env);
	do
		more = drain_counted(last);
	while (more > 0);
	more = stop_writing(more, last);
	fpenv_leave(&env);
	return more;
}

/* True if other threads want the role, in order to write everything. Caller has the role. */
static bool role_is_wanted(void)
{
	return atomic_load(&output.stop) || atomic_load(&output.waiting) || !session_is_on();
}

/*
 * The writer yields after this much processor time. On a crowded machine the kernel preempts it
 * some milliseconds later: it must not have the role then, because no thread of the job could
 * help.
 */
#define YIELD_NS 1500000

#define LEAVE_NS 2000000

/*
 * If the journal is crowded and this thread does not get the processor time that it needs,
 * threads of the job write instead, because they are running. The role of the writer is left to
 * them as long as they write: a role held by a thread that waits for a processor would only lose
 * records. began, ran: the clock and this thread's processor time before its last passes.
 */
static void wait_for_job_to_write(uint64_t began, uint64_t ran)
{
	struct journal *j = &session.journal;
	struct timespec pause = {.tv_nsec = LEAVE_NS};
	uint64_t took = clock_ns(CLOCK_MONOTONIC) - began;
	unsigned before, now;

	ran = clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran;
	if (!journal_is_crowded(j) || took < ran + ran / 4)
		return;
	/*
	 * Only passes of the job's threads that freed something count: such a pass stops at the
	 * first new stack, because only this thread symbolises stacks.
	 */
	now = atomic_load_explicit(&output.helped, memory_order_relaxed);
	do {
		before = now;
		nanosleep(&pause, NULL);
		now = atomic_load_explicit(&output.helped, memory_order_relaxed);
	} while (now != before && !role_is_wanted() && journal_is_crowded(j));
}

/*
 * Measures progress, with the role, because other threads write meta.json too; on the writer
 * thread, whose own time does not count as the job's.
 */
static void measure_and_write_progress(void)
{
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	measure_progress(&session.journal.head->progress);
	add_own_cpu_time(cpu);
}

/*
 * The writer thread's drain. The role is released between passes, so that no thread waits for
 * more than one pass. Returns false if another thread has taken over.
 */
static bool run_drain_with_pauses(void)
{
	uint64_t ran = clock_ns(CLOCK_THREAD_CPUTIME_ID), pass_ran = ran;
	uint64_t began = clock_ns(CLOCK_MONOTONIC);
	struct fpenv env;
	int more;

	while (!role_take_within(1000))
		if (role_is_wanted())
			return false;
	if (role_is_wanted()) {
		output_release();
		return false;
	}
	start_writing(&env);
	measure_and_write_progress();
	while ((more = drain_counted(false)) > 0) {
		uint64_t now = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		output_release();
		wait_for_job_to_write(began, pass_ran);
		if (now - ran > YIELD_NS) {
			ran = now;
			sched_yield();
		}
		pass_ran = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		began = clock_ns(CLOCK_MONOTONIC);
		if (role_is_wanted())
			goto out;
		while (!role_take_within(1000))
			if (role_is_wanted())
				goto out;
		if (role_is_wanted()) {
			output_release();
			goto out;
		}
	}
	stop_writing(more, false);
	output_release();
	fpenv_leave(&env);
	return true;
out:
	fpenv_leave(&env);
	return false;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#define AHEAD_BYTES (1u << 20)
#define AHEAD_BYTES_MAX (2u << 20)
/* bytes per call: the kernel keeps the job from mapping memory meanwhile */
#define FAULT_BYTES (64u << 10)

/*
 * Touches the journal's chunks, so that page faults are not taken by threads of the job. Does so
 * for chunks that have been in use (the kernel write-protects them again after writing them to
 * disk), and for as many again, 1 to 2 MiB; not for the whole journal, because a program with few
 * calls should dirty few pages. Older kernels refuse; then the job's threads take the faults (1
 * to 5 us each).
 */
static void load_chunk_pages(void)
{
	static uint32_t most;
	struct journal *j = &session.journal;
	const struct journal_head *h = j->head;
	char *chunks = (char *)h + h->chunk_off;
	uint32_t ahead = AHEAD_BYTES / h->chunk_bytes + 1,
		 ahead_most = AHEAD_BYTES_MAX / h->chunk_bytes + 1;
	uint32_t all = journal_get_nchunk(j), n;

	for (uint32_t i = (all - 1) / 64 + 1; i-- > most / 64;) {
		uint64_t bits = atomic_load_explicit(&h->bitmap[i], memory_order_relaxed);

		if (!bits)
			continue;
		n = i * 64 + 64 - (uint32_t)__builtin_clzll(bits);
		most = n > most ? n : most;
		break;
	}
	n = most < ahead ? ahead : most > ahead_most ? ahead_most : most;
	n += most;
	n = n < all ? n : all;
	for (uint64_t at = 0, end = (uint64_t)n * h->chunk_bytes; at < end; at += FAULT_BYTES)
		/* At the end the job frees memory, and a busy file system may take seconds for one page. */
		if (role_is_wanted() ||
			madvise(chunks + at, end - at < FAULT_BYTES ? end - at : FAULT_BYTES,
				MADV_POPULATE_WRITE) < 0)
			return;
	atomic_store_explicit(&j->touched, n, memory_order_relaxed);
}

static void load_journal_pages(void)
{
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	load_chunk_pages();
	add_own_cpu_time(cpu);
}

static void futex_wait_second(uint32_t value)
{
	struct timespec second = {.tv_sec = 1};

	syscall(SYS_futex, &wake_word, FUTEX_WAIT_PRIVATE, value, &second, NULL, 0);
}

/*
 * Batch scheduling: waking up never takes the processor from a thread of the job. The priority is
 * not lowered: an ordinary user can lower a priority but not raise it again, and a starved writer
 * would delay the end of the job. A real-time policy is not changed.
 */
static void set_batch_scheduling(void)
{
	struct sched_param none = {0};

	if (sched_getscheduler(0) == SCHED_OTHER)
		sched_setscheduler(0, SCHED_BATCH, &none);
}

static void *run_writer_thread(void *arg)
{
	(void)arg;
	thread_state.busy++; /* libprobe's own calls are not recorded */
	prctl(PR_SET_NAME, "probe-writer");
	atomic_store(&output.writer_tid, (int)read_tid());
	set_batch_scheduling();
	start_death_watch(&output.death, &session.journal);

	/*
	 * The writer must not share the core to which a rank is pinned, if there are others. The
	 * cpuset still applies.
	 */
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	load_journal_pages();
	session_hooks.describe_late();
	while (!atomic_load(&output.stop)) {
		if (!atomic_exchange(&wake_word, 0))
			futex_wait_second(0);
		if (atomic_load(&output.stop) || !session_is_on())
			break;
		journal_grow_ahead(&session.journal);
		if (run_drain_with_pauses())
			load_journal_pages();
		session_hooks.look_at_config();
	}
	while (!end_left_over())
		futex_wait_second(0);
	stop_death_watch(&output.death);
	return NULL;
}

int writer_start(void)
{
	int err;

	atomic_store(&output.stop, false);
	atomic_store(&output.waiting, 0);
	atomic_store(&output.end, END_NONE);
	atomic_store(&output.writer_tid, 0);
	err = thread_start(run_writer_thread, NULL);
	if (err) {
		output.inline_writer = true;
		log_loss(LOSS_WRITER,
			"no writer thread: %s; records are written by the program's own threads",
			strerror(-err));
	}
	return err;
}

static void run_drain_inline(void *arg)
{
	int cancel;

	(void)arg;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (role_take_now()) {
		drain_now(false);
		output_release();
		session_hooks.describe_late();
		session_hooks.look_at_config();
	}
	pthread_setcancelstate(cancel, NULL);
}

void writer_wake(void)
{
	if (__builtin_expect(output.inline_writer, 0)) {
		private_stack_call(run_drain_inline, NULL);
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

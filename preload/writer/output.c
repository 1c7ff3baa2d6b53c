/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of this process and its journal: takes them, renames them when the rank is known,
 * releases them.
 */
#include "writer/overhead.h"
#include "writer/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "config/rooms/files.h"
#include "config/rooms/steps.h"
#include "text/text.h"
#include "session/state.h"
#include "folder/meta.h"
#include "writer/resume.h"
#include "writer/role.h"
#include "writer/writer.h"

struct output output = {
	.folder = {.dir = {.fd = -1}},
};

static uint32_t get_current_step(void)
{
	return session.journal.head
		       ? atomic_load_explicit(&session.journal.head->step, memory_order_relaxed)
		       : output.first_step;
}

void session_fill_head(struct journal_head *h)
{
	const struct files_keys *keys = get_files_keys(get_config());

	h->owner = session.owner;
	h->clock = h->clock_last = session.clock;
	h->block_steps = (uint32_t)keys->step_count_per_record;
	h->part_bytes = (uint64_t)keys->part_mib << 20;
	h->limit_bytes = (uint64_t)keys->output_limit_mib << 20;
	h->rank = session.world_rank;
	h->world_size = session.world_size;
	h->rank_guessed = session.rank_guessed;
	memcpy(h->run, session.run, sizeof(h->run));
	atomic_store_explicit(&h->step, get_current_step(), memory_order_relaxed);
	atomic_store_explicit(&h->state, JS_RUNNING, memory_order_relaxed);
}

int session_take_folder(struct folder *f, const struct folder_resume *resume)
{
	size_t bytes = sizeof(struct journal_head) + META_MAX;
	char *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct journal none = {.head = (struct journal_head *)mem};
	const char *why = NULL;

	if (mem == MAP_FAILED)
		return -ENOMEM;
	session_fill_head(none.head);

	struct text t = text_init(mem + sizeof(struct journal_head), META_MAX);

	meta_format(&t, &none, NULL);

	int err = folder_take(f, get_files_keys(get_config())->output_dir, session.world_rank,
		&session.owner, t.buf, t.len, resume, &why);

	munmap(mem, bytes);
	if (!err && why)
		log_loss(LOSS_FOLDER, "rank%d %s: writing to %s instead", session.world_rank, why,
			f->path);
	return err;
}

bool writer_open(uint32_t step)
{
	const struct files_keys *keys = get_files_keys(get_config());
	struct folder_resume resume = {resume_earlier_run, &output.resumed};

	output.first_step = step;
	output.resumed =
		(struct resumed){.first = (uint32_t)get_steps_keys(get_config())->start_iteration};

	int err = session_take_folder(&output.folder, keys->append_output ? &resume : NULL);

	if (err) {
		log_loss(LOSS_FOLDER, "output folder %s: %s; nothing is recorded; %s",
			keys->output_dir, io_error_text(err),
			io_get_remedy(err, "set PROBE_OUTPUT_DIR to a folder that can be written"));
		return false;
	}
	err = session_make_journal();
	if (!err)
		err = sink_open(&output.sink, &session.journal, output.folder.dir.fd, get_config(),
			parse_output_formats(keys->format));
	if (!err)
		err = drain_open(&output.drain, &session.journal, &output.sink);
	if (err) {
		log_loss(LOSS_JOURNAL, "no journal: %s; nothing is recorded", strerror(-err));
		return false;
	}
	if (output.resumed.is) {
		/*
		 * Files of an earlier version of libprobe do not contain the numbers that were
		 * used, so numbers may repeat.
		 */
		if (output.resumed.next_seq > atomic_load(&session.seq))
			atomic_store(&session.seq, output.resumed.next_seq);
		session.journal.head->seq_next = atomic_load(&session.seq);
	}
	session_name_journal();
	log_info(2, "recording to %s", output.folder.path);
	return true;
}

/*
 * Reports that the rank became known after the first rows: an earlier run's folder is then moved
 * away as a whole.
 */
static void print_late_rank(int rank)
{
	const struct files_keys *keys = get_files_keys(get_config());
	char path[JOURNAL_PATH_MAX];

	snprintf(path, sizeof(path), "%s/rank%d/meta.json", keys->output_dir, rank);
	if (keys->append_output && access(path, F_OK) == 0)
		log_loss(LOSS_FOLDER,
			"append_output: the rank was not known yet when the recording began: the "
			"earlier run's rows are in rank%d.<n>, those of this one in a new rank%d; "
			"set RANK and WORLD_SIZE",
			rank, rank);
}

/* If the journal is in the folder, it moves with it. */
static void rename_folder_and_journal(int rank)
{
	char *path = session.journal.head->journal_path;
	size_t n = strlen(output.folder.path);
	bool inside =
		strncmp(path, output.folder.path, n) == 0 && strcmp(path + n, "/journal.bin") == 0;

	print_late_rank(rank);
	if (folder_rename(
		    &output.folder, get_files_keys(get_config())->output_dir, rank, &session.owner))
		return;
	if (inside)
		snprintf(path, JOURNAL_PATH_MAX, "%s/journal.bin", output.folder.path);
	snprintf(session.journal.head->folder, JOURNAL_PATH_MAX, "%s", output.folder.path);
}

/* Rank and size in one atomic word, so that the caller never waits for the holder of the role. */
#define NEWS_SIZE_BITS 31
#define NEWS_GUESSED (UINT64_C(1) << 62)
#define NEWS (UINT64_C(1) << 63)

void follow_rank(void)
{
	uint64_t news = atomic_exchange(&output.rank_news, 0);
	struct journal_head *h = session.journal.head;

	if (!news)
		return;
	h->rank = (int32_t)(news >> NEWS_SIZE_BITS & INT32_MAX);
	h->world_size = (int32_t)(news & INT32_MAX) - 1;
	h->rank_guessed = (news & NEWS_GUESSED) != 0;
	rename_folder_and_journal(h->rank);
}

void output_release(void)
{
	do {
		follow_rank();
		role_release();
	} while (atomic_load(&output.rank_news) && role_take_now());
}

void writer_rank_known(int rank, int size, bool guessed)
{
	uint64_t news = NEWS | (guessed ? NEWS_GUESSED : 0) |
			(uint64_t)(uint32_t)rank << NEWS_SIZE_BITS |
			(uint32_t)(size < 0 ? 0 : size + 1);

	atomic_store(&output.rank_news, news);
	if (role_take_now())
		output_release();
}

void writer_forked(void)
{
	role_reset();
	free_death_watch(&output.death);
	atomic_store(&output.waiting, 0);
	atomic_store(&output.hurry, 0);
	atomic_store(&output.rank_news, 0);
}

void writer_forget(void)
{
	journal_close(&session.journal);
	folder_close(&output.folder);
	session.journal = (struct journal){.lock = {.fd = -1}};
	reset_thinning();
	output.sink = (struct sink){0};
	output.drain = (struct drain){0};
	output.clock_settled = output.inline_writer = false;
	atomic_store(&output.failed, false);
	atomic_store(&output.end, END_NONE);
}

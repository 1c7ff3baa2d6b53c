/* SPDX-License-Identifier: Apache-2.0 */
/* An output folder as the ranks of a run left it, for the parts of the tool that read whole runs. */
#ifndef TESTS_UNIT_RUN_HELPER_H
#define TESTS_UNIT_RUN_HELPER_H

#include "tmp_helper.h"

#include "journal/columns.h"
#include "folder/owner.h"

/* The output folder of the test that runs. */
static char top[64];

/* Content of one rank's meta.json, as a test sets it; times are nanoseconds since the epoch, 0: the key is missing. */
struct run_meta {
	const char *state; /* NULL: "finished" */
	const char *host; /* NULL: "a" */
	const char *run; /* NULL: none */
	const char *attempt; /* NULL: the key is missing */
	int rank, world; /* -1: not known */
	long first, last; /* records */
	long clock_first, clock_last;
	long start, end; /* of the process */
	bool mine; /* its process is the test's */
};

static inline int make_top(void **state)
{
	(void)state;
	make_tmp(top, sizeof(top));
	return 0;
}

static inline int remove_top(void **state)
{
	(void)state;
	remove_tree(top);
	return 0;
}

/* A new file in a rank's folder, which is made where it is missing. */
static inline FILE *create(const char *folder, const char *file)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", top, folder);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s", top, folder, file);
	f = fopen(path, "w");
	assert_non_null(f);
	return f;
}

static inline void put_run_meta(const char *folder, struct run_meta m)
{
	FILE *f = create(folder, "meta.json");

	fprintf(f, "{\n \"format\": 1,\n \"state\": \"%s\",\n", m.state ? m.state : "finished");
	if (m.mine) {
		struct journal_owner o;
		char text[512];
		struct text t = text_init(text, sizeof(text));

		owner_self(&o);
		owner_format(&t, &o);
		fprintf(f, " %.*s,\n", (int)t.len, text);
	} else {
		/* No process of this host has that start time: such an owner is dead. */
		fprintf(f,
			" \"owner\": {\"host\": \"%s\", \"boot_id\": \"b\", \"pid_ns\": 1, "
			"\"pid\": "
			"1, \"start_time\": 1},\n",
			m.host ? m.host : "a");
	}
	fprintf(f, " \"journal_path\": \"\",\n \"run\": \"%s\",\n", m.run ? m.run : "");
	if (m.rank >= 0)
		fprintf(f, " \"rank\": %d,\n", m.rank);
	if (m.world >= 0)
		fprintf(f, " \"world_size\": %d,\n", m.world);
	if (m.clock_first)
		fprintf(f,
			" \"clock\": {\"first\": {\"real_ns\": %ld}, \"last\": {\"real_ns\": "
			"%ld}},\n",
			m.clock_first, m.clock_last);
	if (m.first)
		fprintf(f, " \"first_record_ns\": %ld,\n \"last_record_ns\": %ld,\n", m.first,
			m.last);
	if (m.attempt)
		fprintf(f, " \"attempt\": \"%s\",\n", m.attempt);
	if (m.start)
		fprintf(f, " \"process_start_ns\": %ld,\n", m.start);
	if (m.end)
		fprintf(f, " \"end\": {\"how\": \"exit\", \"code\": 1, \"at_ns\": %ld},\n", m.end);
	fprintf(f, " \"steps\": {\"current\": 0}\n}\n");
	fclose(f);
}

#endif

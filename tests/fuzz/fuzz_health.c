/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what ranks tell of checkpoints: health/rank<R>.jsonl, health_ckpts.json, alerts.jsonl, as the job reads them and as
 * `probe ckpt` does. Beside crashes it looks for an entry that is not in the list behind its writing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "sink/health_files.h"
#include "tools/probe/ckpt/ckpt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char top[] = "/tmp/fuzz_health.XXXXXX";

static void put_health_file(const char *name, const uint8_t *data, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void take_health_line(void *arg, const struct health_line *l)
{
	(void)arg;
	if (strlen(l->path) >= sizeof(l->path))
		abort();
}

static void look_at_list(void)
{
	static char text[1 << 22];
	char path[128];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/health_ckpts.json", top);
	f = fopen(path, "r");
	n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	text[n] = 0;
	if (f)
		fclose(f);
	if (!strstr(text, "fuzzed.ckpt"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct journal_head head = {.rank = 0, .world_size = 2};
	struct journal j = {.head = &head};
	struct config cfg = {.output_dir = top};
	struct files f = {.j = &j, .cfg = &cfg, .dirfd = -1};
	struct health_ckpt c = {.path = (char[]){"/x/fuzzed.ckpt"}, .judged = true};
	struct health_peers peers = {0};
	struct checkpoints found = {0};
	char why[HEALTH_WHY_MAX], folder[64];
	static bool made;

	if (!made) {
		if (!mkdtemp(top))
			abort();
		snprintf(folder, sizeof(folder), "%s/health", top);
		mkdir(folder, 0700);
		log_level_set(0);
		made = true;
	}
	put_health_file("health/rank1.jsonl", data, size);
	put_health_file("health_ckpts.json", data, size);
	put_health_file("alerts.jsonl", data, size);
	health_read_peers(&peers, &f, take_health_line, NULL);
	health_peers_free(&peers);
	if (health_write_entry(&f, &c) == 0)
		look_at_list();
	f.dirfd = open(top, O_RDONLY | O_DIRECTORY);
	health_alert_between(f.dirfd, 3, 7, why, sizeof(why));
	close(f.dirfd);
	checkpoints_from_health(&found, top);
	checkpoints_free(&found);
	return 0;
}

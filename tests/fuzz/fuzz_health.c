/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what ranks tell of checkpoints: health/rank<R>.jsonl, health_ckpts.json, alerts.jsonl, as the job reads them and as
 * `probe ckpt` does. Beside crashes it looks for an entry that is not in the list after its writing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "config/config.h"
#include "fuzz_file.h"
#include "training/health/health_files.h"
#include "tools/probe/ckpt/ckpt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_health_line(void *arg, const struct health_line *l)
{
	(void)arg;
	if (strlen(l->path) >= sizeof(l->path))
		abort();
}

static void look_at_list(void)
{
	static char text[1 << 22];
	char path[FUZZ_PATH_MAX];
	FILE *f;
	size_t n;

	f = fopen(fuzz_path(path, "health_ckpts.json"), "r");
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
	struct config cfg = {.output_dir = fuzz_folder};
	struct files f = {.j = &j, .cfg = &cfg, .dirfd = -1};
	struct health_ckpt c = {.path = (char[]){"/x/fuzzed.ckpt"}, .judged = true};
	struct health_peers peers = {0};
	struct checkpoints found = {0};
	char why[HEALTH_WHY_MAX];

	if (make_fuzz_folder()) {
		make_fuzz_subfolder("health");
		log_level_set(0);
	}
	put_fuzz_file("health/rank1.jsonl", data, size);
	put_fuzz_file("health_ckpts.json", data, size);
	put_fuzz_file("alerts.jsonl", data, size);
	health_read_peers(&peers, &f, take_health_line, NULL);
	health_peers_free(&peers);
	if (health_write_entry(&f, &c) == 0)
		look_at_list();
	f.dirfd = open(fuzz_folder, O_RDONLY | O_DIRECTORY);
	health_find_alert_between(f.dirfd, 3, 7, why, sizeof(why));
	close(f.dirfd);
	checkpoints_read_health(&found, fuzz_folder);
	checkpoints_free(&found);
	return 0;
}

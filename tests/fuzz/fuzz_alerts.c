/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as alerts.jsonl, which `probe watch` follows, and as anomaly.json, which `probe analyze --anomalies` puts in order. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/probe/analyze/anomaly_order.h"
#include "tools/probe/watch/watch_alerts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_alerts_file(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char top[] = "/tmp/fuzz_alerts.XXXXXX", alerts[64], anomalies[64], folder[64];
	struct anomaly_query q = {.top = 8};
	struct watch_alerts *w;
	static bool made;

	if (!made) {
		if (!mkdtemp(top) || !freopen("/dev/null", "w", stdout) ||
			!freopen("/dev/null", "w", stderr))
			abort();
		made = true;
		snprintf(folder, sizeof(folder), "%s/rank0", top);
		mkdir(folder, 0700);
		snprintf(alerts, sizeof(alerts), "%s/alerts.jsonl", folder);
		snprintf(anomalies, sizeof(anomalies), "%s/anomaly.json", folder);
	}
	put_alerts_file(alerts, data, size);
	put_alerts_file(anomalies, data, size);
	w = watch_alerts_new(top, NULL);
	watch_alerts_look(w, false);
	watch_alerts_free(w);
	anomalies_analyze(&q, top, false);
	anomalies_analyze(&q, top, true);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as alerts.jsonl, which `probe watch` follows, and as anomaly.json, which `probe analyze --anomalies` puts in order. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz_file.h"
#include "tools/probe/analyze/anomaly_order.h"
#include "tools/probe/watch/watch_alerts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct anomaly_query q = {.top = 8};
	struct watch_alerts *w;

	if (make_fuzz_folder()) {
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			abort();
		make_fuzz_subfolder("rank0");
	}
	put_fuzz_file("rank0/alerts.jsonl", data, size);
	put_fuzz_file("rank0/anomaly.json", data, size);
	w = watch_alerts_init(fuzz_folder, NULL);
	watch_alerts_read(w, false);
	watch_alerts_free(w);
	print_first_anomalies(&q, fuzz_folder, false);
	print_first_anomalies(&q, fuzz_folder, true);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define WIDTH 40
#define FIRST_NS 1000000000u
#define EACH_NS 200000000u

void progress_start(struct progress *p, bool enabled, uint64_t total)
{
	*p = (struct progress){
		.on = enabled && isatty(2), .total = total, .begun = clock_ns(CLOCK_MONOTONIC)};
}

bool progress_is_due(struct progress *p)
{
	uint64_t now;

	if (!p->on)
		return false;
	now = clock_ns(CLOCK_MONOTONIC);
	return now - p->begun >= FIRST_NS && now - p->latest >= EACH_NS;
}

void progress_print(struct progress *p, uint64_t done)
{
	static const char full[] = "########################################";
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	double part = p->total ? (double)done / (double)p->total : 1;
	double left = part > 0 ? (double)(now - p->begun) * 1e-9 * (1 - part) / part : 0;
	int n = part >= 1 ? WIDTH : (int)(part * WIDTH);

	p->latest = now;
	p->shown = true;
	fprintf(stderr, "\rreading [%.*s%*s] %3.0f %%, %.0f s left ", n, full, WIDTH - n, "",
		part * 100, left);
	fflush(stderr);
}

void progress_stop(struct progress *p)
{
	if (p->shown)
		fprintf(stderr, "\r%*s\r", WIDTH + 32, "");
}

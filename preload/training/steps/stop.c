/* SPDX-License-Identifier: Apache-2.0 */
#include "training/steps/stop.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum stop_state { STOP_NOT_OFFERED, STOP_OFFERED, STOP_ASKED, STOP_TAKEN };

static _Atomic uint8_t state;
static char asked[STOP_TEXT_MAX]; /* written once, before STOP_ASKED is set */

void stop_job_offer(void)
{
	uint8_t none = STOP_NOT_OFFERED;

	if (atomic_load_explicit(&state, memory_order_relaxed) == STOP_NOT_OFFERED)
		atomic_compare_exchange_strong(&state, &none, STOP_OFFERED);
}

const char *stop_job_ask(const char *text)
{
	switch ((enum stop_state)atomic_load(&state)) {
	case STOP_NOT_OFFERED:
		return "no step of an optimizer that could raise an error has been seen";
	case STOP_ASKED:
	case STOP_TAKEN:
		return "it has been asked for already";
	case STOP_OFFERED:
		break;
	}
	strncpy(asked, text, sizeof(asked) - 1);
	atomic_store(&state, STOP_ASKED);
	return NULL;
}

bool stop_job_take(char text[STOP_TEXT_MAX])
{
	uint8_t want = STOP_ASKED;

	if (atomic_load_explicit(&state, memory_order_relaxed) != STOP_ASKED ||
		!atomic_compare_exchange_strong(&state, &want, STOP_TAKEN))
		return false;
	memcpy(text, asked, sizeof(asked));
	return true;
}

void stop_job_forked(void)
{
	atomic_store(&state, STOP_NOT_OFFERED);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libprobe's own functions, for programs that want to control it. None is needed: a program records unchanged.
 *
 * Look them up weakly and a program runs with and without the preload:
 *
 *	#include <libprobe/probe.h>
 *	if (probe_step)
 *		probe_step();
 *
 * All may be called from any thread, return at once and never fail the program.
 */
#ifndef LIBPROBE_PROBE_H
#define LIBPROBE_PROBE_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(PROBE_BUILDING)
#define PROBE_API __attribute__((visibility("default")))
#else
#define PROBE_API __attribute__((weak))
#endif

/*
 * A training step ends here. Calls that are entered later belong to the next step. Overrides every other source of
 * steps from its first call on. Returns the number of the step that begins, or -1 when nothing is recorded.
 */
PROBE_API long probe_step(void);

/* Stops and resumes recording (calls are counted as paused). Return 0, or -1 when nothing is recorded. */
PROBE_API int probe_pause(void);
PROBE_API int probe_resume(void);

/* Writes what is complete to the files now, on the calling thread. Returns 0, or -1 when nothing is recorded. */
PROBE_API int probe_flush(void);

/*
 * Records a tensor under a name: in calls_*.csv (library `probe`, the name as op), and with `format: [dump]` in debug.json and,
 * saved, in dump_tensor_data/. data: contiguous elements in memory that the processor can read, taken before the function
 * returns. dtype: "float32", "bfloat16", "int64" ... as in column dtype. shape: "8x512" or "(8, 512)", "-" or "" for a scalar,
 * at most 16 dimensions. From Python: ctypes.CDLL(None).probe_save(b"x", t.data_ptr() as c_void_p, b"float32", b"8x512").
 * Returns 0, or -1: nothing is recorded now, or an argument is invalid.
 */
PROBE_API int probe_save(const char *name, const void *data, const char *dtype, const char *shape);

/*
 * With format: [api]: the latest value of a statistic of the training's state. kind: a word of key kinds, or "scalars"; name:
 * of the parameter, module or scalar; op: min max mean norm zeros nans infs, of a scalar "value". Includes everything recorded
 * so far. Return 0, or -1: there is none, or nothing is recorded.
 */
PROBE_API int probe_stats_get(
	const char *kind, const char *name, const char *op, long *step, double *value);

/*
 * Iterates over all of them: *at is 0 at first. The texts last as long as the process. Returns 1; 0: no more; -1: nothing is
 * recorded.
 */
PROBE_API int probe_stats_next(unsigned long *at, const char **kind, const char **name,
	const char **op, long *step, double *value);

/* "0.1.0": version of the library that is loaded. */
PROBE_API const char *probe_version(void);

#ifdef __cplusplus
}
#endif

#endif

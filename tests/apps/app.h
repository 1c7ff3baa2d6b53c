/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the small MPI programs share. Each of them checks every result that MPI gives it, ends the job with a message
 * and a non-zero status at the first wrong one, and prints only lines that are the same in every run: the sorted
 * output of a run with and of one without a preloaded library must be equal.
 */
#ifndef APP_H
#define APP_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* gcc takes constants like MPI_STATUSES_IGNORE or MPI_UNWEIGHTED, which are small numbers, for arrays without room. */
#if __GNUC__ >= 11 && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif

#define APP_SKIP 77 /* exit status: this MPI cannot do what the program is about */

static int app_rank; /* in MPI_COMM_WORLD */
static int app_size = 1; /* of MPI_COMM_WORLD */
static const char *app_name = "app";
static unsigned long app_checks; /* passed so far */
static uint64_t app_digest = 0xcbf29ce484222325u; /* FNV-1a over everything given to app_mix() */

/* Adds the bytes of a result to the digest that app_done() prints. */
static inline void app_mix(const void *p, size_t n)
{
	const unsigned char *b = p;

	for (size_t i = 0; i < n; i++)
		app_digest = (app_digest ^ b[i]) * 0x100000001b3u;
}

/* One whole line on stdout, in one piece, so that lines of several ranks cannot mix. */
__attribute__((format(printf, 1, 2))) static inline void app_say(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("[%d] %s: %s\n", app_rank, app_name, text);
	fflush(stdout);
}

/* Says what is wrong and ends the whole job, so that the other ranks do not wait for ever. */
__attribute__((format(printf, 3, 4), noreturn)) static inline void app_fail(
	const char *file, int line, const char *fmt, ...)
{
	char text[512];
	int up = 0, down = 0;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s: rank %d: %s:%d: WRONG: %s\n", app_name, app_rank, file, line, text);
	fflush(NULL);
	MPI_Initialized(&up);
	MPI_Finalized(&down);
	if (up && !down)
		MPI_Abort(MPI_COMM_WORLD, 1);
	_Exit(1);
}

/* The text says what was expected and what came instead. */
#define CHECK(ok, ...)                                             \
	do {                                                       \
		if (!(ok))                                         \
			app_fail(__FILE__, __LINE__, __VA_ARGS__); \
		app_checks++;                                      \
	} while (0)

static inline void app_set_name(char **argv)
{
	const char *slash = strrchr(argv[0], '/');

	app_name = slash ? slash + 1 : argv[0];
}

/* MPI_Init, and rank and size of MPI_COMM_WORLD. */
static inline void app_init(int *argc, char ***argv)
{
	app_set_name(*argv);
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &app_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &app_size);
}

/* Ends the program at once, on all ranks, where there are too few of them to test anything. */
static inline void app_need_ranks(int least)
{
	if (app_size >= least)
		return;
	if (app_rank == 0)
		fprintf(stderr, "%s: needs at least %d ranks\n", app_name, least);
	MPI_Finalize();
	exit(2);
}

/* The last line, and MPI_Finalize. Returns the exit status. */
static inline int app_done(void)
{
	app_say("ok, %lu checks, digest %016llx", app_checks, (unsigned long long)app_digest);
	MPI_Finalize();
	return 0;
}

#endif

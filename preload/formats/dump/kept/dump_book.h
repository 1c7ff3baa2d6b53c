/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks and communicators that staged calls refer to by number. */
#ifndef PROBE_SINK_DUMP_BOOK_H
#define PROBE_SINK_DUMP_BOOK_H

#include <stdint.h>

#include "formats/dump/kept/dump_site.h"
#include "formats/dump/kept/dump_stage.h"

struct dump_book;

struct dump_book *dump_book_open(void);
void dump_book_free(struct dump_book *b);

/* Reads what was added to the staged files since the last call. Returns 0, -ENOMEM, or -errno. */
int dump_book_read(struct dump_book *b, int dirfd);

/* Returns the call site of a stack, or NULL if it is not known. Valid until the book is freed. */
const struct dump_site *dump_book_get_site(struct dump_book *b, uint32_t stack);
const struct staged_comm *dump_book_find_comm(const struct dump_book *b, uint64_t id);

/* Returns the world rank of rank `rank` in communicator c; `rank` itself if that is not known. */
int32_t dump_get_world_rank(const struct staged_comm *c, int32_t rank);

/* Returns the n-th world rank of the communicator (from 0), or -1 after the last. */
int32_t dump_get_comm_member(const struct staged_comm *c, uint32_t n);

#endif

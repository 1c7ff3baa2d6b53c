/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP server for few readers of small documents: one request per connection, up to 64 of them at a time in one thread. A client that
 * sends no request or accepts no answer is dropped after three seconds; it never makes others wait.
 */
#ifndef PROBE_TOOLS_HTTP_H
#define PROBE_TOOLS_HTTP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define HTTP_PATH_MAX 256

struct http_answer {
	int status; /* 200, 404 ... */
	const char *type; /* Content-Type */
	char *body; /* malloc'd */
	size_t n;
};

/* Returns the answer for a path without its query. */
typedef void http_answer_fn(void *arg, const char *path, struct http_answer *a);

struct http_server {
	int fd;
	bool local; /* bound to this machine alone: requests for another host name are refused */
	int port; /* the port that it listens on */
};

/* address: of this machine, numeric; port 0: a free one. Returns 0, -EINVAL (no address), -errno. */
int http_listen(struct http_server *s, const char *address, int port);

/* Serves until *stop is not 0. Returns 0 or -ENOMEM. */
int http_serve(struct http_server *s, const volatile sig_atomic_t *stop, http_answer_fn *answer,
	void *arg);

void http_close(struct http_server *s);

#endif

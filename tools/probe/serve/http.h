/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP server for a few clients and small documents: one request per connection, up to 64
 * connections at a time in one thread. A client that sends no request, or does not read the answer,
 * is dropped after three seconds. It never delays other clients.
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

/* Sets *a to the answer for `path`, a path without the query. */
typedef void http_answer_fn(void *arg, const char *path, struct http_answer *a);

struct http_server {
	int fd;
	bool local; /* bound to this host only: requests for another host name are refused */
	int port; /* port on which it listens */
};

/*
 * Starts to listen. address: a numeric address of this host. port 0: any free port. Returns 0,
 * -EINVAL if address is not an address, or -errno.
 */
int http_open(struct http_server *s, const char *address, int port);

/* Serves requests until *stop is not 0. Returns 0 or -ENOMEM. */
int http_handle_requests(struct http_server *s, const volatile sig_atomic_t *stop,
	http_answer_fn *answer, void *arg);

void http_close(struct http_server *s);

#endif

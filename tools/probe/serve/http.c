/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/serve/http.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_MAX 8192
/* Time limit in ms for the arrival of a request, and for the acceptance of each piece of the answer. */
#define REQUEST_MS 3000
#define CLIENTS_MAX 64 /* at the same time */

static long long read_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- listening ---- */

static bool parse_address(const char *text, int port, struct sockaddr_storage *a, socklen_t *n)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)a;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)a;

	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		*n = sizeof(*v4);
		return true;
	}
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) != 1)
		return false;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	*n = sizeof(*v6);
	return true;
}

static bool is_loopback(const struct sockaddr_storage *a)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)a;

	if (a->ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static int get_port(const struct sockaddr_storage *a)
{
	return ntohs(a->ss_family == AF_INET ? ((const struct sockaddr_in *)a)->sin_port
					     : ((const struct sockaddr_in6 *)a)->sin6_port);
}

int http_open(struct http_server *s, const char *address, int port)
{
	struct sockaddr_storage a;
	socklen_t n;
	int on = 1, err = 0;

	*s = (struct http_server){.fd = -1};
	if (!parse_address(address, port, &a, &n))
		return -EINVAL;
	s->local = is_loopback(&a);
	s->fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return -errno;
	setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(s->fd, (struct sockaddr *)&a, n) || listen(s->fd, 64) ||
		getsockname(s->fd, (struct sockaddr *)&a, &n))
		err = -errno;
	s->port = get_port(&a);
	if (err)
		http_close(s);
	return err;
}

void http_close(struct http_server *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

/* ---- a client ---- */

/*
 * A connection: the part of its request that was received, then the part of the answer that was
 * sent. No client makes the others wait.
 */
struct client {
	int fd;
	char request[REQUEST_MAX + 1];
	size_t nrequest;
	char *answer; /* NULL: the request is not complete */
	size_t nanswer, sent;
	/* The client is dropped at `until` if it makes no progress, at `most` in any case; ms, monotonic. */
	long long until, most;
};

static void remove_client(struct client *c)
{
	if (c->answer)
		shutdown(c->fd, SHUT_WR);
	close(c->fd);
	free(c->answer);
	c->fd = -1;
	c->answer = NULL;
}

/*
 * Reads more of the request. Returns 1 if it is complete (up to the empty line), 0 if not, -1 if it
 * will not arrive or is too long.
 */
static int read_http_request(struct client *c)
{
	ssize_t got =
		recv(c->fd, c->request + c->nrequest, REQUEST_MAX - c->nrequest, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got <= 0)
		return -1;
	c->nrequest += (size_t)got;
	c->request[c->nrequest] = 0;
	if (memmem(c->request, c->nrequest, "\r\n\r\n", 4) ||
		memmem(c->request, c->nrequest, "\n\n", 2))
		return 1;
	return c->nrequest < REQUEST_MAX ? 0 : -1;
}

/*
 * Sends as much of the answer as the connection accepts. A slow client is not dropped, because each
 * byte sent extends its time limit.
 */
static bool write_answer(struct client *c)
{
	while (c->sent < c->nanswer) {
		ssize_t sent = send(c->fd, c->answer + c->sent, c->nanswer - c->sent,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (sent <= 0)
			return false;
		c->sent += (size_t)sent;
		c->until = read_ms() + REQUEST_MS < c->most ? read_ms() + REQUEST_MS : c->most;
	}
	return false;
}

/* ---- a request ---- */

/* Returns the value of a header, up to the end of the line, or NULL. */
static const char *find_header(const char *request, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = strchr(request, '\n'); p; p = strchr(p, '\n'))
		if (strncasecmp(++p, name, n) == 0 && p[n] == ':')
			return p + n + 1 + strspn(p + n + 1, " \t");
	return NULL;
}

/*
 * Returns true if the Host header names this machine. Requests with another name are refused: a foreign
 * web page in a browser on this host may make its own name resolve to this address (DNS rebinding).
 */
static bool is_own_host_name(const char *host)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

	for (size_t i = 0; host && i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i]);

		if (strncasecmp(host, names[i], n) == 0 && strchr(":\r\n \t", host[n]))
			return true;
	}
	/* An IP address is not resolved, so it cannot be redirected. */
	if (host && strncmp(host, "127.", 4) == 0)
		return strchr(":\r\n \t", host[strspn(host, "0123456789.")]) != NULL;
	return !host;
}

static const char *get_status_reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 500:
		return "Internal Server Error";
	default:
		return "Bad Request";
	}
}

/* Answers with a short text. */
static void set_error_answer(struct http_answer *a, int status)
{
	const char *reason = get_status_reason(status);

	free(a->body);
	*a = (struct http_answer){.status = status, .type = "text/plain; charset=utf-8"};
	a->body = malloc(strlen(reason) + 2);
	if (a->body)
		a->n = (size_t)sprintf(a->body, "%s\n", reason);
}

/* Parses "GET /metrics?x HTTP/1.1": the path, and whether the method is GET or HEAD. */
static int parse_request(const char *request, char path[HTTP_PATH_MAX], bool *head)
{
	size_t n;

	*head = strncmp(request, "HEAD ", 5) == 0;
	if (!*head && strncmp(request, "GET ", 4))
		return isupper((unsigned char)*request) ? 405 : 400;
	request = strchr(request, ' ') + 1;
	n = strcspn(request, " ?#\r\n");
	if (*request != '/' || n >= HTTP_PATH_MAX)
		return *request == '/' ? 404 : 400;
	memcpy(path, request, n);
	path[n] = 0;
	return 200;
}

/* Puts headers and body into one buffer. Returns false if there is no memory. */
static bool handle_request(
	const struct http_server *s, struct client *c, http_answer_fn *answer, void *arg)
{
	char path[HTTP_PATH_MAX], top[512];
	struct http_answer a = {0};
	bool head = false;
	int status = parse_request(c->request, path, &head), n;

	if (status == 200 && s->local && !is_own_host_name(find_header(c->request, "Host")))
		status = 403;
	if (status == 200) {
		answer(arg, path, &a);
		status = a.body ? a.status : 500;
	}
	if (!a.body || status != 200)
		set_error_answer(&a, status);
	n = snprintf(top, sizeof(top),
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
		"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: "
		"close\r\n\r\n",
		status, get_status_reason(status), a.type, a.n,
		status == 405 ? "Allow: GET, HEAD\r\n" : "");
	c->nanswer = (size_t)n + (head || !a.body ? 0 : a.n);
	c->answer = malloc(c->nanswer);
	if (c->answer) {
		memcpy(c->answer, top, (size_t)n);
		memcpy(c->answer + n, a.body ? a.body : "", c->nanswer - (size_t)n);
	}
	free(a.body);
	c->until = read_ms() + REQUEST_MS;
	c->most = c->until + 10 * REQUEST_MS;
	return c->answer;
}

/* Reads, handles and answers a client's request as far as possible without waiting. */
static void handle_client(
	const struct http_server *s, struct client *c, http_answer_fn *answer, void *arg)
{
	int there = c->answer ? 1 : read_http_request(c);

	if (there < 0 || (there && !c->answer && !handle_request(s, c, answer, arg)) ||
		(there && !write_answer(c)))
		remove_client(c);
}

static void open_client(const struct http_server *s, struct client *c)
{
	c->fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	c->nrequest = c->nanswer = c->sent = 0;
	c->until = c->most = read_ms() + REQUEST_MS;
}

/*
 * If all connections are in use, the next client waits in the kernel's queue until one of them is
 * dropped.
 */
static void handle_clients(const struct http_server *s, struct client *list,
	const volatile sig_atomic_t *stop, http_answer_fn *answer, void *arg)
{
	struct pollfd p[CLIENTS_MAX + 1];

	while (!*stop) {
		int free_place = -1;

		/* poll() ignores descriptors below 0. */
		for (int i = 0; i < CLIENTS_MAX; i++) {
			p[i] = (struct pollfd){
				.fd = list[i].fd, .events = list[i].answer ? POLLOUT : POLLIN};
			if (list[i].fd < 0)
				free_place = i;
		}
		p[CLIENTS_MAX] =
			(struct pollfd){.fd = free_place < 0 ? -1 : s->fd, .events = POLLIN};
		/*
		 * A signal between the check of *stop and poll() is noticed within a second. So is
		 * a client's time limit.
		 */
		if (poll(p, CLIENTS_MAX + 1, 1000) < 0)
			continue;
		for (int i = 0; i < CLIENTS_MAX && !*stop; i++) {
			if (list[i].fd >= 0 && p[i].revents)
				handle_client(s, &list[i], answer, arg);
			if (list[i].fd >= 0 && read_ms() >= list[i].until)
				remove_client(&list[i]);
		}
		if (free_place >= 0 && p[CLIENTS_MAX].revents)
			open_client(s, &list[free_place]);
	}
}

int http_handle_requests(
	struct http_server *s, const volatile sig_atomic_t *stop, http_answer_fn *answer, void *arg)
{
	struct client *list = calloc(CLIENTS_MAX, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (int i = 0; i < CLIENTS_MAX; i++)
		list[i].fd = -1;
	handle_clients(s, list, stop, answer, arg);
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (list[i].fd >= 0)
			remove_client(&list[i]);
	free(list);
	return 0;
}

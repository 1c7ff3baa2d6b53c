/* SPDX-License-Identifier: Apache-2.0 */
#include "training/health/ckpt_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ZIP_TAIL 65557 /* bytes of the end record with the longest comment */
#define HEADER_MOST (UINT64_C(100) << 20) /* maximum header of a safetensors file, by its format */

/*
 * Returns when the file was made; if the file system does not store that, when it was last
 * written.
 */
static uint64_t find_birth_ns(const char *path)
{
	struct statx x;
	struct statx_timestamp t;

	/* The system call is used because older musl versions have no function for it. */
	if (syscall(SYS_statx, AT_FDCWD, path, 0, STATX_BTIME | STATX_MTIME, &x))
		return 0;
	t = x.stx_mask & STATX_BTIME ? x.stx_btime : x.stx_mtime;
	return (uint64_t)t.tv_sec * 1000000000u + t.tv_nsec;
}

static bool has_tail(const char *name, const char *tail)
{
	size_t n = strlen(name), m = strlen(tail);

	return n >= m && strcmp(name + n - m, tail) == 0;
}

bool ckpt_name_is_temporary(const char *name)
{
	return name[0] == '.' || has_tail(name, ".tmp") || strstr(name, ".tmp.") ||
	       has_tail(name, ".part");
}

bool ckpt_name_is_usual(const char *name)
{
	static const char tails[][16] = {
		".pt", ".pth", ".ckpt", ".safetensors", ".bin", ".tar", ".pkl"};

	for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++)
		if (has_tail(name, tails[i]))
			return !ckpt_name_is_temporary(name);
	return false;
}

static bool has_central_directory(int fd, uint64_t size)
{
	size_t n = size < ZIP_TAIL ? (size_t)size : ZIP_TAIL;
	unsigned char *buf = malloc(n + 1);
	bool found = false;

	if (buf && pread(fd, buf, n, (off_t)(size - n)) == (ssize_t)n)
		for (size_t i = n >= 22 ? n - 22 + 1 : 0; i-- && !found;)
			found = memcmp(buf + i, "PK\5\6", 4) == 0 &&
				i + 22 + buf[i + 20] + 256u * buf[i + 21] == n;
	free(buf);
	return found;
}

/* Returns the largest end in "data_offsets":[begin,end] of the header. */
static uint64_t find_data_end(const char *header)
{
	uint64_t most = 0;

	for (const char *p = header; (p = strstr(p, "\"data_offsets\""));) {
		char *end;
		uint64_t v;

		p = strchr(p, '[');
		if (!p)
			break;
		strtoull(p + 1, &end, 10);
		end += strspn(end, ", ");
		v = strtoull(end, NULL, 10);
		most = v > most ? v : most;
	}
	return most;
}

static bool is_whole_safetensors(int fd, uint64_t size)
{
	unsigned char n8[8];
	uint64_t n = 0;
	char *header;
	bool whole;

	if (pread(fd, n8, 8, 0) != 8)
		return false;
	for (int i = 7; i >= 0; i--)
		n = n << 8 | n8[i];
	if (n < 2 || n > HEADER_MOST || n + 8 > size)
		return false;
	header = malloc((size_t)n + 1);
	if (!header)
		return false;
	header[n] = 0;
	whole = pread(fd, header, (size_t)n, 8) == (ssize_t)n && header[0] == '{' &&
		8 + n + find_data_end(header) == size;
	free(header);
	return whole;
}

static const char *get_ckpt_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void ckpt_check_file(const char *path, struct ckpt_file_state *l)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	unsigned char magic[4] = {0};
	struct stat st;

	*l = (struct ckpt_file_state){.format = "other"};
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && pread(fd, magic, 4, 0) == 4) {
		if (memcmp(magic, "PK\3\4", 4) == 0) {
			l->format = "torch";
			l->complete = has_central_directory(fd, (uint64_t)st.st_size);
		} else if (has_tail(get_ckpt_name(path), ".safetensors")) {
			l->format = "safetensors";
			l->complete = is_whole_safetensors(fd, (uint64_t)st.st_size);
		} else {
			l->complete = true;
		}
	}
	close(fd);
	l->begun_ns = find_birth_ns(path);
}

/* A folder with more entries contains data; reading it would take too long. */
#define ENTRIES_SEEN_MAX 65536u

bool ckpt_check_folder(const char *path, struct ckpt_file_state *l)
{
	DIR *d = opendir(path);
	struct dirent *e;
	unsigned parts = 0;

	*l = (struct ckpt_file_state){.format = "dcp"};
	for (unsigned seen = 0; seen < ENTRIES_SEEN_MAX && d && (e = readdir(d)); seen++) {
		char part[4200];
		uint64_t ns;

		l->complete |= strcmp(e->d_name, ".metadata") == 0;
		if (!has_tail(e->d_name, ".distcp"))
			continue;
		parts++;
		if ((size_t)snprintf(part, sizeof(part), "%s/%s", path, e->d_name) >= sizeof(part))
			continue;
		ns = find_birth_ns(part);
		if (ns && (!l->begun_ns || ns < l->begun_ns))
			l->begun_ns = ns;
	}
	if (d)
		closedir(d);
	return parts > 0;
}

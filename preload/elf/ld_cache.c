/* SPDX-License-Identifier: Apache-2.0 */
/* /etc/ld.so.cache. Layout: glibc, sysdeps/generic/dl-cache.h ("glibc-ld.so.cache" "1.1"), since 2.2. */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf_search.h"

#define OLD_MAGIC "ld.so-1.7.0"
#define NEW_MAGIC "glibc-ld.so.cache1.1"

/* FLAG_ELF_LIBC6 and the machine. */
#if defined(__x86_64__)
#define CACHE_FLAGS 0x0303
#elif defined(__aarch64__)
#define CACHE_FLAGS 0x0a03
#endif

struct cache_entry {
	int32_t flags;
	uint32_t key, value; /* offsets of strings from the beginning of the head */
	uint32_t osversion;
	uint64_t hwcap;
};

struct cache_head {
	char magic[20];
	uint32_t n, strings;
	uint8_t flags, padding[3];
	uint32_t extension;
	uint32_t unused[3];
};

static const char *get_string_in_cache(const char *head, size_t size, uint32_t at)
{
	return at < size && memchr(head + at, 0, size - at) ? head + at : NULL;
}

/* True unless the entry is in a subfolder of glibc-hwcaps that the processor does not support. */
static bool is_cache_entry_usable(const struct cache_entry *e, const char *path)
{
	const char *sub = strstr(path, "/glibc-hwcaps/");

	if (sub) {
		sub += strlen("/glibc-hwcaps/");
		return elf_has_hwcaps(sub, strcspn(sub, "/"));
	}
	return e->hwcap == 0;
}

bool ld_cache_find_in(const void *bytes, size_t size, const char *name,
	bool (*visit)(const char *path, void *arg), void *arg)
{
	const char *head = bytes;
	struct cache_head h;

	if (size >= 16 && memcmp(head, OLD_MAGIC, strlen(OLD_MAGIC)) == 0) {
		uint32_t n;

		/*
		 * The old table comes first: a header of 16 bytes, n entries of 12. The new table
		 * begins at the next multiple of 8.
		 */
		memcpy(&n, head + 12, sizeof(n));

		uint64_t skip = (16 + (uint64_t)n * 12 + 7) & ~UINT64_C(7);

		if (skip >= size)
			return false;
		head += skip;
		size -= skip;
	}
	if (size < sizeof(h))
		return false;
	memcpy(&h, head, sizeof(h));
	if (memcmp(h.magic, NEW_MAGIC, sizeof(h.magic)) ||
		h.n > (size - sizeof(h)) / sizeof(struct cache_entry))
		return false;
	for (uint32_t i = 0; i < h.n; i++) {
		struct cache_entry e;

		memcpy(&e, head + sizeof(h) + i * sizeof(e), sizeof(e));

		const char *key =
			e.flags == CACHE_FLAGS ? get_string_in_cache(head, size, e.key) : NULL;

		if (!key || strcmp(key, name))
			continue;

		const char *value = get_string_in_cache(head, size, e.value);

		if (value && is_cache_entry_usable(&e, value) && visit(value, arg))
			return true;
	}
	return false;
}

bool ld_cache_find(const char *name, bool (*visit)(const char *path, void *arg), void *arg)
{
	int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
	struct stat st;
	bool found = false;
	void *map;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED) {
			found = ld_cache_find_in(map, (size_t)st.st_size, name, visit, arg);
			munmap(map, (size_t)st.st_size);
		}
	}
	close(fd);
	return found;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators' schemas. Every libtorch holds them as texts, "add.Tensor(Tensor self, ...) -> Tensor", with which it
 * registers its operators at start; they are looked for once, in the constant data of libtorch_cpu as it lies in memory.
 */
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "wrappers/torch/optype.h"

#define SLOTS 32768u /* there are some 3000 operators */
#define SCHEMA_MAX 4000

static const char *slot[SLOTS];
static unsigned used;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.';
}

/* The C++ name of a schema's: a dot becomes an underscore. Returns its length, 0: no name. */
static size_t cxx_name(const char *schema, char *out, size_t cap)
{
	size_t n = 0;

	for (; is_name(schema[n]); n++) {
		if (n + 1 >= cap)
			return 0;
		out[n] = schema[n] == '.' ? '_' : schema[n];
	}
	out[n] = 0;
	return schema[n] == '(' ? n : 0;
}

static const char **place(const char *name)
{
	uint32_t i = (uint32_t)hash_str(7, name) % SLOTS;
	char other[128];

	while (slot[i] && cxx_name(slot[i], other, sizeof(other)) && strcmp(other, name) != 0)
		i = (i + 1) % SLOTS;
	return &slot[i];
}

static void add(const char *s)
{
	char name[128];
	const char **at;

	if (used >= SLOTS / 2 || !cxx_name(s, name, sizeof(name)))
		return;
	at = place(name);
	if (!*at) {
		*at = s;
		used++;
	}
}

/* Every text in [at, end) that has ") -> " in it. */
static void scan(const char *at, const char *end)
{
	const char *begin = at;

	while (at < end) {
		const char *arrow = memmem(at, (size_t)(end - at), ") -> ", 5), *s = arrow;

		if (!arrow)
			return;
		while (s > begin && s[-1] && arrow - s < SCHEMA_MAX)
			s--;
		if (memchr(arrow, 0, (size_t)(end - arrow)) && s > begin && !s[-1])
			add(s);
		at = arrow + 5;
	}
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	(void)size;
	(void)arg;
	if (!name || strncmp(name, "/libtorch_cpu", 13) != 0)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const char *at = (const char *)(uintptr_t)(info->dlpi_addr + ph->p_vaddr);

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_R && !(ph->p_flags & PF_W))
			scan(at, at + ph->p_memsz);
	}
	return 1;
}

static void read_all(void)
{
	dl_iterate_phdr(look, NULL);
}

const char *op_schema(const char *name)
{
	pthread_once(&once, read_all);
	return *place(name);
}

bool op_schema_any(bool (*ask)(const char *schema, void *arg), void *arg)
{
	pthread_once(&once, read_all);
	for (unsigned i = 0; i < SLOTS; i++)
		if (slot[i] && ask(slot[i], arg))
			return true;
	return false;
}

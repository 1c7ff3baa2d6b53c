/* SPDX-License-Identifier: Apache-2.0 */
/* An LD_AUDIT library that follows every binding of every object; says at the end that it did. */
#define _GNU_SOURCE
#include <link.h>
#include <unistd.h>

static unsigned long bound;

unsigned int la_version(unsigned int version)
{
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned int la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
	(void)map;
	(void)lmid;
	(void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *sym, unsigned int n, uintptr_t *from, uintptr_t *to,
	unsigned int *flags, const char *name)
{
	(void)n;
	(void)from;
	(void)to;
	(void)flags;
	(void)name;
	bound++;
	return sym->st_value;
}

unsigned int la_objclose(uintptr_t *cookie)
{
	(void)cookie;
	return 0;
}

__attribute__((destructor)) static void say(void)
{
	if (bound > 10 && write(2, "audited\n", 8) < 0)
		_exit(98);
}

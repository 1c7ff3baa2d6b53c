/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/weak_names.h"

#include "base/log.h"
#include "elf/loaded/elfsym.h"

struct coming {
	const struct elf_file *(*file)(unsigned i, const void *arg);
	const void *arg;
};

static bool is_defined_by_coming(const char *name, void *arg)
{
	const struct coming *c = arg;
	const struct elf_file *f;

	for (unsigned i = 0; (f = c->file(i, c->arg)); i++)
		if (elf_file_has_function(f, name))
			return true;
	return false;
}

static bool hide_if_nobody_has_it(const char *name, void *arg)
{
	struct provider p;

	if (elfsym_is_own(name) && !is_defined_by_coming(name, arg) &&
		elfsym_find_all(name, &p, 1) == 0 && !elfsym_hide_own(name))
		log_loss(LOSS_ENTRY,
			"%s: no library defines it, and it cannot be hidden: code that tests it "
			"with a weak reference calls it and fails; start that program without the "
			"preload",
			name);

	return true;
}

void weak_names_before_load(
	const struct elf_file *(*file)(unsigned i, const void *arg), const void *arg)
{
	struct coming c = {file, arg};
	const struct elf_file *f;

	elfsym_show_own(is_defined_by_coming, &c);
	for (unsigned i = 0; (f = file(i, arg)); i++)
		elf_file_handle_weak_names(f, hide_if_nobody_has_it, &c);
}

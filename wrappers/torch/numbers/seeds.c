/* SPDX-License-Identifier: Apache-2.0 */
/* The initial seed of PyTorch's generator, and whether deterministic mode was set, for comparing two runs. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "text/text.h"
#include "elf/loaded/elfsym.h"
#include "life/life.h"
#include "wrappers/torch/tensors/torch.h"

/* Returns NULL if this libtorch lacks function `name`. */
static void *find_torch_function(const char *name)
{
	struct provider p;

	return elfsym_find_all(name, &p, 1) > 0 && !p.ifunc ? p.addr : NULL;
}

/*
 * at::detail::getDefaultCPUGenerator() returns a reference to a Generator, whose only member is a pointer to its
 * implementation (ATen/core/Generator.h); at::CPUGeneratorImpl::current_seed() and at::Context's getter only read.
 */
void torch_record_seeds(void)
{
	static _Atomic bool reported;
	void *const *(*generator)(void);
	uint64_t (*seed)(const void *);
	void *(*context)(void);
	bool (*deterministic)(const void *);
	void *at[4];
	char json[128];
	struct text t = text_init(json, sizeof(json));

	if (atomic_load_explicit(&reported, memory_order_relaxed) ||
		atomic_exchange(&reported, true))
		return;
	at[0] = find_torch_function("_ZN2at6detail22getDefaultCPUGeneratorEv");
	at[1] = find_torch_function("_ZNK2at16CPUGeneratorImpl12current_seedEv");
	at[2] = find_torch_function("_ZN2at13globalContextEv");
	at[3] = find_torch_function("_ZNK2at7Context23deterministicAlgorithmsEv");
	memcpy(&generator, &at[0], sizeof(at[0]));
	memcpy(&seed, &at[1], sizeof(at[1]));
	memcpy(&context, &at[2], sizeof(at[2]));
	memcpy(&deterministic, &at[3], sizeof(at[3]));
	text_add_char(&t, '{');
	if (generator && seed && *generator())
		text_add_format(
			&t, "\"torch_initial_seed\": %llu", (unsigned long long)seed(*generator()));
	if (context && deterministic)
		text_add_format(&t, "%s\"torch_deterministic_algorithms\": %s",
			t.len > 1 ? ", " : "", deterministic(context()) ? "true" : "false");
	text_add_char(&t, '}');
	if (t.len > 2)
		session_record_seeds(json);
}

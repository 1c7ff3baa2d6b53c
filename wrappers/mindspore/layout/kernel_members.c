/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifies members of objects that cannot be made without the rest of MindSpore. MindSpore's own
 * functions that return or set such a member are called on memory of libprobe in which each word
 * is different. The result shows which word the function used. None of these functions follows
 * pointers in that memory.
 */
#include "wrappers/mindspore/layout/kernel_members.h"

#include "elf/loaded/elfsym.h"

#define PARAMETER_NAME "_ZNK9mindspore9ParamInfo4nameEv"
#define REFERENCE_AT "_ZNK9mindspore9VectorRefixERKm"
#define REFERENCE_COPY "_ZNK9mindspore7BaseRef4copyEv"
#define OBJECT_TENSOR "_ZNK9mindspore6tensor8TensorPy9GetTensorEv"
#define SET_NODE_NAME "_ZN9mindspore5CNode23set_fullname_with_scopeESs"

#define WORDS 128u
#define OBJECT_HEAD 16 /* of a Python object */
/*
 * A multiple of element sizes 8, 16, 24 ... 128 bytes, so that vectors of such elements find the second element within
 * it.
 */
#define WORD_DISTANCE (8 * 720720ul)

/* std::shared_ptr, in memory that the caller provides, wherever the ABI places its address. */
struct returned_pointer {
	const void *object, *owner, *more_than_registers_hold;
};

bool ms_find_function(const char *name, void **f)
{
	struct provider p;

	*f = elfsym_find_all(name, &p, 1) > 0 && !p.ifunc ? p.addr : NULL;
	return *f != NULL;
}

static bool is_index_in_words(unsigned at)
{
	return at % 8 == 0 && at / 8 < WORDS - 1;
}

/*
 * MindSpore 2.7 does not export this getter; the text read from the member is accepted only if it
 * is a line of text.
 */
static bool has_parameter_name(const struct kernel_layout *l)
{
	static const uint64_t info[WORDS];
	const void *(*name)(const void *);

	return !ms_find_function(PARAMETER_NAME, (void **)&name) ||
	       name(info) == (const char *)info + l->info_name;
}

static bool has_references(const struct kernel_layout *l)
{
	static const uint64_t second = 1;
	uint64_t words[WORDS];
	uintptr_t (*element)(const void *, const uint64_t *);

	for (unsigned i = 0; i < WORDS; i++)
		words[i] = (i + 1) * WORD_DISTANCE;
	return is_index_in_words(l->args) && ms_find_function(REFERENCE_AT, (void **)&element) &&
	       element(words, &second) == words[l->args / 8] + l->arg_bytes;
}

/*
 * True if `function` returns the word with index `at`, whose object's reference count it
 * increments.
 */
static bool is_word_returned(const char *function, unsigned at)
{
	static uint64_t users[WORDS][2];
	const void *words[WORDS];
	struct returned_pointer (*ask)(const void *);

	for (unsigned i = 0; i < WORDS; i++)
		words[i] = users[i];
	return is_index_in_words(at) && ms_find_function(function, (void **)&ask) &&
	       ask(words).object == words[at / 8];
}

/* Stores a string over one that others share. */
static bool has_node_name(const struct kernel_layout *l)
{
	static struct old_string before = {1, 1, 1 << 20, "x"}, name = {4, 4, 1 << 20, "name"};
	const char *words[WORDS], *text = name.text;
	void (*set_name)(void *, const char *const *);

	for (unsigned i = 0; i < WORDS; i++)
		words[i] = before.text;
	if (!is_index_in_words(l->node_name) ||
		!ms_find_function(SET_NODE_NAME, (void **)&set_name))
		return false;
	set_name(words, &text);
	return words[l->node_name / 8] == name.text;
}

bool ms_has_valid_members(const struct kernel_layout *l)
{
	return has_parameter_name(l) && has_references(l) &&
	       is_word_returned(REFERENCE_COPY, l->arg_object) && l->py_tensor >= OBJECT_HEAD &&
	       is_word_returned(OBJECT_TENSOR, l->py_tensor - OBJECT_HEAD) && has_node_name(l);
}

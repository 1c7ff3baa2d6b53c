/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the records of library `module` are, by their column api. FORWARD is the call of a module, with its positional
 * inputs; all others tell more of it (flag `part`, column parent), but gradients of parameters, which belong to a module
 * and not to one of its calls. Column op: <name>.<class>; of what has a name of its own <name>.<class>.<own name>.
 */
#ifndef PROBE_BASE_MODULE_PART_H
#define PROBE_BASE_MODULE_PART_H

#define MODULE_LIBRARY "module"

enum module_part {
	MODULE_FORWARD,
	MODULE_OUTPUT, /* when it returns, also by an exception: without tensors */
	MODULE_GRADIENT, /* of an output (a tensor that is an input), or of an input (an output) */
	MODULE_KEYWORD, /* an input that was given by name */
	MODULE_PARAMETER,
	MODULE_PARAMETER_GRADIENT,
	MODULE_PARTS
};

static const char module_part_words[MODULE_PARTS][16] = {
	"forward", "output", "gradient", "keyword", "parameter", "parameter_grad"};

#endif

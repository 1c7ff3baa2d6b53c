/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meaning of the records of library `module`, by column api. FORWARD is the call of a module,
 * with its positional inputs. The other records add details to this call (flag `part`, column
 * parent), except gradients of parameters, which belong to a module and not to one of its calls.
 * Column op: <name>.<class>, or <name>.<class>.<own name> if the record has a name of its own.
 */
#ifndef PROBE_BASE_MODULE_PART_H
#define PROBE_BASE_MODULE_PART_H

#define MODULE_LIBRARY "module"

enum module_part {
	MODULE_FORWARD,
	MODULE_OUTPUT, /* the module returns, or is left by an exception (then without tensors) */
	/* gradient of an output (recorded as input) or of an input (recorded as output) */
	MODULE_GRADIENT,
	MODULE_KEYWORD, /* an input passed by keyword */
	MODULE_PARAMETER,
	MODULE_PARAMETER_GRADIENT,
	MODULE_PARTS
};

static const char module_part_words[MODULE_PARTS][16] = {
	"forward", "output", "gradient", "keyword", "parameter", "parameter_grad"};

#endif

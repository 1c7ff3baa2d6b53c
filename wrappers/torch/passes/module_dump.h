/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of modules as records of library `module` (terms/module_part.h), for dumps of level L0 and mix. */
#ifndef PROBE_WRAPPERS_TORCH_MODULE_DUMP_H
#define PROBE_WRAPPERS_TORCH_MODULE_DUMP_H

#include <stdbool.h>

/* True if the configuration requests them. Any thread. */
bool torch_modules_dumped(void);

/* True if the configuration also requests the gradients of module calls. */
bool torch_module_gradients_dumped(void);

/* True if the module call that begins is to be recorded. Starts the recording if necessary. */
bool torch_is_module_call_dumped(void);

/* The gradient of parameter impl has been accumulated. Any thread. */
void torch_record_parameter_gradient(const void *impl);

#endif

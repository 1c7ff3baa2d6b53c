/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that a user describes in configs/apis/custom.yaml. user_functions.c reads the file and decides which symbols are
 * meant (custom_provider, entry/stubs/provider.h); user_adapter.c is the adapter that all libraries of the file share.
 */
#ifndef PROBE_ENTRY_USER_FUNCTIONS_H
#define PROBE_ENTRY_USER_FUNCTIONS_H

#include "api/api.h"
#include "spec/spec.h"

#define CUSTOM_LIBS_MAX 8 /* maximum number of documents in the file */

/*
 * Makes the adapter for one document of the file; s and what it points to must live as long as
 * the process. Returns NULL beyond CUSTOM_LIBS_MAX. Must not be called by two threads at a time.
 */
const struct adapter *custom_lib_new(const struct spec *s);

#endif

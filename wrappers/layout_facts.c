/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/layout_facts.h"

const struct layout_fact layout_facts[] = {
#define ROW(id, name, versions, verified_by, off) {name, versions, verified_by, off},
	LAYOUT_FACTS(ROW)
#undef ROW
		{"", "", "", ""},
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

__thread struct thread_word thread_word;

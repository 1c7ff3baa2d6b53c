/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <pthread.h>
#include <signal.h>

#define STACK_BYTES (256u << 10)

int thread_start(void *(*main)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t id;
	sigset_t all, was;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&id, &attr, main, arg);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	return -err;
}

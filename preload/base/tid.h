/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calling thread's id, from the kernel, without the C library's syscall(). A program may
 * interpose syscall(); if its syscall() calls dlsym(), it would be entered again while the
 * thread's variables are being made. Async-signal-safe.
 */
#ifndef PROBE_BASE_TID_H
#define PROBE_BASE_TID_H

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline uint32_t read_tid(void)
{
#if defined(__x86_64__)
	long tid;

	__asm__ volatile("syscall" : "=a"(tid) : "0"((long)SYS_gettid) : "rcx", "r11", "memory");
	return (uint32_t)tid;
#elif defined(__aarch64__)
	register long number __asm__("x8") = SYS_gettid;
	register long tid __asm__("x0");

	__asm__ volatile("svc 0" : "=r"(tid) : "r"(number) : "memory");
	return (uint32_t)tid;
#else
	return (uint32_t)syscall(SYS_gettid);
#endif
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Frames between main() and the measured call; built with frame pointers and without (CHAIN is the name). */
void CHAIN(int depth, void (*fn)(void *), void *arg);

__attribute__((noinline)) void CHAIN(int depth, void (*fn)(void *), void *arg)
{
	if (depth > 0)
		CHAIN(depth - 1, fn, arg);
	else
		fn(arg);
	/* Not a tail call: the frame stays. */
	__asm__ volatile("" : : : "memory");
}

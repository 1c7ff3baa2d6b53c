/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of every kind that a symbol table has, for test_symbols.
 */
int names_global(int v);
int names_weak(int v);
int names_alias(int v);
int names_chosen(int v);
int names_cold(int v);
int names_main(int v);
int names_label(void);
int names_after(void);

static volatile int sink;

__attribute__((noinline)) static int names_static(int v)
{
	sink += v;
	return v * 3;
}

int names_global(int v)
{
	return names_static(v) + 1;
}

__attribute__((weak)) int names_weak(int v)
{
	return names_static(v) + 2;
}

int names_alias(int v) __attribute__((alias("names_global")));
int __na(int v) __attribute__((alias("names_global")));

/* Only the symbol table refers to it. */
__attribute__((used)) static int (*choose(void))(int)
{
	return names_static;
}

int names_chosen(int v) __attribute__((ifunc("choose")));

__attribute__((section(".text.names_elsewhere"))) int names_cold(int v)
{
	return names_static(v) - 1;
}

/* Assembly that gives its functions neither type nor size. */
#if defined(__x86_64__)
#define NOPS "nop\nnop\nnop\nnop\nret\n"
#else
#define NOPS "nop\nnop\nret\n"
#endif
__asm__(".text\n.globl names_label\nnames_label:\n" NOPS ".globl names_after\nnames_after:\n" NOPS);

/* A label inside of a function that has both. */
__asm__(".globl names_outer\n.type names_outer,%function\nnames_outer:\n" NOPS
	".globl names_inner\nnames_inner:\n" NOPS ".size names_outer, .-names_outer\n");

int names_main(int v)
{
	return names_global(v) + names_weak(v) + names_chosen(v) + names_cold(v);
}

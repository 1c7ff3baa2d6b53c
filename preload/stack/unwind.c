/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "stack/cache.h"
#include "stack/objects.h"
#include "stack/unwind.h"

#if defined(__x86_64__)
#define CONTEXT_AT 0
#define MC_PC offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP])
#define MC_SP offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP])
#define MC_FP offsetof(ucontext_t, uc_mcontext.gregs[REG_RBP])
static const uint8_t sigreturn[] = {
	0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f}; /* mov $15,%rax; syscall */
#else
#define CONTEXT_AT 128 /* offset of the context, after the siginfo */
#define MC_PC offsetof(ucontext_t, uc_mcontext.pc)
#define MC_SP offsetof(ucontext_t, uc_mcontext.sp)
#define MC_FP offsetof(ucontext_t, uc_mcontext.regs[29])
#define MC_LR offsetof(ucontext_t, uc_mcontext.regs[30])
static const uint8_t sigreturn[] = {
	0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}; /* mov x8,#139; svc #0 */
#endif

/* If a frame pointer is further than this from the stack pointer, it belongs to another stack. */
#define FRAME_MAX ((uintptr_t)256 * 1024)

/*
 * One frame: its registers as far as known, and the addresses from which the last known values
 * were read.
 */
struct frame {
	uintptr_t pc, sp, fp;
	uintptr_t fp_at; /* address from which fp was read, not in the trail yet; 0: none */
	/* aarch64, after a signal: address of the saved link register; 0: unknown */
	uintptr_t lr_at;
	bool sp_known; /* false: sp is a lower bound */
	bool fp_known;
	bool exact; /* pc is the next instruction itself, not the one after a call */
};

struct walk {
	struct memory *m;
	struct stack_cache *cache;
	struct trail *t;
};

static bool get_trail_offset(struct trail *t, uintptr_t a, int32_t *at)
{
	intptr_t d = (intptr_t)(a - t->base) / (intptr_t)sizeof(uintptr_t);

	*at = (int32_t)d;
	return *at == d;
}

static void record_trail_word(struct trail *t, uintptr_t a, uintptr_t raw)
{
	int32_t at;

	if (t->extra == TRAIL_WORDS || !get_trail_offset(t, a, &at)) {
		t->lossy = true;
		return;
	}
	t->extra_at[t->extra] = at;
	t->extra_raw[t->extra++] = raw;
}

/* If a word cannot be read now, it may be readable later, so the walk is not cached. */
static bool read_word(struct walk *w, uintptr_t a, uintptr_t *v)
{
	if (memory_read(w->m, a, v))
		return true;
	w->t->lossy = true;
	return false;
}

static bool read_noted(struct walk *w, uintptr_t a, uintptr_t *v)
{
	if (!read_word(w, a, v))
		return false;
	record_trail_word(w->t, a, *v);
	return true;
}

/* To be called when the walk continues by the frame pointer: its word then belongs to the trail. */
static uintptr_t read_fp(struct walk *w, struct frame *f)
{
	if (f->fp_at) {
		record_trail_word(w->t, f->fp_at, f->fp);
		f->fp_at = 0;
	}
	return f->fp;
}

/*
 * Reads the return address for the next frame. Returns false at the outermost frame, or if it
 * cannot be read.
 */
static bool read_pc(struct walk *w, struct frame *f, uintptr_t a)
{
	struct trail *t = w->t;
	uintptr_t raw;

	if (!read_word(w, a, &raw))
		return false;
	if (!raw) {
		record_trail_word(t, a, raw);
		return false;
	}
	/* At most n = STACK_DEPTH_MAX - 1 here: unwind_stack() does not step past the last frame that fits. */
	if (!get_trail_offset(t, a, &t->pc_at[t->n]))
		t->lossy = true;
	t->pc_raw[t->n] = raw;
	f->pc = unwind_strip(raw);
	return true;
}

/*
 * Notes a return address that was read and rejected: the result depends on the word of the stack
 * that held it, but it is no frame.
 */
static bool note_disbelieved(struct trail *t)
{
	if (t->extra == TRAIL_WORDS) {
		t->lossy = true;
		return false;
	}
	t->extra_at[t->extra] = t->pc_at[t->n];
	t->extra_raw[t->extra++] = t->pc_raw[t->n];
	return false;
}

/* Reads the 8 bytes at address a, which may be unaligned and need not be code. */
MEMORY_RAW static bool read_code(uintptr_t a, uint8_t b[8])
{
	if (!is_memory_readable(a))
		return false;
	for (int i = 0; i < 8; i++)
		b[i] = *(const volatile uint8_t *)(a + (uintptr_t)i);
	return true;
}

/* True if the instruction before pc is a call. Used if no table covers pc. */
static bool is_after_call_instruction(uintptr_t pc)
{
	uint8_t b[8];

	if (pc < 8 || !read_code(pc - 8, b))
		return false;
#if defined(__x86_64__)
	if (b[3] == 0xe8)
		return true;
	for (int len = 2; len <= 7; len++) {
		unsigned int modrm = b[8 - len + 1], mod = modrm >> 6, rm = modrm & 7, need = 2;

		if (b[8 - len] != 0xff || ((modrm >> 3) & 7) != 2)
			continue;
		if (mod != 3 && rm == 4)
			need++;
		if (mod == 1)
			need++;
		else if (mod == 2 || (!mod && rm == 5))
			need += 4;
		if (need == (unsigned int)len)
			return true;
	}
	return false;
#else
	uint32_t insn;

	if (pc & 3)
		return false;
	memcpy(&insn, b + 4, sizeof(insn));
	return (insn & 0xfc000000u) == 0x94000000u /* bl */ ||
	       (insn & 0xfefff000u) == 0xd63f0000u /* blr, blraa, blrab ... */;
#endif
}

static bool is_sigreturn(uintptr_t pc)
{
	uint8_t b[8];

	return read_code(pc, b) && !memcmp(b, sigreturn, sizeof(b));
}

struct question {
	uintptr_t pc, lookup;
	struct cfi_rule *r;
};

static void find_rule_in_object(void *arg, const struct object *o)
{
	struct question *q = arg;

	if (q->lookup < o->text_lo || q->lookup >= o->text_hi)
		return;
	q->r->kind = CFI_NONE;
	if (q->pc >= o->text_lo && o->text_hi - q->pc >= sizeof(sigreturn) && o->text_readable &&
		!memcmp((const void *)q->pc, sigreturn, sizeof(sigreturn)))
		q->r->kind = CFI_SIGNAL;
	else if (o->table)
		cfi_find(o->table, o->table_lo, o->table_hi, q->lookup, q->r);
}

static void find_rule(struct walk *w, const struct frame *f, struct cfi_rule *r)
{
	struct question q = {.pc = f->pc, .lookup = f->exact ? f->pc : f->pc - 1, .r = r};

	if (w->cache && cache_get_rule(w->cache, f->pc, f->exact, r))
		return;
	memset(r, 0, sizeof(*r));
	r->kind = CFI_FOREIGN;
	objects_find(q.lookup, find_rule_in_object, &q);
	if (w->cache)
		cache_add_rule(w->cache, f->pc, f->exact, r);
}

/* Steps by the kernel's signal frame, which contains all registers of the interrupted code. */
static bool read_signal_frame(struct walk *w, struct frame *f)
{
	uintptr_t uc = f->sp + CONTEXT_AT, sp;

	if (!f->sp_known || !read_pc(w, f, uc + MC_PC) || !read_noted(w, uc + MC_SP, &sp) ||
		!read_word(w, uc + MC_FP, &f->fp))
		return false;
	f->sp = sp;
	f->fp_at = uc + MC_FP;
#if defined(__aarch64__)
	f->lr_at = uc + MC_LR;
#endif
	f->fp_known = true;
	f->exact = true;
	return true;
}

/*
 * Steps by frame pointer: for code without tables (made at run time, or assembly), and if the
 * rule is not sufficient. The frame pointer may be left over from an outer function or from the
 * creator of this fiber, or be any number. So the new frame must have called the previous one. (A
 * fiber's first frame did not; an interrupted function may not have its own frame yet, and its
 * caller would be missed.) And the frame pointer must lead up the stack, not far, to a return
 * address that directly follows a call instruction.
 */
static bool read_fp_frame(struct walk *w, struct frame *f)
{
	uintptr_t fp, next;

	if (!f->fp_known || f->exact || !is_after_call_instruction(f->pc))
		return false;
	fp = read_fp(w, f);
	if (fp < f->sp || fp - f->sp > FRAME_MAX || !read_word(w, fp, &next) ||
		!read_pc(w, f, fp + sizeof(fp)))
		return false;
	if (!is_after_call_instruction(f->pc))
		return note_disbelieved(w->t);
	f->fp = next;
	f->fp_at = fp;
	f->sp = fp + 2 * sizeof(fp);
#if defined(__aarch64__)
	f->sp_known = false; /* the pair may be anywhere in its frame */
#else
	f->sp_known = true;
#endif
	f->exact = false;
	f->lr_at = 0;
	return true;
}

/* Returns true, with *cfa, if the rule determines it. */
static bool find_cfa(struct walk *w, struct frame *f, const struct cfi_rule *r, uintptr_t *cfa)
{
	uintptr_t a;

	if (r->cfa.base == CFI_AT_SP && !f->sp_known) {
		/* aarch64: the frame pointer contains the address of its own save slot. */
		if (r->fp.base != CFI_AT_CFA || !f->fp_known)
			return false;
		*cfa = read_fp(w, f) - (uintptr_t)(intptr_t)r->fp.off;
		return true;
	}
	if (r->cfa.base == CFI_AT_SP)
		a = f->sp;
	else if (r->cfa.base == CFI_AT_FP && f->fp_known)
		a = read_fp(w, f);
	else
		return false;
	a += (uintptr_t)(intptr_t)r->cfa.off;
	if (r->deref) {
		if (!read_noted(w, a, &a))
			return false;
		a += (uintptr_t)(intptr_t)r->add;
	}
	*cfa = a;
	return true;
}

/* Returns the address at which a register was saved; 0: not known. */
static uintptr_t get_saved_address(
	struct walk *w, struct frame *f, const struct cfi_place *p, uintptr_t cfa)
{
	uintptr_t off = (uintptr_t)(intptr_t)p->off;

	switch (p->base) {
	case CFI_AT_CFA:
		return cfa + off;
	case CFI_AT_SP:
		return f->sp_known ? f->sp + off : 0;
	case CFI_AT_FP:
		return f->fp_known ? read_fp(w, f) + off : 0;
	}
	return 0;
}

static bool read_cfi_frame(struct walk *w, struct frame *f, const struct cfi_rule *r)
{
	uintptr_t cfa, at, fp_at;

	if (r->ra.base == CFI_UNDEFINED)
		return false;
	if (!find_cfa(w, f, r, &cfa))
		return read_fp_frame(w, f);
	/*
	 * A step must go up the stack; only an interrupted function may not have pushed anything
	 * yet.
	 */
	if (cfa < f->sp || (cfa == f->sp && !f->exact))
		return false;
	at = r->ra.base == CFI_SAME ? f->lr_at : get_saved_address(w, f, &r->ra, cfa);
	fp_at = get_saved_address(w, f, &r->fp, cfa);
	if (!at)
		return read_fp_frame(w, f);
	if (!read_pc(w, f, at))
		return false;
	if (r->fp.base != CFI_SAME) {
		f->fp_known = fp_at && read_word(w, fp_at, &f->fp);
		f->fp_at = fp_at;
	}
	f->sp = cfa;
	f->sp_known = true;
	f->exact = r->exact;
	f->lr_at = 0;
	return true;
}

static bool read_next_frame(struct walk *w, struct frame *f, const struct cfi_rule *r)
{
	switch (r->kind) {
	case CFI_SIGNAL:
		return read_signal_frame(w, f);
	case CFI_FRAME:
		return read_cfi_frame(w, f, r);
	}
	return read_fp_frame(w, f);
}

/*
 * Fills in the frame of the wrapper's caller. libprobe's own code keeps frame pointers, so [fp]
 * contains the caller's.
 */
static bool init_first_frame(
	struct walk *w, struct frame *f, uintptr_t pc, uintptr_t fp, uintptr_t wrapper_pc)
{
	uintptr_t ra;

	memset(f, 0, sizeof(*f));
	f->pc = pc;
	if (!read_word(w, fp, &f->fp) || !read_noted(w, fp + sizeof(fp), &ra) ||
		unwind_strip(ra) != pc)
		return false;
	f->fp_known = true;
	f->fp_at = fp;
	f->sp = fp + 2 * sizeof(fp);
	f->sp_known = true;
#if defined(__aarch64__)
	struct frame wf = {.pc = wrapper_pc, .fp = fp, .fp_known = true};
	struct cfi_rule r;

	find_rule(w, &wf, &r);
	f->sp_known = r.kind == CFI_FRAME && r.fp.base == CFI_AT_CFA;
	if (f->sp_known)
		f->sp = fp - (uintptr_t)(intptr_t)r.fp.off;
#else
	(void)wrapper_pc;
#endif
	return true;
}

void unwind_stack(struct memory *m, struct stack_cache *cache, uintptr_t pc, uintptr_t fp,
	uintptr_t wrapper_pc, uintptr_t *pcs, int max, struct trail *t)
{
	struct walk w = {.m = m, .cache = cache, .t = t};
	struct frame f;
	struct cfi_rule r;

	t->base = fp;
	t->n = 1;
	t->extra = 0;
	t->lossy = false;
	pcs[0] = pc;
	if (!init_first_frame(&w, &f, pc, fp, wrapper_pc)) {
		t->lossy = true;
		return;
	}
	find_rule(&w, &f, &r);
	while (t->n < max && read_next_frame(&w, &f, &r)) {
		find_rule(&w, &f, &r);
		if (r.kind == CFI_FOREIGN && is_sigreturn(f.pc)) {
			r.kind = CFI_SIGNAL;
		} else if (r.kind == CFI_FOREIGN && !f.exact && !is_after_call_instruction(f.pc)) {
			note_disbelieved(t);
			break;
		}
		pcs[t->n++] = f.pc;
	}
}

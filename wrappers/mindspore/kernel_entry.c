/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two functions that launch kernels, and how they are intercepted: PyBoostUtils::LaunchKernel by its exported name,
 * KernelExecutor::LaunchKernel through the executor of each device, whose class is hidden. The entries are compiled:
 * they find the kernel's row, and then behave like any other wrapper.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "call/wrapper.h"
#include "elf/demangle/demangle.h"
#include "life/life.h"
#include "session/state.h"
#include "wrappers/cxx/cxx_shadow.h"
#include "wrappers/layout_facts.h"
#include "wrappers/mindspore/layout/kernel.h"
#include "wrappers/mindspore/layout/kernel_layout.h"
#include "wrappers/mindspore/kernel_phase.h"
#include "wrappers/mindspore/kernel_values.h"
#include "wrappers/mindspore/layout/ms.h"

#define TENSORS "RKSt4pairISt6vectorIPNS0_12KernelTensorESaISF_EESD_IS3_ISE_ESaISI_EEE"
#define LAUNCH_OPERATOR                                                                 \
	"_ZN9mindspore6kernel7pyboost12PyBoostUtils12LaunchKernelERKSt10shared_ptrINS_" \
	"9PrimitiveEEPKNS_6device13DeviceContextE" TENSORS "SN_mb"
#define DEVICE_CONTEXT                                                            \
	"_ZN9mindspore6device20DeviceContextManager24GetOrCreateDeviceContextERK" \
	"NS0_16DeviceContextKeyE"

#define EXECUTOR "N9mindspore6device14KernelExecutorE"

/* ---- operators ---- */

/* row of LAUNCH_OPERATOR; NULL until it is made; never freed */
static struct cxx_function *operator_row;

/*
 * A std::pair of the tensors and of the object that keeps them alive. Larger than a register, so
 * it is passed by reference.
 */
typedef void launch_operator_fn(void *const *primitive, const void *context,
	const struct kernel_tensors *in, const struct kernel_tensors *out, size_t stream,
	bool flag);

/*
 * Returns the row of the kernel that is about to be launched, or NULL if the kernel is not
 * observed.
 */
static struct ms_kernel *find_observed_kernel(enum kernel_way way, const void *named, void *real)
{
	struct thread_self *w = &thread_state;
	const struct kernel_layout *l;
	const char *name = NULL;
	struct ms_kernel *k;
	int err = errno;

	if (w->busy)
		return NULL;
	w->busy++;
	/*
	 * The first call of ms_get_layout() creates objects of MindSpore, by functions that are
	 * observed.
	 */
	l = ms_get_layout();
	if (l)
		name = way == KERNEL_OPERATOR ? ms_read_primitive_name(l, named)
					      : ms_read_kernel_name(l, named);
	k = name ? ms_find_or_add_kernel_row(way, name, real) : NULL;
	w->busy--;
	errno = err;
	return k;
}

static void handle_operator_launch(void *const *primitive, const void *context,
	const struct kernel_tensors *in, const struct kernel_tensors *out, size_t stream, bool flag)
{
	typedef launch_operator_fn fn;
	fn *launch = (fn *)WRAPPER_REAL(&operator_row->api);
	struct ms_kernel *k = NULL;
	bool values;

	if (!WRAPPER_OFF(&operator_row->api))
		k = find_observed_kernel(KERNEL_OPERATOR, *primitive, (void *)launch);
	values = k && ms_handle_values_before(k, NULL, in, out);
	if (!k || WRAPPER_OFF(&k->cxx.api)) {
		launch(primitive, context, in, out, stream, flag);
		if (values)
			ms_handle_values_after(k, NULL, in, out);
		return;
	}

	union arg v[KERNEL_ARGS] = {[KERNEL_INPUTS] = {.cp = in}, [KERNEL_OUTPUTS] = {.cp = out}};
	struct call c __attribute__((cleanup(call_cleanup)));

	call_enter(&c, &k->cxx.api, v, (uintptr_t)__builtin_return_address(0),
		(uintptr_t)__builtin_frame_address(0));
	launch(primitive, context, in, out, stream, flag);
	call_leave(&c, true);
	if (values)
		ms_handle_values_after(k, NULL, in, out);
}

/* ---- executors ---- */

typedef bool launch_kernel_fn(void *executor, void *const *node, const struct kernel_tensors *in,
	const struct kernel_tensors *workspace, const struct kernel_tensors *out, void *mod,
	void *stream);

/* Classes of executors in one process: of the processor, and of each kind of device. */
#define CLASSES_MAX 4
static _Atomic(launch_kernel_fn *) executed[CLASSES_MAX];
static _Atomic unsigned nclasses;

static inline __attribute__((always_inline)) bool handle_executor_launch(launch_kernel_fn *launch,
	void *executor, void *const *node, const struct kernel_tensors *in,
	const struct kernel_tensors *workspace, const struct kernel_tensors *out, void *mod,
	void *stream)
{
	struct ms_kernel *k = NULL;
	bool values, ok;

	if (recording_enabled())
		k = find_observed_kernel(KERNEL_EXECUTED, mod, (void *)launch);
	if (__builtin_expect(k && k->counts_steps, 0))
		ms_handle_step_count(k, *node, in);
	values = k && ms_handle_values_before(k, *node, in, out);
	if (!k || WRAPPER_OFF(&k->cxx.api)) {
		ok = launch(executor, node, in, workspace, out, mod, stream);
		if (values)
			ms_handle_values_after(k, *node, in, out);
		return ok;
	}

	union arg v[KERNEL_ARGS] = {[KERNEL_INPUTS] = {.cp = in},
		[KERNEL_OUTPUTS] = {.cp = out},
		[KERNEL_NODE] = {.cp = *node}};
	struct call c __attribute__((cleanup(call_cleanup)));

	call_enter(&c, &k->cxx.api, v, (uintptr_t)__builtin_return_address(0),
		(uintptr_t)__builtin_frame_address(0));
	ok = call_leave(&c, launch(executor, node, in, workspace, out, mod, stream));
	if (values)
		ms_handle_values_after(k, *node, in, out);
	return ok;
}

#define ENTRY(i)                                                                                  \
	static bool launch_executed_##i(void *executor, void *const *node,                        \
		const struct kernel_tensors *in, const struct kernel_tensors *workspace,          \
		const struct kernel_tensors *out, void *mod, void *stream)                        \
	{                                                                                         \
		return handle_executor_launch(                                                    \
			atomic_load_explicit(&executed[i], memory_order_relaxed), executor, node, \
			in, workspace, out, mod, stream);                                         \
	}
ENTRY(0)
ENTRY(1)
ENTRY(2)
ENTRY(3)
#undef ENTRY

static void *register_executor_class(unsigned i, void *function, const char *class, void *arg)
{
	static launch_kernel_fn *const entries[CLASSES_MAX] = {
		launch_executed_0, launch_executed_1, launch_executed_2, launch_executed_3};
	unsigned n;

	(void)i, (void)class, (void)arg;
	n = atomic_fetch_add(&nclasses, 1);
	if (n >= CLASSES_MAX)
		return function;
	atomic_store(&executed[n], (launch_kernel_fn *)function);
	return (void *)entries[n];
}

/* Executors whose kernels are intercepted already: a device's context is requested often. */
static _Atomic(const void *) watched_executors[CLASSES_MAX];

/* Intercepts the kernels of the executor that belongs to device context `context`. */
static void set_executor_hook(const void *context)
{
	const struct kernel_layout *l = ms_get_layout();
	int place = -1, err;
	struct cxx_shadow s = {
		.class = EXECUTOR, .n = 1, .place = &place, .entry = register_executor_class};
	void *executor;

	if (!l || !context || get_layout_state(LAYOUT_MS_EXECUTOR) == LAYOUT_FAILED)
		return;
	executor = *(void *const *)((const char *)context + l->executor);
	if (!executor)
		return; /* the executor does not exist yet */
	for (unsigned i = 0; i < CLASSES_MAX; i++)
		if (atomic_load_explicit(&watched_executors[i], memory_order_relaxed) == executor)
			return;
	place = cxx_object_is(executor, EXECUTOR) ? ms_find_launch_slot(executor) : -1;
	err = place >= 0 ? cxx_set_shadow(executor, &s) : -EINVAL;
	/* Out of memory, or too many classes; neither means that the layout is wrong. */
	if (!err || err == -EINVAL)
		session_record_layout_fact(LAYOUT_MS_EXECUTOR, !err);
	for (unsigned i = 0; !err && i < CLASSES_MAX; i++) {
		const void *none = NULL;

		if (atomic_compare_exchange_strong(&watched_executors[i], &none, executor) ||
			none == executor)
			break;
	}
}

/* ---- rows of the functions themselves ---- */

static void handle_context_return(struct call *c, int64_t ret)
{
	if (c->ok && ret)
		set_executor_hook((const void *)(uintptr_t)ret);
}

static const struct adapter adapter_ms_launch = {
	.name = "mindspore", .leave = handle_context_return};

static bool is_launch_wanted(const char *symbol)
{
	if (strcmp(symbol, DEVICE_CONTEXT) == 0)
		/* always wanted: kernels of its executor show the steps of a training */
		return true;
	return strcmp(symbol, LAUNCH_OPERATOR) == 0 && (ms_kernels_listed() || ms_values_wanted());
}

static bool is_launch_symbol_wanted(const char *symbol, const char *object)
{
	(void)object;
	/* Called for every symbol of a process, so it must be cheap. */
	return (strcmp(symbol, DEVICE_CONTEXT) == 0 || strcmp(symbol, LAUNCH_OPERATOR) == 0) &&
	       ms_is_observed() && is_launch_wanted(symbol);
}

static struct api *add_launch_row(const char *symbol, const char *object)
{
	bool by_name = strcmp(symbol, LAUNCH_OPERATOR) == 0;
	struct cxx_function *f;

	(void)object;
	if (by_name && operator_row)
		return &operator_row->api;
	f = cxx_function_open_row(sizeof(*f), symbol, "MindSpore");
	if (!f)
		return NULL;
	if (format_cxx_symbol(symbol, f->symbol, sizeof(f->symbol), NULL) < 0) {
		free(f);
		return NULL;
	}
	cxx_function_set_observed(
		f, &adapter_ms_launch, by_name ? "pppplb" : "pp", by_name ? CT_VOID : CT_P);
	f->ffi.code = !by_name;
	f->ffi.entry = by_name ? (void *)handle_operator_launch : NULL;
	if (by_name)
		operator_row = f;
	cxx_function_register();
	return &f->api;
}

const struct runtime_provider ms_kernel_provider = {
	.wants = is_launch_symbol_wanted, .make = add_launch_row, .any = ms_is_observed};

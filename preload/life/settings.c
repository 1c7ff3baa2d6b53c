/* SPDX-License-Identifier: Apache-2.0 */
#include "life/settings.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "config/rooms/process.h"
#include "elf/loaded/elfsym.h"
#include "elf/loaded/modules.h"
#include "life/life.h"
#include "life/meta_list.h"
#include "session/state.h"
#include "folder/meta.h"

#define ENVIRONMENT_MAX (256u << 10)

/* ---- the environment ---- */

/*
 * True for variables that describe how a job was started, by name or by prefix. None of them
 * contains secrets.
 */
static bool is_launch_variable(const char *v)
{
	static const char told[][24] = {"RANK=", "WORLD_SIZE=", "LOCAL_RANK=", "LOCAL_WORLD_SIZE=",
		"NODE_RANK=", "GROUP_RANK=", "MASTER_ADDR=", "MASTER_PORT=", "OMP_", "KMP_",
		"CUDA_", "ASCEND_", "HIP_", "ROCR_", "NCCL_", "RCCL_", "HCCL_", "CCL_", "GLOO_",
		"CUBLAS_", "CUDNN_", "LCCL_", "ATB_", "MKL_", "TF_",
		"XLA_FLAGS=", "NVIDIA_TF32_OVERRIDE=", "UCX_", "UCC_", "FI_", "TORCH_", "PYTORCH_",
		"TORCHELASTIC_", "MS_", "SLURM_JOB_", "SLURM_PROCID=", "SLURM_NNODES=",
		"LD_PRELOAD=", "LD_LIBRARY_PATH=", "PYTHONHASHSEED=", "PROBE_"};
	static const char secret[][8] = {"TOKEN", "SECRET", "PASS", "_KEY", "CRED"};
	size_t name = strcspn(v, "=");

	for (unsigned i = 0; i < sizeof(secret) / sizeof(*secret); i++)
		if (memmem(v, name, secret[i], strlen(secret[i])))
			return false;
	for (unsigned i = 0; i < sizeof(told) / sizeof(*told); i++)
		if (strncmp(v, told[i], strlen(told[i])) == 0)
			return true;
	return false;
}

/*
 * all: the variables at process start, n bytes. The current environment is not read, because the
 * program may change it at the same time.
 */
static void write_environment(char *all, size_t n)
{
	static char text[META_PART_MAX];
	struct text t = list_begin(text, sizeof(text), '{');

	for (char *p = all, *end; p < all + n; p = end + 1) {
		char *is;

		end = memchr(p, 0, (size_t)(all + n - p));
		if (!end)
			break;
		is = strchr(p, '=');
		if (!is || !is_launch_variable(p))
			continue;
		*is = 0;
		list_add(&t, p, is + 1, false);
		*is = '=';
	}
	list_end(&t, true, '}');
	session_set_meta(META_ENVIRONMENT, "environment", text);
}

static const char *find_variable(const char *all, size_t n, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = all; p < all + n; p += strnlen(p, (size_t)(all + n - p)) + 1)
		if (strncmp(p, name, len) == 0 && p[len] == '=')
			return p + len + 1;
	return NULL;
}

/* ---- Python packages ---- */

#define SITES_MAX 16
#define SITE_BYTES 512

struct sites {
	unsigned n;
	char at[SITES_MAX][SITE_BYTES];
	bool python;
};

/* Notes the folder of Python packages that contains a loaded object. */
static void add_python_package_folder(void *arg, const struct module *m)
{
	static const char folders[][20] = {"/site-packages/", "/dist-packages/"};
	struct sites *s = arg;

	for (unsigned k = 0; k < sizeof(folders) / sizeof(*folders); k++) {
		const char *at = strstr(m->path, folders[k]);
		size_t n = at ? (size_t)(at - m->path) + strlen(folders[k]) - 1 : 0;
		unsigned i = 0;

		if (!at || n >= SITE_BYTES)
			continue;
		while (i < s->n && (strncmp(s->at[i], m->path, n) || s->at[i][n]))
			i++;
		if (i < s->n || i == SITES_MAX)
			continue;
		memcpy(s->at[i], m->path, n);
		s->at[i][n] = 0;
		s->n++;
	}
}

/* Splits "numpy-2.1.0.dist-info" into name and version, and adds them. */
static void add_package(struct text *t, const char *name)
{
	static const char suffix[] = ".dist-info";
	char both[256];
	size_t n = strlen(name);
	char *dash;

	if (n < sizeof(suffix) || n >= sizeof(both) ||
		strcmp(name + n - (sizeof(suffix) - 1), suffix))
		return;
	memcpy(both, name, n);
	both[n - (sizeof(suffix) - 1)] = 0;
	dash = strrchr(both, '-');
	if (!dash)
		return;
	*dash = 0;
	list_add(t, both, dash + 1, false);
}

static struct sites sites;

static void write_packages(void)
{
	static char text[META_PART_MAX];
	struct text t = list_begin(text, sizeof(text), '{');

	for (unsigned i = 0; i < sites.n; i++) {
		DIR *d = opendir(sites.at[i]);

		for (struct dirent *e; d && (e = readdir(d));)
			add_package(&t, e->d_name);
		if (d)
			closedir(d);
	}
	list_end(&t, true, '}');
	if (t.len > 2)
		session_set_meta(META_PACKAGES, "packages", text);
}

/* Reading the packages has not begun; is in progress; is done. */
enum { PACKAGES_NEW, PACKAGES_READ, PACKAGES_PUT };

static _Atomic uint32_t packages;

#define PACKAGES_WAIT_MS 500

/*
 * The thread that reads the packages. It must not wait for itself: a signal handler may have
 * interrupted the reading, and end the program.
 */
static _Atomic int packages_reader;

static void wait_for_packages(void)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + PACKAGES_WAIT_MS * UINT64_C(1000000), now;

	while (atomic_load(&packages) == PACKAGES_READ &&
		(now = clock_ns(CLOCK_MONOTONIC)) < until) {
		struct timespec left = {.tv_nsec = (long)(until - now)};

		syscall(SYS_futex, &packages, FUTEX_WAIT_PRIVATE, PACKAGES_READ, &left, NULL, 0);
	}
}

void life_describe_late(void)
{
	uint32_t state = PACKAGES_NEW;
	int self;

	if (atomic_load_explicit(&packages, memory_order_acquire) == PACKAGES_PUT)
		return;
	self = (int)syscall(SYS_gettid);
	if (atomic_compare_exchange_strong(&packages, &state, PACKAGES_READ)) {
		atomic_store(&packages_reader, self);
		write_packages();
		atomic_store(&packages, PACKAGES_PUT);
		syscall(SYS_futex, &packages, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	} else if (state == PACKAGES_READ && atomic_load(&packages_reader) != self) {
		wait_for_packages();
	}
}

/*
 * Finds the folders, on another thread than the one that reads them: a race detector does not
 * know the loader's lock, and would report a race between the loader's data and memory that
 * dlclose() frees elsewhere.
 */
static void find_package_folders(void)
{
	if (atomic_load(&packages) != PACKAGES_NEW)
		return;
	sites.n = 0;
	modules_handle_each(add_python_package_folder, &sites);
}

void settings_forked(void)
{
	atomic_store(&packages, PACKAGES_NEW);
}

/* ---- repeatability ---- */

struct library_look {
	const char *name;
	bool found;
};

static void check_module(void *arg, const struct module *m)
{
	struct library_look *l = arg;
	const char *base = strrchr(m->path, '/');

	l->found |= strstr(base ? base + 1 : m->path, l->name) != NULL;
}

static bool is_loaded(const char *name)
{
	struct library_look l = {.name = name};

	modules_handle_each(check_module, &l);
	return l.found;
}

/* True if Python was started with -E, -I or -s, so that it reads no PYTHON... variables. */
static bool is_environment_ignored(void)
{
	const int *flag = elfsym_find_data("Py_IgnoreEnvironmentFlag");

	return flag && *flag;
}

static const struct {
	char name[32], value[12], library[16];
} reproducible[] = {
#define REPRODUCIBLE(name, value, library, help) {name, value, library},
#include "terms/reproducible.def"
};

/* Returns the reason why the setting had no effect, or NULL if it had. */
static const char *find_reason_without_effect(
	const char *name, const char *library, const char *want, const char *began, bool loaded)
{
	const char *now = getenv(name);

	if (!began)
		return "it was not set when the process began";
	if (strcmp(began, want))
		return "another value was set";
	if (!now || strcmp(now, want))
		return "the program set it to something else";
	if (!loaded)
		return "nothing that reads it was loaded at the first recorded call";
	if (strcmp(library, "python") == 0 && is_environment_ignored())
		return "this Python was told to ignore the environment";
	return NULL;
}

static void write_requested_variable(struct text *t, unsigned i, const char *all, size_t n)
{
	const char *want = reproducible[i].value, *began, *why;
	char seed[24], value[512];
	struct text v = text_init(value, sizeof(value));
	bool loaded = is_loaded(reproducible[i].library);

	if (!*want) {
		snprintf(seed, sizeof(seed), "%lld",
			(long long)get_process_keys(get_config())->seed);
		want = seed;
	}
	/* If the variable's library is not loaded, it has no effect. */
	if (!loaded && strcmp(reproducible[i].library, "python"))
		return;
	began = find_variable(all, n, reproducible[i].name);
	why = find_reason_without_effect(
		reproducible[i].name, reproducible[i].library, want, began, loaded);
	text_add_string(&v, "{\"asked\": ");
	text_add_json(&v, want);
	text_add_format(&v, ", \"took_effect\": %s", why ? "false" : "true");
	if (why) {
		text_add_string(&v, ", \"why\": ");
		text_add_json(&v, why);
	}
	text_add_char(&v, '}');
	list_add(t, reproducible[i].name, value, true);
}

static void write_reproducible(const char *all, size_t n)
{
	const struct config *c = get_config();
	const struct process_keys *keys = get_process_keys(c);
	static char text[META_PART_MAX];
	struct text t = list_begin(text, sizeof(text), '{');
	char seed[24];

	if (keys->seed < 0 && !keys->deterministic)
		return;
	snprintf(seed, sizeof(seed), "%lld", (long long)keys->seed);
	list_add(&t, "seed", keys->seed < 0 ? "null" : seed, true);
	list_add(&t, "deterministic", keys->deterministic ? "true" : "false", true);
	for (unsigned i = 0; i < sizeof(reproducible) / sizeof(*reproducible); i++)
		if (*reproducible[i].value ? keys->deterministic : keys->seed >= 0)
			write_requested_variable(&t, i, all, n);
	list_end(&t, true, '}');
	session_set_meta(META_REPRODUCIBLE, "reproducible", text);
}

static char seeds[200];

/* Caller has session.lock. */
static void write_seeds(void)
{
	if (*seeds)
		session_set_meta(META_SEEDS, "seeds", seeds);
}

void session_record_seeds(const char *json)
{
	pthread_mutex_lock(&session.lock);
	snprintf(seeds, sizeof(seeds), "%s", json);
	if (session_is_on())
		write_seeds();
	pthread_mutex_unlock(&session.lock);
}

void write_settings(void)
{
	char *all = malloc(ENVIRONMENT_MAX);
	ssize_t n =
		all ? io_read_file(AT_FDCWD, "/proc/self/environ", all, ENVIRONMENT_MAX - 1) : 0;

	if (n > 0) {
		all[n] = 0;
		write_environment(all, (size_t)n);
	}
	find_package_folders();
	write_reproducible(all, n > 0 ? (size_t)n : 0);
	write_seeds();
	free(all);
}

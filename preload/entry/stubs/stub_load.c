/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a stub object into the process: from memory (memfd), or if that is refused from a file in
 * $TMPDIR that is removed immediately. The loader compares paths, so each object gets a path that
 * no other object had.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/log.h"
#include "resolve/real.h"
#include "entry/stubs/stub.h"
#include "entry/stubs/stub_elf.h"
#include "session/state.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

typedef void *dlopen_fn(const char *file, int mode);

static int write_image(int fd, const void *image, size_t size)
{
	const char *p = image;

	while (size) {
		ssize_t n = write(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

/*
 * Writes "/proc/self/fd/" and the descriptor's number. Descriptors are reused, so a counter is
 * inserted, written as dots and slashes that the kernel ignores.
 */
static void make_unique_fd_path(char *path, size_t cap, int fd)
{
	static atomic_uint count;
	size_t at = (size_t)snprintf(path, cap, "/proc/self/fd/");

	for (unsigned k = atomic_fetch_add(&count, 1) + 1; k && at < cap - 24; k >>= 1) {
		if (k & 1)
			path[at++] = '.';
		path[at++] = '/';
	}
	snprintf(path + at, cap - at, "%d", fd);
}

static int from_memory(dlopen_fn *open_object, const void *image, size_t size)
{
	int fd = memfd_create("libprobe-stubs", MFD_CLOEXEC), err;
	char path[128];

	/*
	 * If executable memfds are forbidden (vm.memfd_noexec=2), one without the permission can
	 * still be mapped.
	 */
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		fd = memfd_create("libprobe-stubs", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (fd < 0)
		return -errno;
	err = write_image(fd, image, size);
	make_unique_fd_path(path, sizeof(path), fd);
	if (!err && !open_object(path, RTLD_NOW | RTLD_GLOBAL))
		err = -EACCES;
	close(fd);
	return err;
}

static const char *stub_tmpdir(void)
{
	for (char *const *e = startup_get_environment(); *e; e++)
		if (strncmp(*e, "TMPDIR=", 7) == 0 && (*e)[7])
			return *e + 7;
	return "/tmp";
}

static int from_file(dlopen_fn *open_object, const void *image, size_t size, char *path, size_t cap)
{
	int fd, err;

	if ((size_t)snprintf(path, cap, "%s/libprobe-stubs-XXXXXX", stub_tmpdir()) >= cap)
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_image(fd, image, size);
	close(fd);
	if (!err && !open_object(path, RTLD_NOW | RTLD_GLOBAL))
		err = -EACCES;
	unlink(path);
	return err;
}

int stub_load(const struct stub_names *names)
{
	static atomic_bool refused;
	dlopen_fn *open_object = (dlopen_fn *)real_find_symbol("dlopen");
	char path[4096] = "";
	size_t size;
	void *image;
	int err, second;

	if (!open_object || atomic_load(&refused))
		return -EACCES;
	image = stub_elf_build(stub_elf_machine(), names->item, names->n, NULL, &size);
	if (!image) {
		log_loss(LOSS_ENTRY, "no memory for %u stubs: these functions are not recorded",
			names->n);
		return -ENOMEM;
	}
	err = from_memory(open_object, image, size);
	if (err) {
		second = from_file(open_object, image, size, path, sizeof(path));
		if (second) {
			atomic_store(&refused, true);
			log_loss(LOSS_ENTRY,
				"no stub object can be loaded (memory: %s; %s: %s): functions "
				"without a compiled wrapper are not recorded; set TMPDIR to a "
				"folder that allows execution, or use `probe run`",
				strerror(-err), path, strerror(-second));
		}
		err = second;
	}
	munmap(image, size);
	if (!err)
		log_info(2, "%u stubs loaded", names->n);
	return err;
}

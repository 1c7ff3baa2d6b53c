/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A .pt file is a zip archive with a pickle of protocol 2 that rebuilds the tensor, and the bytes of its storage. For
 * types without a storage class of their own (unsigned integers, float8) the storage is untyped. Both forms are those
 * of torch.save in PyTorch 1.6 to 2.15 (torch.serialization, torch._utils).
 */
#include "formats/dump/kept/dump_file.h"

#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "config/rooms/dump.h"
#include "terms/dtype.h"
#include "base/io.h"

#define CHUNK (256u << 10)
#define ARCHIVE_MAX UINT64_C(0xfff00000) /* maximum size of a zip archive without extensions */

static const struct {
	char storage[24]; /* torch's class of storage, "": none */
	char npy[8]; /* numpy's name of the type, "": stored as another type */
} file_types[DT_COUNT] = {
	[DT_BOOL] = {"BoolStorage", "|b1"},
	[DT_INT8] = {"CharStorage", "|i1"},
	[DT_INT16] = {"ShortStorage", "<i2"},
	[DT_INT32] = {"IntStorage", "<i4"},
	[DT_INT64] = {"LongStorage", "<i8"},
	[DT_UINT8] = {"ByteStorage", "|u1"},
	[DT_UINT16] = {"", "<u2"},
	[DT_UINT32] = {"", "<u4"},
	[DT_UINT64] = {"", "<u8"},
	[DT_FLOAT8_E4M3FN] = {"", "|u1"}, /* NumPy has no such type: the raw bytes */
	[DT_FLOAT8_E5M2] = {"", "|u1"},
	[DT_FLOAT8_E8M0FNU] = {"", "|u1"},
	[DT_FLOAT8_E4M3FNUZ] = {"", "|u1"},
	[DT_FLOAT8_E5M2FNUZ] = {"", "|u1"},
	[DT_FLOAT4_E2M1FN_X2] = {"", "|u1"},
	/* NumPy has no such type: widened, which preserves the values */
	[DT_BFLOAT16] = {"BFloat16Storage", "<f4"},
	[DT_FLOAT16] = {"HalfStorage", "<f2"},
	[DT_FLOAT32] = {"FloatStorage", "<f4"},
	[DT_FLOAT64] = {"DoubleStorage", "<f8"},
	[DT_COMPLEX64] = {"ComplexFloatStorage", "<c8"},
	[DT_COMPLEX128] = {"ComplexDoubleStorage", "<c16"},
};

/* ---- bytes ---- */

struct bytes {
	unsigned char buf[4096];
	size_t n;
};

static void write_file_bytes(struct bytes *b, const void *p, size_t n)
{
	if (b->n + n <= sizeof(b->buf)) {
		memcpy(b->buf + b->n, p, n);
		b->n += n;
	}
}

static void write_file_number(struct bytes *b, uint64_t v, unsigned n)
{
	unsigned char byte[8];

	for (unsigned i = 0; i < n; i++)
		byte[i] = (unsigned char)(v >> 8 * i);
	write_file_bytes(b, byte, n);
}

/* ---- the pickle ---- */

static void write_pickled_raw(struct bytes *b, const char *s)
{
	write_file_bytes(b, s, strlen(s));
}

static void write_pickled_word(struct bytes *b, const char *s)
{
	write_pickled_raw(b, "X");
	write_file_number(b, strlen(s), 4);
	write_pickled_raw(b, s);
}

static void write_pickled_dim(struct bytes *b, uint64_t v)
{
	if (v < 256) {
		write_pickled_raw(b, "K");
		write_file_number(b, v, 1);
	} else if (v <= INT32_MAX) {
		write_pickled_raw(b, "J");
		write_file_number(b, v, 4);
	} else {
		/* LONG1: two's complement, with an additional byte for the sign. */
		write_pickled_raw(b, "\x8a\x09");
		write_file_number(b, v, 8);
		write_file_number(b, 0, 1);
	}
}

static void write_pickled_ints(struct bytes *b, const uint64_t *v, unsigned n)
{
	write_pickled_raw(b, "(");
	for (unsigned i = 0; i < n; i++)
		write_pickled_dim(b, v[i]);
	write_pickled_raw(b, "t");
}

/* The dimensions of a tensor with elements take at most some thousand bytes in this form. */
static void write_pickled_tensor(struct bytes *b, const struct tensor_copy *c)
{
	const char *storage = file_types[c->dtype].storage;
	const uint64_t *size = tensor_copy_dims(c);

	write_pickled_raw(b, *storage ? "\x80\x02"
					"ctorch._utils\n_rebuild_tensor_v2\n(("
				      : "\x80\x02"
					"ctorch._utils\n_rebuild_tensor_v3\n((");
	write_pickled_word(b, "storage");
	write_pickled_raw(b, *storage ? "ctorch\n" : "ctorch.storage\n");
	write_pickled_raw(b, *storage ? storage : "UntypedStorage");
	write_pickled_raw(b, "\n");
	write_pickled_word(b, "0");
	write_pickled_word(b, "cpu");
	write_pickled_dim(b, *storage ? c->count : c->bytes);
	write_pickled_raw(b, "tQK");
	write_file_number(b, 0, 1);
	write_pickled_ints(b, size, c->ndim);
	write_pickled_ints(b, size + c->ndim, c->ndim);
	write_pickled_raw(b, "\x89"
			     "ccollections\nOrderedDict\n)R");
	if (!*storage) {
		write_pickled_raw(b, "ctorch\n");
		write_pickled_raw(b, get_dtype_info(c->dtype)->name);
		write_pickled_raw(b, "\n");
	}
	write_pickled_raw(b, "tR.");
}

/* ---- the archive ---- */

struct member {
	const char *name;
	const void *data;
	uint64_t bytes, packed, at;
	uint32_t crc;
	bool deflated;
};

struct archive {
	int fd, err;
	uint64_t at;
	struct member member[4];
	unsigned n;
};

static void write_archive(struct archive *a, const void *p, size_t n)
{
	if (!a->err)
		a->err = io_write_all(a->fd, p, n);
	a->at += n;
}

static uint32_t compute_data_crc(const void *p, uint64_t n)
{
	return (uint32_t)crc32_z(0, p, n);
}

static void write_member_sizes(struct bytes *b, const struct member *m)
{
	write_file_number(b, m->deflated ? 8 : 0, 2);
	write_file_number(b, 0, 2); /* no time and date */
	write_file_number(b, 0x21, 2);
	write_file_number(b, m->crc, 4);
	write_file_number(b, m->packed, 4);
	write_file_number(b, m->bytes, 4);
	write_file_number(b, strlen(m->name), 2);
}

static void write_local_head(struct archive *a, const struct member *m)
{
	struct bytes b = {.n = 0};

	write_file_number(&b, 0x04034b50, 4);
	write_file_number(&b, 20, 2);
	write_file_number(&b, 0, 2);
	write_member_sizes(&b, m);
	write_file_number(&b, 0, 2);
	write_file_bytes(&b, m->name, strlen(m->name));
	write_archive(a, b.buf, b.n);
}

static void write_member_compressed(struct archive *a, struct member *m)
{
	z_stream z = {0};
	unsigned char *out = malloc(CHUNK);
	uint64_t left = m->bytes, head = a->at;
	const unsigned char *in = m->data;
	int end = Z_OK;

	if (!out || deflateInit2(&z, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(out);
		a->err = a->err ? a->err : -ENOMEM;
		return;
	}
	write_local_head(a, m);
	while (end != Z_STREAM_END && !a->err) {
		z.next_out = out;
		z.avail_out = CHUNK;
		if (!z.avail_in && left) {
			z.avail_in = left < CHUNK ? (uInt)left : CHUNK;
			z.next_in = (Bytef *)(uintptr_t)in;
			in += z.avail_in;
			left -= z.avail_in;
		}
		end = deflate(&z, left || z.avail_in ? Z_NO_FLUSH : Z_FINISH);
		write_archive(a, out, CHUNK - z.avail_out);
		m->packed += CHUNK - z.avail_out;
	}
	deflateEnd(&z);
	free(out);

	/* Writes the header again, with the size, which is known now. */
	uint64_t after = a->at;

	if (!a->err && lseek(a->fd, (off_t)head, SEEK_SET) < 0)
		a->err = -errno;
	write_local_head(a, m);
	a->at = after;
	if (!a->err && lseek(a->fd, (off_t)after, SEEK_SET) < 0)
		a->err = -errno;
}

static void add_archive_member(
	struct archive *a, const char *name, const void *data, uint64_t bytes, bool deflated)
{
	struct member *m = &a->member[a->n++];

	*m = (struct member){.name = name,
		.data = data,
		.bytes = bytes,
		.at = a->at,
		.crc = compute_data_crc(data, bytes),
		.deflated = deflated};
	if (deflated) {
		write_member_compressed(a, m);
		return;
	}
	m->packed = bytes;
	write_local_head(a, m);
	write_archive(a, data, bytes);
}

static void close_archive(struct archive *a)
{
	uint64_t from = a->at;
	struct bytes b = {.n = 0};

	for (unsigned i = 0; i < a->n; i++) {
		const struct member *m = &a->member[i];

		write_file_number(&b, 0x02014b50, 4);
		write_file_number(&b, 20, 2);
		write_file_number(&b, 20, 2);
		write_file_number(&b, 0, 2);
		write_member_sizes(&b, m);
		for (unsigned k = 0; k < 4;
			k++) /* no extra field, no comment, one disk, no attributes */
			write_file_number(&b, 0, 2);
		write_file_number(&b, 0, 4);
		write_file_number(&b, m->at, 4);
		write_file_bytes(&b, m->name, strlen(m->name));
	}

	uint64_t length = b.n;

	write_file_number(&b, 0x06054b50, 4);
	write_file_number(&b, 0, 4);
	write_file_number(&b, a->n, 2);
	write_file_number(&b, a->n, 2);
	write_file_number(&b, length, 4);
	write_file_number(&b, from, 4);
	write_file_number(&b, 0, 2);
	write_archive(a, b.buf, b.n);
}

static int write_pt(int fd, const struct config *cfg, const struct tensor_copy *c)
{
	struct archive a = {.fd = fd};
	struct bytes pickle = {.n = 0};

	if (c->bytes > ARCHIVE_MAX)
		return -EFBIG;
	write_pickled_tensor(&pickle, c);
	add_archive_member(&a, "archive/data.pkl", pickle.buf, pickle.n, false);
	add_archive_member(&a, "archive/byteorder", "little", 6, false);
	add_archive_member(&a, "archive/data/0", tensor_copy_data(c), c->bytes,
		get_dump_keys(cfg)->dump_deflate);
	add_archive_member(&a, "archive/version", "3\n", 2, false);
	close_archive(&a);
	return a.err;
}

/* ---- .npy ---- */

static bool is_in_order(const struct tensor_copy *c)
{
	const uint64_t *size = tensor_copy_dims(c), *stride = size + c->ndim;
	uint64_t want = 1;

	for (unsigned i = c->ndim; i-- > 0; want *= size[i])
		if (size[i] != 1 && stride[i] != want)
			return false;
	return true;
}

struct npy_out {
	int fd, err;
	bool widen; /* bfloat16 is widened */
	size_t size, used;
	unsigned char buf[CHUNK];
};

static void write_out_npy(struct npy_out *o)
{
	if (!o->err && o->used)
		o->err = io_write_all(o->fd, o->buf, o->used);
	o->used = 0;
}

static void write_npy_elements(struct npy_out *o, const unsigned char *p, uint64_t n)
{
	for (; n; n--, p += o->size) {
		if (o->used + 16 > sizeof(o->buf))
			write_out_npy(o);
		if (o->widen) {
			memset(o->buf + o->used, 0, 2);
			memcpy(o->buf + o->used + 2, p, 2);
			o->used += 4;
		} else {
			memcpy(o->buf + o->used, p, o->size);
			o->used += o->size;
		}
	}
}

/* Writes element by element, in the order of the dimensions. */
static void put_npy_strided(struct npy_out *o, const struct tensor_copy *c)
{
	const uint64_t *size = tensor_copy_dims(c), *stride = size + c->ndim;
	uint64_t index[TENSOR_POOL_DIMS] = {0}, at = 0;
	const unsigned char *data = tensor_copy_data(c);

	for (uint64_t n = c->count; n && !o->err; n--) {
		write_npy_elements(o, data + at * o->size, 1);
		for (unsigned d = c->ndim; d-- > 0;) {
			at += stride[d];
			if (++index[d] < size[d])
				break;
			at -= index[d] * stride[d];
			index[d] = 0;
		}
	}
}

static void write_npy_bits(struct npy_out *o, const struct tensor_copy *c)
{
	const unsigned char *bits = tensor_copy_data(c);

	for (uint64_t i = 0; i < c->count && !o->err; i++) {
		unsigned char one = bits[i / 8] >> i % 8 & 1;

		write_npy_elements(o, &one, 1);
	}
}

static int write_npy(int fd, const struct tensor_copy *c)
{
	struct npy_out *o = malloc(sizeof(*o));
	const uint64_t *size = tensor_copy_dims(c);
	char head[2048];
	int n, err;

	if (!o)
		return -ENOMEM;
	o->fd = fd;
	o->err = 0;
	o->used = 0;
	o->size = get_dtype_info(c->dtype)->size;
	o->widen = c->dtype == DT_BFLOAT16;
	n = snprintf(head, sizeof(head), "{'descr': '%s', 'fortran_order': False, 'shape': (",
		file_types[c->dtype].npy);
	for (unsigned i = 0; i < c->ndim; i++)
		n += snprintf(head + n, sizeof(head) - (size_t)n, "%llu,%s",
			(unsigned long long)size[i], i + 1 < c->ndim ? " " : "");
	n += snprintf(head + n, sizeof(head) - (size_t)n, "), }");
	/* The data must begin at a multiple of 64. */
	while ((n + 11) % 64)
		head[n++] = ' ';
	head[n++] = '\n';

	struct bytes b = {.n = 0};

	write_file_bytes(&b, "\x93NUMPY\x01", 8);
	write_file_number(&b, (uint64_t)n, 2);
	write_file_bytes(&b, head, (size_t)n);
	o->err = io_write_all(fd, b.buf, b.n);
	if (c->bits)
		write_npy_bits(o, c);
	else if (is_in_order(c) && !o->widen)
		o->err = o->err ? o->err : io_write_all(fd, tensor_copy_data(c), c->bytes);
	else if (is_in_order(c))
		write_npy_elements(o, tensor_copy_data(c), c->count);
	else
		put_npy_strided(o, c);
	write_out_npy(o);
	err = o->err;
	free(o);
	return err;
}

int dump_file_write(
	int dirfd, const char *name, const struct config *cfg, const struct tensor_copy *c)
{
	char part[NAME_MAX + 1];
	int fd, err;

	/*
	 * The file is written under another name and then renamed, so that a file with this name
	 * is always complete, even if the process is killed.
	 */
	if ((size_t)snprintf(part, sizeof(part), ".%s", name) >= sizeof(part))
		return -ENAMETOOLONG;
	fd = io_create_file(dirfd, part);
	if (fd < 0)
		return fd;
	err = get_dump_keys(cfg)->file_format == FILE_FORMAT_NPY ? write_npy(fd, c)
								 : write_pt(fd, cfg, c);
	if (close(fd) < 0 && !err)
		err = -errno;
	if (!err && renameat(dirfd, part, dirfd, name) < 0)
		err = -errno;
	if (err)
		unlinkat(dirfd, part, 0);
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats: .npy (numpy/lib/format.py), safetensors (its README), and the zip files of torch.save():
 * data.pkl with the structure, a member data/<key> for each storage.
 */
#include "tools/probe/compare/arrays/array_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/lib/files/json_read.h"
#include "tools/lib/tool.h"
#include "tools/lib/files/unpickle.h"
#include "tools/lib/files/zip_read.h"

#define HEADER_MAX ((size_t)100 << 20) /* as safetensors itself allows */
#define PICKLE_MAX ((size_t)1 << 30)
#define WALK_DEPTH 64
#define WALK_MAX (1u << 24)

/* ---- types ---- */

static const struct {
	const char *safetensors, *storage, *torch, *npy;
	enum dtype dtype;
} types[] = {
	{"BOOL", "BoolStorage", "bool", "b1", DT_BOOL},
	{"U8", "ByteStorage", "uint8", "u1", DT_UINT8},
	{"I8", "CharStorage", "int8", "i1", DT_INT8},
	{"I16", "ShortStorage", "int16", "i2", DT_INT16},
	{"U16", "", "uint16", "u2", DT_UINT16},
	{"I32", "IntStorage", "int32", "i4", DT_INT32},
	{"U32", "", "uint32", "u4", DT_UINT32},
	{"I64", "LongStorage", "int64", "i8", DT_INT64},
	{"U64", "", "uint64", "u8", DT_UINT64},
	{"F8_E4M3", "", "float8_e4m3fn", "", DT_FLOAT8_E4M3FN},
	{"F8_E5M2", "", "float8_e5m2", "", DT_FLOAT8_E5M2},
	{"F8_E8M0", "", "float8_e8m0fnu", "", DT_FLOAT8_E8M0FNU},
	{"F8_E4M3FNUZ", "", "float8_e4m3fnuz", "", DT_FLOAT8_E4M3FNUZ},
	{"F8_E5M2FNUZ", "", "float8_e5m2fnuz", "", DT_FLOAT8_E5M2FNUZ},
	{"BF16", "BFloat16Storage", "bfloat16", "", DT_BFLOAT16},
	{"F16", "HalfStorage", "float16", "f2", DT_FLOAT16},
	{"F32", "FloatStorage", "float32", "f4", DT_FLOAT32},
	{"F64", "DoubleStorage", "float64", "f8", DT_FLOAT64},
	{"C64", "ComplexFloatStorage", "complex64", "c8", DT_COMPLEX64},
	{"", "ComplexDoubleStorage", "complex128", "c16", DT_COMPLEX128},
};
#define TYPES (sizeof(types) / sizeof(*types))

static double read_float16(uint16_t bits)
{
	int exponent = bits >> 10 & 31;
	double v = bits & 1023;

	v = exponent == 31 ? (v != 0 ? NAN : INFINITY)
	    : exponent	   ? ldexp(1024 + v, exponent - 25)
			   : ldexp(v, -24);
	return bits & 0x8000 ? -v : v;
}

/*
 * OCP 8-bit floating point: E4M3 has no infinities and one NaN of each sign; E5M2 is half of a
 * float16; E8M0 is a power of two. In the FNUZ types each exponent stands for half the value, and
 * only -0 is NaN.
 */
static double read_float8(uint8_t bits, enum dtype dt)
{
	int exponent = bits >> 3 & 15;
	double v = bits & 7;

	if (dt == DT_FLOAT8_E5M2)
		return read_float16((uint16_t)(bits << 8));
	if (dt == DT_FLOAT8_E8M0FNU)
		return bits == 255 ? NAN : ldexp(1, bits - 127);
	if (dt == DT_FLOAT8_E4M3FNUZ || dt == DT_FLOAT8_E5M2FNUZ) {
		int mant = dt == DT_FLOAT8_E4M3FNUZ ? 3 : 2, bias = 1 << (6 - mant),
		    one = 1 << mant;

		exponent = (bits & 127) >> mant;
		v = bits & (one - 1);
		v = bits == 128 ? NAN
		    : exponent	? ldexp(one + v, exponent - bias - mant)
				: ldexp(v, 1 - bias - mant);
		return bits & 128 ? -v : v;
	}
	v = (bits & 127) == 127 ? NAN : exponent ? ldexp(8 + v, exponent - 10) : ldexp(v, -9);
	return bits & 128 ? -v : v;
}

/*
 * Returns the absolute value of a complex number. hypot() is not used, because it has another
 * symbol version since glibc 2.35. A long double can hold the squares.
 */
static double compute_modulus(double re, double im)
{
	if (isinf(re) || isinf(im))
		return INFINITY;
	return (double)sqrtl((long double)re * re + (long double)im * im);
}

#define CONVERT(type)                                     \
	for (unsigned i = 0; i < n; i++) {                \
		type v;                                   \
                                                          \
		memcpy(&v, p + i * sizeof(v), sizeof(v)); \
		out[i] = (double)v;                       \
	}                                                 \
	break

void read_elements_as_double(double *out, const void *bytes, enum dtype dt, unsigned n)
{
	const unsigned char *p = bytes;

	switch (dt) {
	case DT_BOOL:
		for (unsigned i = 0; i < n; i++)
			out[i] = p[i] != 0;
		break;
	case DT_INT8:
		CONVERT(int8_t);
	case DT_INT16:
		CONVERT(int16_t);
	case DT_INT32:
		CONVERT(int32_t);
	case DT_INT64:
		CONVERT(int64_t);
	case DT_UINT8:
		CONVERT(uint8_t);
	case DT_UINT16:
		CONVERT(uint16_t);
	case DT_UINT32:
		CONVERT(uint32_t);
	case DT_UINT64:
		CONVERT(uint64_t);
	case DT_FLOAT32:
		CONVERT(float);
	case DT_FLOAT64:
		CONVERT(double);
	case DT_FLOAT8_E4M3FN:
	case DT_FLOAT8_E5M2:
	case DT_FLOAT8_E8M0FNU:
	case DT_FLOAT8_E4M3FNUZ:
	case DT_FLOAT8_E5M2FNUZ:
		for (unsigned i = 0; i < n; i++)
			out[i] = read_float8(p[i], dt);
		break;
	case DT_FLOAT16:
		for (unsigned i = 0; i < n; i++)
			out[i] = read_float16((uint16_t)(p[2 * i] | p[2 * i + 1] << 8));
		break;
	case DT_BFLOAT16:
		for (unsigned i = 0; i < n; i++) {
			uint32_t w = (uint32_t)p[2 * i] << 16 | (uint32_t)p[2 * i + 1] << 24;
			float v;

			memcpy(&v, &w, 4);
			out[i] = v;
		}
		break;
	case DT_COMPLEX64:
		for (unsigned i = 0; i < n; i++) {
			float v[2];

			memcpy(v, p + 8 * i, 8);
			out[i] = compute_modulus(v[0], v[1]);
		}
		break;
	case DT_COMPLEX128:
		for (unsigned i = 0; i < n; i++) {
			double v[2];

			memcpy(v, p + 16 * i, 16);
			out[i] = compute_modulus(v[0], v[1]);
		}
		break;
	default:
		memset(out, 0, n * sizeof(*out));
	}
}

static uint64_t get_array_file_size(const struct array_file *f)
{
	struct stat st;

	return fstat(f->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static char *read_file_part(const struct array_file *f, uint64_t offset, size_t n)
{
	char *buf = tool_alloc(n + 1);
	size_t have = 0;

	while (have < n) {
		ssize_t k = pread(f->fd, buf + have, n - have, (off_t)(offset + have));

		if (k <= 0)
			break;
		have += (size_t)k;
	}
	if (have == n)
		return buf;
	free(buf);
	return NULL;
}

/* ---- .npy ---- */

/* Parses "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }". */
static const char *parse_npy_header(struct array_file *f, const char *s, uint64_t offset)
{
	const char *descr = strstr(s, "'descr'"), *order = strstr(s, "'fortran_order'");
	const char *shape = strstr(s, "'shape'"), *p;
	int64_t dim[ARRAY_DIMS_MAX], stride[ARRAY_DIMS_MAX], step = 1;
	bool fortran = order && strstr(order, "True") && strstr(order, "True") < order + 24;
	struct array *a;
	unsigned n = 0, i;
	char *end;

	if (!descr || !shape || !(p = strchr(descr + 7, '\'')) || !(shape = strchr(shape, '(')))
		return "is not an .npy file";
	if (p[1] == '>')
		return "has big-endian numbers";
	p += 2;
	for (i = 0; i < TYPES; i++)
		if (*types[i].npy && strncmp(p, types[i].npy, strlen(types[i].npy)) == 0 &&
			p[strlen(types[i].npy)] == '\'')
			break;
	if (i == TYPES)
		return "has elements of an unsupported type";
	for (p = shape + 1; *p && *p != ')' && n < ARRAY_DIMS_MAX; n++) {
		dim[n] = strtoll(p, &end, 10);
		if (end == p)
			break;
		p = end + strspn(end, ", ");
	}
	if (*p != ')')
		return "has a wrong shape";
	for (unsigned k = 0; k < n; k++) {
		stride[k] = step;
		if (__builtin_mul_overflow(step, dim[k] > 0 ? dim[k] : 1, &step))
			return "has a wrong shape";
	}
	a = add_array(f, "");
	a->dtype = types[i].dtype;
	a->at = offset;
	a->end = get_array_file_size(f);
	return set_array_shape(a, dim, fortran ? stride : NULL, n) ? NULL : "is truncated";
}

const char *add_npy_arrays(struct array_file *f)
{
	unsigned char head[12];
	const char *why;
	size_t n, at;
	char *text;

	if (pread(f->fd, head, sizeof(head), 0) != (ssize_t)sizeof(head))
		return "is truncated";
	at = head[6] == 1 ? 10 : 12;
	n = head[8] | (size_t)head[9] << 8;
	if (head[6] > 1)
		n |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
	text = n <= HEADER_MAX ? read_file_part(f, at, n) : NULL;
	if (!text)
		return "is truncated";
	why = parse_npy_header(f, text, at + n);
	free(text);
	return why;
}

/* ---- safetensors ---- */

static const char *add_safetensor(
	struct array_file *f, const char *name, const struct json_node *v, uint64_t data)
{
	const char *type = json_get_text(json_get_member(v, "dtype"));
	const struct json_node *shape = json_get_member(v, "shape"),
			       *offsets = json_get_member(v, "data_offsets");
	int64_t dim[ARRAY_DIMS_MAX];
	double at[2] = {0, 0}, d;
	struct array *a;
	unsigned n = 0, i;

	if (!type || !shape || shape->kind != JSON_LIST || !offsets || offsets->n != 2 ||
		offsets->kind != JSON_LIST || shape->n > ARRAY_DIMS_MAX ||
		!json_get_number(offsets->child, &at[0]) ||
		!json_get_number(offsets->child->next, &at[1]))
		return "a tensor in its header lacks dtype, shape or data_offsets";
	for (const struct json_node *c = shape->child; c; c = c->next) {
		if (!json_get_number(c, &d) || !(d >= 0 && d < 9e15))
			return "has a wrong shape";
		dim[n++] = (int64_t)d;
	}
	for (i = 0; i < TYPES && strcmp(types[i].safetensors, type) != 0; i++)
		;
	if (i == TYPES)
		return "has elements of an unsupported type";
	if (!(at[0] >= 0 && at[1] >= at[0] && at[1] < 9e15))
		return "has wrong offsets";
	a = add_array(f, name);
	a->dtype = types[i].dtype;
	a->at = data + (uint64_t)at[0];
	a->end = data + (uint64_t)at[1];
	if (a->end > get_array_file_size(f))
		return "is truncated";
	return set_array_shape(a, dim, NULL, n) ? NULL : "has wrong offsets";
}

static const char *read_safetensors_header(
	struct array_file *f, struct json_in *j, struct json_tree *t, uint64_t n)
{
	const struct json_node *top = json_read_tree(j, t, json_read_token(j));
	const char *why = NULL;

	if (!top || top->kind != JSON_OBJECT)
		return "is not an .npy file, a zip file of torch.save() or a safetensors file";
	for (const struct json_node *c = top->child; c && !why; c = c->next->next)
		if (strcmp(c->text, "__metadata__") != 0)
			why = add_safetensor(f, c->text, c->next, 8 + n);
	return why;
}

const char *add_safetensors_arrays(struct array_file *f)
{
	unsigned char head[8];
	struct json_in j = {.src.fd = -1};
	struct json_tree t = {.max = 8 * HEADER_MAX};
	const char *why = "is not an .npy file, a zip file of torch.save() or a safetensors file";
	uint64_t n = 0;

	if (pread(f->fd, head, sizeof(head), 0) != (ssize_t)sizeof(head))
		return why;
	for (unsigned i = 0; i < 8; i++)
		n |= (uint64_t)head[i] << 8 * i;
	if (n < 2 || n > HEADER_MAX || n > get_array_file_size(f) || json_open(&j, f->path) ||
		json_set_position(&j, 8)) {
		json_close(&j);
		return why;
	}
	why = read_safetensors_header(f, &j, &t, n);
	json_close(&j);
	json_tree_free(&t);
	return why;
}

/* ---- torch.save() ---- */

struct torch_file {
	struct array_file *f;
	struct zip zip;
	char *top; /* "archive/" */
	unsigned visited;
	const char *why;
};

static const struct pickled *get_tuple_item(const struct pickled *t, unsigned i)
{
	return t && t->kind == PICKLED_TUPLE && i < t->n ? t->item[i] : NULL;
}

static bool is_pickled_function(const struct pickled *v, const char *name)
{
	const char *space = v && v->kind == PICKLED_GLOBAL ? strchr(v->text, ' ') : NULL;

	return space && strcmp(space + 1, name) == 0;
}

/* Parses ('storage', torch.FloatStorage, '0', 'cpu', 12). */
static bool set_torch_storage(struct torch_file *t, struct array *a, const struct pickled *storage,
	const struct pickled *dtype)
{
	const struct pickled *id =
		storage && storage->kind == PICKLED_STORED ? storage->args : NULL;
	const struct pickled *type = get_tuple_item(id, 1), *key = get_tuple_item(id, 2);
	const struct zip_member *m;
	const char *word;
	uint64_t at;
	char *name;
	unsigned i;

	if (!type || type->kind != PICKLED_GLOBAL || !key || key->kind != PICKLED_TEXT)
		return false;
	if (dtype && dtype->kind == PICKLED_GLOBAL)
		type = dtype;
	word = strchr(type->text, ' ') + 1;
	for (i = 0; i < TYPES; i++)
		if (strcmp(type == dtype ? types[i].torch : types[i].storage, word) == 0)
			break;
	if (i == TYPES) {
		t->why = "has elements of an unsupported type";
		return false;
	}
	name = tool_format("%sdata/%s", t->top, key->text);
	m = zip_find(&t->zip, name);
	free(name);
	if (!m || zip_find_data(&t->zip, m, &at)) {
		t->why = "a storage is missing in it";
		return false;
	}
	a->dtype = types[i].dtype;
	a->deflated = m->deflated;
	a->packed_at = at;
	a->packed = m->packed;
	a->at = m->deflated ? 0 : at;
	a->end = a->at + m->bytes;
	return true;
}

static bool read_pickled_sizes(const struct pickled *v, int64_t *out, unsigned *n)
{
	/* torch.Size((4, 3)) is a call. */
	if (v && v->kind == PICKLED_CALL)
		v = get_tuple_item(v->args, 0);
	if (!v || v->kind != PICKLED_TUPLE || v->n > ARRAY_DIMS_MAX)
		return false;
	for (unsigned i = 0; i < v->n; i++) {
		if (v->item[i]->kind != PICKLED_INT)
			return false;
		out[i] = v->item[i]->i;
	}
	*n = v->n;
	return true;
}

/*
 * Adds a tensor from _rebuild_tensor_v2(storage, offset, size, stride, ...). In _rebuild_tensor_v3,
 * the type follows these.
 */
static void add_torch_tensor(
	struct torch_file *t, const char *name, const struct pickled *args, bool typed)
{
	const struct pickled *offset = get_tuple_item(args, 1);
	int64_t size[ARRAY_DIMS_MAX], stride[ARRAY_DIMS_MAX];
	unsigned n, k;
	struct array a = {0};

	if (!offset || offset->kind != PICKLED_INT || offset->i < 0 ||
		!read_pickled_sizes(get_tuple_item(args, 2), size, &n) ||
		!read_pickled_sizes(get_tuple_item(args, 3), stride, &k) || n != k ||
		!set_torch_storage(
			t, &a, get_tuple_item(args, 0), typed ? get_tuple_item(args, 6) : NULL))
		return;
	if (__builtin_add_overflow(
		    a.at, (uint64_t)offset->i * get_dtype_info(a.dtype)->size, &a.at) ||
		!set_array_shape(&a, size, stride, n)) {
		t->why = "a tensor exceeds its storage";
		return;
	}
	a.name = add_array(t->f, name)->name;
	t->f->array[t->f->n - 1] = a;
}

static void add_torch_value(
	struct torch_file *t, const char *name, const struct pickled *v, unsigned depth);

static void add_torch_items(
	struct torch_file *t, const char *name, const struct pickled *v, unsigned depth, bool pairs)
{
	for (unsigned i = 0; i + pairs < v->n; i += 1 + pairs) {
		const struct pickled *key = pairs ? v->item[i] : NULL;
		char number[24], *path;

		snprintf(number, sizeof(number), "%lld",
			pairs && key->kind == PICKLED_INT ? (long long)key->i : (long long)i);
		path = tool_format("%s%s%s", name, *name ? "." : "",
			pairs && key->kind == PICKLED_TEXT ? key->text : number);
		add_torch_value(t, path, v->item[i + pairs], depth + 1);
		free(path);
	}
}

static void add_torch_value(
	struct torch_file *t, const char *name, const struct pickled *v, unsigned depth)
{
	if (!v || depth > WALK_DEPTH || ++t->visited > WALK_MAX)
		return;
	if (v->kind == PICKLED_CALL) {
		if (is_pickled_function(v->call, "_rebuild_tensor_v2") ||
			is_pickled_function(v->call, "_rebuild_tensor"))
			add_torch_tensor(t, name, v->args, false);
		else if (is_pickled_function(v->call, "_rebuild_tensor_v3"))
			add_torch_tensor(t, name, v->args, true);
		else if (is_pickled_function(v->call, "_rebuild_parameter") ||
			 is_pickled_function(v->call, "_rebuild_parameter_with_state"))
			add_torch_value(t, name, get_tuple_item(v->args, 0), depth + 1);
		else if (is_pickled_function(v->call, "_rebuild_from_type_v2"))
			add_torch_value(t, name, get_tuple_item(v->args, 2), depth + 1);
		else if (v->state)
			add_torch_value(t, name, v->state, depth + 1);
		if (v->n)
			add_torch_items(t, name, v, depth, true);
	} else if (v->kind == PICKLED_DICT) {
		add_torch_items(t, name, v, depth, true);
	} else if (v->kind == PICKLED_LIST || v->kind == PICKLED_TUPLE) {
		add_torch_items(t, name, v, depth, false);
	}
}

const char *add_torch_arrays(struct array_file *f)
{
	struct torch_file t = {.f = f};
	const struct zip_member *pkl = NULL;
	struct unpickler u = {0};
	const struct pickled *top;
	const char *why = zip_read_directory(&t.zip, f->fd);
	char *bytes = NULL;

	for (unsigned i = 0; !why && i < t.zip.n && !pkl; i++) {
		size_t n = strlen(t.zip.member[i].name);

		if (n >= 8 && strcmp(t.zip.member[i].name + n - 8, "data.pkl") == 0)
			pkl = &t.zip.member[i];
	}
	if (!why && !pkl)
		why = "is a zip file, but not of torch.save()";
	if (!why)
		bytes = zip_load(&t.zip, pkl, PICKLE_MAX, &why);
	if (bytes) {
		t.top = tool_strndup(pkl->name, strlen(pkl->name) - 8);
		top = read_pickle(&u, bytes, (size_t)pkl->bytes);
		if (top)
			add_torch_value(&t, "", top, 0);
		why = top ? t.why : u.why;
		free_pickle(&u);
	}
	free(bytes);
	free(t.top);
	zip_free(&t.zip);
	return why;
}

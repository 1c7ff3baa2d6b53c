/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/tensors/optype.h"

#include <string.h>

#include "wrappers/cxx/cxx_types.h"

/* ---- the types ---- */

static const uint8_t two_words[] = {CT_U64, CT_U64}, list[] = {CT_P, CT_U64},
		     list_opt[] = {CT_P, CT_U64, CT_U8}, opt_byte[] = {CT_U8, CT_U8},
		     opt_device[] = {CT_I8, CT_I8, CT_U8}, opt_long[] = {CT_U64, CT_U8},
		     opt_double[] = {CT_F64, CT_U8}, three_bytes[] = {CT_U8, CT_U8, CT_U8},
		     four_bytes[] = {CT_U8, CT_U8, CT_U8, CT_U8};
static const struct api_struct s_list = {16, 8, 2, list}, s_list_opt = {24, 8, 3, list_opt},
			       s_opt_byte = {2, 1, 2, opt_byte},
			       s_opt_device = {3, 1, 3, opt_device},
			       s_opt_long = {16, 8, 2, opt_long},
			       s_opt_double = {16, 8, 2, opt_double},
			       s_three = {3, 1, 3, three_bytes}, s_four = {4, 1, 4, four_bytes},
			       s_words = {16, 8, 2, two_words};

static const struct cxx_class known_types[] = {
	{"at::Tensor const&", CT_P, OP_TENSOR, NULL},
	{"at::Tensor&", CT_P, OP_TENSOR_OUT, NULL},
	{"std::optional<at::Tensor> const&", CT_P, OP_OPTIONAL, NULL},
	{"c10::ArrayRef<at::Tensor>", CT_STRUCT, OP_LIST, &s_list},
	{"c10::IListRef<at::Tensor> const&", CT_P, OP_ILIST, NULL},
	{"c10::List<std::optional<at::Tensor>> const&", CT_P, OP_OPTIONAL_LIST, NULL},
	{"long", CT_I64, OP_PLAIN, NULL},
	{"double", CT_F64, OP_PLAIN, NULL},
	{"bool", CT_U8, OP_PLAIN, NULL},
	{"int8", CT_I8, OP_PLAIN, NULL},
	{"c10::Stream", CT_STRUCT, OP_PLAIN, &s_words},
	{"c10::DispatchKeySet", CT_U64, OP_PLAIN, NULL},
	{"c10::ScalarType", CT_I8, OP_PLAIN, NULL},
	{"c10::Layout", CT_I8, OP_PLAIN, NULL},
	{"c10::MemoryFormat", CT_I8, OP_PLAIN, NULL},
	{"c10::Device", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"std::optional<bool>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"std::optional<c10::ScalarType>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"std::optional<c10::Layout>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"std::optional<c10::MemoryFormat>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"std::optional<c10::Device>", CT_STRUCT, OP_PLAIN, &s_opt_device},
	{"std::optional<long>", CT_STRUCT, OP_PLAIN, &s_opt_long},
	{"std::optional<double>", CT_STRUCT, OP_PLAIN, &s_opt_double},
	{"c10::OptionalArrayRef<*", CT_STRUCT, OP_PLAIN, &s_list_opt},
	{"std::optional<c10::ArrayRef<*", CT_STRUCT, OP_PLAIN, &s_list_opt},
	{"std::optional<std::basic_string_view<*", CT_STRUCT, OP_PLAIN, &s_list_opt},
	{"c10::ArrayRef<*", CT_STRUCT, OP_PLAIN, &s_list},
	{"std::basic_string_view<*", CT_STRUCT, OP_PLAIN, &s_words},
	{"std::array<bool,2>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"std::array<bool,3>", CT_STRUCT, OP_PLAIN, &s_three},
	{"std::array<bool,4>", CT_STRUCT, OP_PLAIN, &s_four},
	/* Objects with a destructor are passed by pointer to the caller's object. */
	{"c10::SymInt", CT_P, OP_PLAIN, NULL},
	{"std::optional<c10::SymInt>", CT_P, OP_PLAIN, NULL},
	{"std::optional<at::Generator>", CT_P, OP_PLAIN, NULL},
	{"c10::Storage", CT_P, OP_PLAIN, NULL},
	{"at::Storage", CT_P, OP_PLAIN, NULL},
};

/*
 * 1.13 had its own c10::optional (c10/util/Optional.h): a flag comes first, and the value is in a
 * union with a byte. So an optional double is passed in general registers, not in a
 * floating-point one: the System V ABI merges the classes of a union's members. An optional array
 * has no flag, but a special length for "none". An optional text has user-written copy
 * constructors, so it is passed by pointer. This is how g++ 12 compiles the headers, and how
 * libtorch_cpu reads the arguments.
 */
static const struct cxx_class types_1_13[] = {
	{"c10::optional<at::Tensor> const&", CT_P, OP_OPTIONAL_1_13, NULL},
	{"c10::List<c10::optional<at::Tensor>> const&", CT_P, OP_OPTIONAL_LIST, NULL},
	{"c10::optional<bool>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"c10::optional<c10::ScalarType>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"c10::optional<c10::Layout>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"c10::optional<c10::MemoryFormat>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"c10::optional<c10::Device>", CT_STRUCT, OP_PLAIN, &s_opt_device},
	{"c10::optional<long>", CT_STRUCT, OP_PLAIN, &s_words},
	{"c10::optional<double>", CT_STRUCT, OP_PLAIN, &s_words},
	{"c10::OptionalArrayRef<*", CT_STRUCT, OP_PLAIN, &s_list},
	{"c10::optional<c10::ArrayRef<*", CT_STRUCT, OP_PLAIN, &s_list},
	{"c10::basic_string_view<char>", CT_STRUCT, OP_PLAIN, &s_words},
	{"c10::optional<c10::basic_string_view<char>>", CT_P, OP_PLAIN, NULL},
	{"c10::optional<c10::SymInt>", CT_P, OP_PLAIN, NULL},
	{"c10::optional<at::Generator>", CT_P, OP_PLAIN, NULL},
};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const struct cxx_class *find_known_type(const char *text, bool is_1_13)
{
	static const struct cxx_class reference = {"&", CT_P, OP_PLAIN, NULL};
	size_t len = strlen(text);
	const struct cxx_class *k =
		is_1_13 ? cxx_class_find(types_1_13, COUNT(types_1_13), text) : NULL;

	if (!k)
		k = cxx_class_find(known_types, COUNT(known_types), text);
	return k ? k : len && text[len - 1] == '&' ? &reference : NULL;
}

struct op_reader {
	struct op_type *t;
	bool is_1_13;
};

static bool add_op_parameter(const char *type, void *arg)
{
	struct op_reader *r = arg;
	struct op_type *t = r->t;
	const struct cxx_class *k = find_known_type(type, r->is_1_13);

	if (!k || t->nargs == API_ARGS_MAX)
		return false;
	t->ctype[t->nargs] = k->ctype;
	t->arg[t->nargs] = k->arg;
	t->members[t->nargs++] = k->members;
	return true;
}

bool parse_op_params(const char *symbol, bool is_1_13, struct op_type *t)
{
	struct op_reader r = {t, is_1_13};

	t->nargs = 0;
	return strncmp(symbol, "_ZN2at4_ops", 11) == 0 &&
	       cxx_handle_parameters(symbol, add_op_parameter, &r);
}

/* ---- results ---- */

static bool is_word_equal(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(s, word, n) == 0;
}

/* Parses one result; names of results and aliasing marks do not matter. */
static bool parse_tensor_result(const char *s, size_t n, bool *written, bool *listed)
{
	if (n < 6 || memcmp(s, "Tensor", 6) != 0)
		return false;
	*written = memchr(s, '!', n) != NULL;
	*listed = n >= 2 && s[n - 2] == '[' && s[n - 1] == ']';
	return s[6] != '?';
}

bool parse_op_result(const char *schema, struct op_type *t)
{
	const char *s = strstr(schema, ") -> ");
	bool written = false, listed = false, all = true, any = false;
	size_t n;

	if (!s)
		return false;
	s += 5;
	n = strlen(s);
	t->ret = CT_VOID;
	t->hidden = false;
	t->result = OP_NOTHING;
	t->nresult = 0;
	if (is_word_equal(s, n, "()"))
		return true;
	if (*s != '(' && parse_tensor_result(s, n, &written, &listed)) {
		t->hidden = listed || !written;
		t->ret = t->hidden ? CT_VOID : CT_P;
		t->result = listed ? OP_NEW_LIST : written ? OP_REFERENCE : OP_NEW;
		t->nresult = 1;
		return true;
	}
	if (*s != '(') {
		static const struct {
			const char *name;
			uint8_t ret; /* CT_STRUCT: an object */
		} others[] = {{"bool", CT_U8}, {"int", CT_I64}, {"float", CT_F64},
			{"Scalar", CT_STRUCT}, {"SymInt", CT_STRUCT}, {"SymInt[]", CT_STRUCT},
			{"ScalarType", CT_I8}, {"QScheme", CT_U8}};

		for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
			if (is_word_equal(s, n, others[i].name)) {
				t->hidden = others[i].ret == CT_STRUCT;
				t->ret = t->hidden ? CT_VOID : others[i].ret;
				return true;
			}
		return false;
	}
	/* A tuple is always returned in memory, at a hidden address. Its elements are recorded only if all are tensors. */
	t->hidden = true;
	for (s++; *s;) {
		int depth = 0;
		const char *e = s, *blank = NULL;

		for (; *e && (depth || (*e != ',' && *e != ')')); e++) {
			depth += *e == '(' ? 1 : *e == ')' ? -1 : 0;
			if (!depth && *e == ' ' && !blank)
				blank = e;
		}
		all &= parse_tensor_result(
			       s, (size_t)((blank ? blank : e) - s), &written, &listed) &&
		       !listed;
		any |= written;
		t->nresult++;
		if (*e != ',')
			break;
		for (s = e + 1; *s == ' '; s++)
			;
	}
	t->result = !all ? OP_NOTHING : any ? OP_TUPLE_REFERENCE : OP_TUPLE;
	return true;
}

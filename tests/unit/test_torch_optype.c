/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How operators are called: mangled names as they stand in libtorch 2.13 and 1.13 (readelf), with the parameters that
 * c++filt shows, and schemas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wrappers/torch/tensors/nodetype.c"
#include "wrappers/cxx/cxx_types.c"
#include "wrappers/torch/tensors/optype.c"

#define OPS "_ZN2at4_ops"

/*
 * One letter for each parameter: T tensor, O tensor written, o optional tensor, n one of
 * 1.13, L list of tensors, I list by reference,
 * Q list of optional tensors, l long, d double, b bool, k key set, e enum of a byte, p another pointer, and structs by
 * their size: 2, 3, 4, s (16 bytes), S (24 bytes on the stack).
 */
static bool is_1_13; /* of the library that the names come from */

static char letter(const struct op_type *t, unsigned i)
{
	static const char by_arg[] = {0, 'T', 'O', 'o', 'n', 'L', 'I', 'Q'};

	if (t->arg[i])
		return by_arg[t->arg[i]];
	switch (t->ctype[i]) {
	case CT_I64:
		return 'l';
	case CT_F64:
		return 'd';
	case CT_U8:
		return 'b';
	case CT_U64:
		return 'k';
	case CT_I8:
		return 'e';
	case CT_P:
		return 'p';
	}
	switch (t->members[i]->size) {
	case 16:
		return 's';
	case 24:
		return 'S';
	default:
		return (char)('0' + t->members[i]->size);
	}
}

static void check(const char *symbol, const char *want)
{
	struct op_type t;
	char have[API_ARGS_MAX + 1] = "";

	if (!parse_op_params(symbol, is_1_13, &t)) {
		assert_null(want);
		return;
	}
	for (unsigned i = 0; i < t.nargs; i++)
		have[i] = letter(&t, i);
	have[t.nargs] = 0;
	assert_non_null(want);
	assert_string_equal(have, want);
}

static void test_params(void **state)
{
	(void)state;
	check(OPS "10add_Tensor4callERKNS_6TensorES4_RKN3c106ScalarE", "TTp");
	check(OPS "10add_Tensor10redispatchEN3c1014DispatchKeySetERKNS_6TensorES6_RKNS2_6ScalarE",
		"kTTp");
	check(OPS "10index_put_4callERNS_6TensorERKN3c104ListISt8optionalIS2_EEERKS2_b", "OQTb");
	check(OPS "11convolution4callERKNS_6TensorES4_RKSt8optionalIS2_EN3c108ArrayRefINS9_"
		  "6SymIntEEESC_SC_bSC_SB_",
		"TTosssbsp");
	check(OPS "3cat4callERKN3c108IListRefINS_6TensorEEEl", "Il");
	check(OPS "6linear10redispatchEN3c1014DispatchKeySetERKNS_6TensorES6_RKSt8optionalIS4_E",
		"kTTo");
	check(OPS "18_amp_update_scale_4callERNS_6TensorES3_RKS2_ddl", "OOTddl");
	check(OPS "19_cudnn_rnn_backward4callERKNS_6TensorEN3c108ArrayRefIS2_EElS4_S4_"
		  "RKSt8optionalIS2_ES4_SB_SB_SB_"
		  "lNS5_6SymIntESC_lbdbbNS6_ISC_EESB_S4_St5arrayIbLm4EE",
		"TLlTToTooolpplbdbbsoT4");
	/* More than there is room for. */
	check(OPS "4test4call"
		  "lllllllllllllllllllllllll",
		NULL);
	check(OPS "23_cufft_clear_plan_cache4callEa", "e");
	check(OPS "13record_stream4callERNS_6TensorEN3c106StreamE", "Os");
}

static void test_params_by_value(void **state)
{
	(void)state;
	/* sum.dim_IntList: OptionalArrayRef, bool, optional<ScalarType> */
	check(OPS "15sum_dim_IntList4callERKNS_6TensorEN3c1016OptionalArrayRefIlEEbSt8optionalINS5_"
		  "10ScalarTypeEE",
		"TSb2");
	/* empty.memory_format: optional ScalarType, Layout, Device, bool, MemoryFormat */
	check(OPS "19empty_memory_format4callEN3c108ArrayRefINS2_6SymIntEEESt8optionalINS2_"
		  "10ScalarTypeEES6_INS2_6LayoutEES6_"
		  "INS2_6DeviceEES6_IbES6_INS2_12MemoryFormatEE",
		"s22322");
	check(OPS "4gelu4callERKNS_6TensorESt17basic_string_viewIcSt11char_traitsIcEE", "Ts");
	check(OPS "9bernoulli4callERKNS_6TensorESt8optionalINS_9GeneratorEE", "Tp");
	check(OPS "4test4callESt8optionalIlES2_IdESt5arrayIbLm3EE", "ss3");
	check(OPS "4test4callESt8optionalIlES1_IdESt5arrayIbLm3EE", NULL);
	check(OPS "4test4callESt8optionalIlESt8optionalIdESt5arrayIbLm3EESt5arrayIbLm2EE", "ss32");
}

static void test_params_of_1_13(void **state)
{
	struct op_type t;

	(void)state;
	is_1_13 = true;
	check(OPS "10add_Tensor4callERKNS_6TensorES4_RKN3c106ScalarE", "TTp");
	check(OPS
		"14std_correction4callERKNS_6TensorEN3c1016OptionalArrayRefIlEENS5_8optionalIlEEb",
		"Tssb");
	check(OPS
		"15sum_dim_IntList4callERKNS_6TensorEN3c1016OptionalArrayRefIlEEbNS5_8optionalINS5_"
		"10ScalarTypeEEE",
		"Tsb2");
	check(OPS "19empty_memory_format4callEN3c108ArrayRefINS2_6SymIntEEENS2_8optionalINS2_"
		  "10ScalarTypeEEENS6_INS2_6LayoutEEENS6_INS2_6DeviceEEENS6_IbEENS6_INS2_12Memor"
		  "yFormatEEE",
		"s22322");
	check(OPS "23upsample_bilinear2d_vec4callERKNS_6TensorEN3c1016OptionalArrayRefINS5_"
		  "6SymIntEEEbNS5_8optionalINS5_8ArrayRefIdEEEE",
		"Tsbs");
	check(OPS "4gelu4callERKNS_6TensorEN3c1017basic_string_viewIcEE", "Ts");
	check(OPS "15div_Tensor_mode4callERKNS_6TensorES4_N3c108optionalINS5_17basic_string_"
		  "viewIcEEEE",
		"TTp");
	check(OPS "6linear4callERKNS_6TensorES4_RKN3c108optionalIS2_EE", "TTn");
	check(OPS "12index_Tensor4callERKNS_6TensorERKN3c104ListINS5_8optionalIS2_EEEE", "TQ");
	check(OPS "9bernoulli4callERKNS_6TensorEN3c108optionalINS_9GeneratorEEE", "Tp");
	check(OPS "3add4callEN3c108optionalINS_8NewClassEEE", NULL);
	/* An optional double: both halves in general registers, none in one for floating point. */
	assert_true(
		parse_op_params(OPS "5logit4callERKNS_6TensorEN3c108optionalIdEE", is_1_13, &t));
	assert_int_equal(t.members[1]->size, 16);
	assert_int_equal(t.members[1]->member[0], CT_U64);
	assert_int_equal(t.members[1]->member[1], CT_U64);
	is_1_13 = false;
}

static void test_not_known(void **state)
{
	(void)state;
	check(OPS "3add4callENS_8NewClassE", NULL); /* by value: unknown how */
	check(OPS "3add4callERKNS_8NewClassE", "p");
	check(OPS "3add4callEN3c108optionalIlEE", NULL); /* 1.13: laid out otherwise */
	check(OPS "3add4call", NULL);
	check(OPS "3add4callE", "");
	check(OPS "3add4callEv", "");
	check(OPS "3add4callES9_", NULL);
	check(OPS "3add4callERKNS_6Tensor", NULL);
	check(OPS "99add4callEv", NULL);
	check("_ZN2at3add4callEv", NULL);
	check("malloc", NULL);
}

static void result(const char *schema, uint8_t want, unsigned n, bool hidden, uint8_t ret)
{
	struct op_type t;

	assert_true(parse_op_result(schema, &t));
	assert_int_equal(t.result, want);
	if (want == OP_TUPLE || want == OP_TUPLE_REFERENCE)
		assert_int_equal(t.nresult, n);
	assert_int_equal(t.hidden, hidden);
	assert_int_equal(t.ret, ret);
}

static void test_results(void **state)
{
	struct op_type t;

	(void)state;
	result("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", OP_NEW, 1,
		true, CT_VOID);
	result("add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", OP_REFERENCE, 1, false,
		CT_P);
	result("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", OP_NEW, 1, true, CT_VOID);
	result("split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
		OP_NEW_LIST, 1, true, CT_VOID);
	result("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
	       "indices)",
		OP_TUPLE, 2, true, CT_VOID);
	result("max.dim_max(Tensor self) -> (Tensor(a!) values, Tensor(b!) indices)",
		OP_TUPLE_REFERENCE, 2, true, CT_VOID);
	result("native_layer_norm(Tensor input) -> (Tensor, Tensor, Tensor)", OP_TUPLE, 3, true,
		CT_VOID);
	result("_fused_adamw_(Tensor(a!)[] self, float lr) -> ()", OP_NOTHING, 0, false, CT_VOID);
	result("item(Tensor self) -> Scalar", OP_NOTHING, 0, true, CT_VOID);
	result("equal(Tensor self, Tensor other) -> bool", OP_NOTHING, 0, false, CT_U8);
	result("size.int(Tensor self, int dim) -> int", OP_NOTHING, 0, false, CT_I64);
	result("q_scale(Tensor self) -> float", OP_NOTHING, 0, false, CT_F64);
	result("sym_size.int(Tensor self, int dim) -> SymInt", OP_NOTHING, 0, true, CT_VOID);
	result("_scaled_dot_product_flash_attention(Tensor query) -> (Tensor output, SymInt max_q, "
	       "Tensor mask)",
		OP_NOTHING, 0, true, CT_VOID);
	result("_choose_qparams_per_tensor(Tensor self) -> (float, int)", OP_NOTHING, 0, true,
		CT_VOID);
	assert_false(parse_op_result("something(Tensor self) -> Future", &t));
	assert_false(parse_op_result("no arrow", &t));
}

#define NODE "_ZN5torch8autograd9generated"
#define GRADIENTS "EOSt6vectorIN2at6TensorESaIS5_EE"

/* readelf on libtorch 2.13 and 1.13 */
static void test_node_classes(void **state)
{
	char name[32];

	(void)state;
	assert_true(parse_node_class(NODE "14AddmmBackward05apply" GRADIENTS, name, sizeof(name)));
	assert_string_equal(name, "AddmmBackward0");
	assert_true(parse_node_class(
		NODE "14AddmmBackward05applyEOSt6vectorIN2at6TensorESaIS4_EE", name, sizeof(name)));
	assert_true(parse_node_class(NODE "15TBackward0_copy5apply" GRADIENTS, name, sizeof(name)));
	assert_string_equal(name, "TBackward0_copy");
	assert_false(parse_node_class(NODE "14AddmmBackward05apply" GRADIENTS, name, 14));
	assert_false(
		parse_node_class(NODE "14AddmmBackward05apply" GRADIENTS "v", name, sizeof(name)));
	assert_false(
		parse_node_class(NODE "14AddmmBackward016apply_with_savedE", name, sizeof(name)));
	assert_false(
		parse_node_class(NODE "14AddmmBackward017release_variablesEv", name, sizeof(name)));
	assert_false(parse_node_class(NODE "99AddmmBackward05apply" GRADIENTS, name, sizeof(name)));
	assert_false(parse_node_class(NODE "5apply" GRADIENTS, name, sizeof(name)));
	assert_false(parse_node_class(NODE, name, sizeof(name)));
	assert_false(parse_node_class(
		"_ZN5torch8autograd14AccumulateGrad5apply" GRADIENTS, name, sizeof(name)));
}

static void test_node_operators(void **state)
{
	static const struct {
		const char *node, *op;
		bool same;
	} t[] = {
		{"AddmmBackward0", "addmm", true},
		{"AddmmBackward0", "addmm_", true},
		{"AddmmBackward0", "mm", false},
		{"AddmmBackward0", "add", false},
		{"AddBackward1", "add", true},
		{"AddBackward12", "add", true},
		{"LogSoftmaxBackward0", "_log_softmax", true},
		{"LogSoftmaxBackward0", "log_softmax", true},
		{"SoftmaxBackward0", "_log_softmax", false},
		{"CdistBackward0", "_cdist_forward", true},
		{"CdistBackward0", "_cdist_backward", false},
		{"CdistBackwardBackward0", "_cdist_backward", true},
		{"UpsampleNearest2DBackward0", "upsample_nearest2d", true},
		{"TBackward0_copy", "t_copy", true},
		{"TBackward0_copy", "t", false},
		{"TBackward0", "t_copy", false},
		{"ToCopyBackward0", "_to_copy", true},
		{"ForeachAddBackward0List", "_foreach_add", true},
		{"SumBackwardAutogradNestedTensor0", "sum", true},
		{"SigmoidBackwardBackward0", "sigmoid", false},
		{"SigmoidBackwardBackward0", "sigmoid_backward", true},
		{"Backward0", "", false},
		{"Backward0", "_", false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(t) / sizeof(*t); i++)
		if (is_node_of_op(t[i].node, t[i].op) != t[i].same)
			fail_msg("%s of %s", t[i].node, t[i].op);
}

static void test_node_numbers(void **state)
{
	const uint64_t all = UINT64_MAX;
	uint64_t now[] = {0x7f0000000000, 0x100000001, all, 0, 1, 1};
	uint64_t before[] = {0x7f0000000000, 0, 0, all, 0, 1};
	uint64_t two[] = {0x7f0000000000, 0, all, all, 0, 1};
	uint64_t none[] = {all, all, 0, 0, 1, 1};

	(void)state;
	assert_int_equal(find_node_number_offset(NODE_NOT_KNOWN, now), 2);
	assert_int_equal(find_node_number_offset(NODE_NOT_KNOWN, before), 3);
	assert_int_equal(find_node_number_offset(2, now), 2);
	/* Another one than was believed: no number is trusted any more. */
	assert_int_equal(find_node_number_offset(2, before), NODE_NO_PLACE);
	assert_int_equal(find_node_number_offset(NODE_NO_PLACE, now), NODE_NO_PLACE);
	assert_int_equal(find_node_number_offset(NODE_NOT_KNOWN, two), NODE_NOT_KNOWN);
	assert_int_equal(find_node_number_offset(NODE_NOT_KNOWN, none), NODE_NO_PLACE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_params),
		cmocka_unit_test(test_params_by_value),
		cmocka_unit_test(test_params_of_1_13),
		cmocka_unit_test(test_not_known),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_node_classes),
		cmocka_unit_test(test_node_operators),
		cmocka_unit_test(test_node_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

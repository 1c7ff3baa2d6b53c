/* SPDX-License-Identifier: Apache-2.0 */
/* link: -lstdc++ -ldl */
/*
 * C++ names against the compiler's own demangler (__cxa_demangle): every function that libstdc++ exports, and names
 * picked for what they hold. Their names without arguments must be equal, and their number of parameters.
 */
#include "core_helper.h"

#include <dlfcn.h>
#include <stdio.h>

#include "elf/demangle/demangle.h"

char *__cxa_demangle(const char *symbol, char *buf, size_t *len, int *status);

/* The text between p and its closing counterpart; p stands at ( < [ or {. Operators have brackets that are none. */
static char *skip_bracket(char *p)
{
	int depth = 0;

	do {
		if (strncmp(p, "operator", 8) == 0)
			p += 8 + strspn(p + 8, "<>=-()!");
		depth += strchr("(<[{", *p) != NULL;
		depth -= strchr(")>]}", *p) != NULL && p[-1] != '-';
		p++;
	} while (*p && depth);
	return p;
}

/* Length of the part of "operator+<int>(...)" that belongs to the name. */
static size_t operator_length(const char *p)
{
	static const char *const ops[] = {"<=>", "->*", "<<=", ">>=", " new[]", " delete[]", " new",
		" delete", "()", "[]", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++",
		"--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "+", "-", "*", "/", "%", "&",
		"|", "^", "~", "!", "=", "<", ">", ","};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		size_t n = strlen(ops[i]);

		if (strncmp(p + 8, ops[i], n) == 0 && (strchr("(< ", p[8 + n])))
			return 8 + n;
	}
	return 8;
}

/* "std::vector<int>::push_back(int const&) const" -> "std::vector::push_back"; returns the number of parameters. */
static int plain(char *text, char *out)
{
	int params = -1;
	char *p = text, *o = out;

	while (*p) {
		if (strncmp(p, "operator", 8) == 0 && (o == out || o[-1] == ':')) {
			size_t n = operator_length(p);

			memcpy(o, p, n);
			o += n;
			p += n;
			p += *p == ' ';
			continue;
		}
		if (*p == '(' && strncmp(p, "(anonymous namespace)", 21) == 0) {
			memcpy(o, p, 21);
			o += 21;
			p += 21;
			continue;
		}
		if (*p == '(') {
			char *end = skip_bracket(p);
			int depth = 0;

			params = end - p > 2;
			for (char *q = p + 1; q < end - 1; q++) {
				if (strncmp(q, "operator", 8) == 0)
					q += 8;
				depth += strchr("(<[{", *q) != NULL;
				depth -= strchr(")>]}", *q) != NULL && q[-1] != '-';
				params += *q == ',' && !depth;
			}
			if (end - p > 4 && strncmp(end - 4, "...)", 4) == 0)
				params--;
			break;
		}
		if (*p == '<' || *p == '[') {
			p = skip_bracket(p);
			continue;
		}
		if (*p == ' ') /* a result, or "virtual thunk to " */
			o = out;
		else
			*o++ = *p;
		p++;
	}
	*o = '\0';
	return params;
}

static unsigned tried, refused, no_params;

/* False: one of the two refuses the name, and nothing was compared. */
static bool compare_name(const char *symbol)
{
	char name[4096], want[65536], *full, got[4096];
	struct cxx_params params;
	int status, n, len;

	full = __cxa_demangle(symbol, NULL, NULL, &status);
	if (!full || strlen(full) >= sizeof(want)) {
		free(full);
		return false;
	}
	tried++;
	n = plain(full, want);
	len = format_cxx_symbol(symbol, name, sizeof(name), &params);
	if (len < 0) {
		refused++;
		free(full);
		return false;
	}
	snprintf(got, sizeof(got), "%s", name);
	if (strcmp(got, want))
		fail_msg("%s\n is %s\n want %s\n  got %s", symbol, full, want, got);
	if (params.n < 0)
		no_params++;
	else if (n >= 0 && n <= CXX_PARAMS_MAX && params.n != n)
		fail_msg("%s\n is %s: %d parameters, got %d", symbol, full, n, params.n);
	free(full);
	return true;
}

static void whole_library(void **state)
{
	char line[65536], command[4096 + 64], symbol[65536];
	Dl_info info;
	FILE *f;

	(void)state;
	assert_true(dladdr((void *)__cxa_demangle, &info) && info.dli_fname);
	snprintf(command, sizeof(command), "nm -D --defined-only %s", info.dli_fname);
	f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char kind;

		if (sscanf(line, "%*s %c %65535s", &kind, symbol) != 2 || !strchr("TWtwi", kind))
			continue;
		*strchrnul(symbol, '@') = '\0';
		if (strncmp(symbol, "_Z", 2) == 0 && !strstr(symbol, "cv") &&
			!strstr(symbol, "Ss") && !strstr(symbol, "Si") && !strstr(symbol, "So") &&
			!strstr(symbol, "Sd"))
			compare_name(symbol);
	}
	pclose(f);
	print_message("%u names, %u refused, %u without parameters\n", tried, refused, no_params);
	assert_true(tried > 2000);
	assert_true(refused * 50 < tried);
	assert_true(no_params * 50 < tried);
}

static void picked(void **state)
{
	static const char *const names[] = {"_Z3foov", "_Z3fooiz", "_ZN2ns3VecIfE3addERKf",
		"_ZN4c10d16ProcessGroupGloo9allreduceERSt6vectorIN2at6TensorESaIS3_EERKNS_"
		"16Allreduce"
		"OptionsE",
		"_ZN2at4_ops10add_Tensor4callERKNS_6TensorES4_RKN3c106ScalarE", "_ZThn16_N1A1fEi",
		"_ZTv0_n24_N1A1fEi", "_ZTch0_h16_N1A1fEv", "_ZN12_GLOBAL__N_11fEi", "_ZN1AC1Ev",
		"_ZN1AD0Ev", "_ZNK1AeqERKS_", "_ZN1AnwEm", "_ZlsRSoRK1A", "_ZN1A1fIiEET_S1_",
		"_ZN1A1fIJidEEEvDpT_", "_Z1fPFivE", "_Z1fM1AFivEMS_i", "_Z1fRA10_i", "_Z1fDn",
		"_ZN1a1b1cB5cxx11Ev", "_Z1fILi3EEvRAT__i", "_Z1fPrPVKi", "_ZN1A1fEOS_",
		"_ZNKR1A1fEv", "_Z1fU8__vectoriS_", "_ZN1A1fEPKcz", "_Z1fDv4_f",
		"_Z4swapI1AEvRT_S2_", "_Z1fSaIcESsS_"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!compare_name(names[i]))
			fail_msg("%s: not compared, a demangler refuses it", names[i]);
}

static void texts(void **state)
{
	static const char *const pair[][2] = {{"_ZN2ns3VecIfE3addERKf", "ns::Vec::add"},
		{"_ZThn16_N1A1fEi", "A::f"}, {"_ZN1AC2Ei", "A::A"}, {"_ZN1AD1Ev", "A::~A"},
		{"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector::push_back"},
		{"_ZNSs6appendEPKc", "std::string::append"}, {"_ZN1A1fB5cxx11Ev", "A::f"},
		{"_ZplRK1AS1_", "operator+"}};
	static const char *const none[] = {"", "_", "_Z", "foo", "MPI_Send", "_Zfoo", "_Z3fo",
		"_ZTV1A", "_ZTI1A", "_ZGVZ1fvE1x", "_ZZ1fvENKUlvE_clEv", "_ZN", "_ZNE", "_ZN1A",
		"_ZNS_1fEv", "_ZN1AcviEv", "_Z99999999a", "_ZNT_1fEv"};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(pair) / sizeof(pair[0]); i++) {
		assert_int_equal(
			format_cxx_symbol(pair[i][0], buf, sizeof(buf), NULL), strlen(pair[i][1]));
		assert_string_equal(buf, pair[i][1]);
		/* No room. */
		assert_int_equal(format_cxx_symbol(pair[i][0], buf, strlen(pair[i][1]), NULL), -1);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (format_cxx_symbol(none[i], buf, sizeof(buf), NULL) != -1)
			fail_msg("%s: %s", none[i], buf);
}

/* For stacks: also names that cannot be listed. */
static void frames(void **state)
{
	static const char *const pair[][2] = {{"_ZN2ns3VecIfE3addERKf", "ns::Vec::add"},
		{"_ZZ1fvENKUlvE_clEv", "f::{lambda}::operator()"},
		{"_ZZN2ns1A3runEiPKcENKUlRKfE0_clES4_", "ns::A::run::{lambda}::operator()"},
		{"_ZZN2ns3runIiEEvT_ENKUliE_clEi", "ns::run::{lambda}::operator()"},
		{"_ZZ1fvEN1B1gEv", "f::B::g"}, {"_ZZ1fiEN1B1gEv", "f::B::g"},
		{"_ZZZ1fvENKUlvE_clEvENKUlvE_clEv",
			"f::{lambda}::operator()::{lambda}::operator()"},
		{"_ZN1AUt_1gEv", "A::{unnamed}::g"}, {"_ZL4sumsPfi", "sums"},
		{"_ZL4sumsPfi.constprop.0", "sums.constprop.0"}, {"_ZN1A1fEv.cold", "A::f.cold"},
		{"_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work"}};
	static const char *const none[] = {
		"", "_", "_Z", "main", "MPI_Send.part.0", "_ZTV1A", "_ZGVZ1fvE1x", "_ZN1AcviEv"};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(pair) / sizeof(pair[0]); i++) {
		int n = format_frame_symbol(pair[i][0], buf, sizeof(buf));

		if (n < 0 || strcmp(buf, pair[i][1]))
			fail_msg("%s: %d %s", pair[i][0], n, n < 0 ? "" : buf);
		assert_int_equal(n, strlen(buf));
		assert_int_equal(format_frame_symbol(pair[i][0], buf, strlen(pair[i][1])), -1);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (format_frame_symbol(none[i], buf, sizeof(buf)) != -1)
			fail_msg("%s: %s", none[i], buf);
}

static void parameters(void **state)
{
	static const struct {
		const char *symbol;
		int n;
		uint8_t type[6];
	} list[] = {
		{"_Z1fPfmi", 3, {CT_P, CT_U64, CT_I32}},
		{"_Z1faxbtfd", 6, {CT_I8, CT_I64, CT_U8, CT_U16, CT_F32, CT_F64}},
		{"_ZN1A1fERKS_S_PS_S1_S2_", 5, {CT_P, CXX_CLASS, CT_P, CT_P, CT_P}},
		{"_Z1fe", 1, {CXX_NEVER}},
		{"_ZN1A1fIPiEEvT_", 1, {CT_P}},
		{"_Z1fIfEvT_PS0_S1_", 3, {CT_F32, CT_P, CT_P}},
		{"_ZNK2ns3VecIdE3addEdRKS1_S1_", 3, {CT_F64, CT_P, CXX_CLASS}},
		{"_Z1fNSt3mapIiPKcSaIS1_EEES1_", 2, {CXX_CLASS, CT_P}},
	};
	struct cxx_params p;
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		assert_true(format_cxx_symbol(list[i].symbol, buf, sizeof(buf), &p) > 0);
		if (p.n != list[i].n)
			fail_msg("%s: %d", list[i].symbol, p.n);
		for (int k = 0; k < p.n; k++)
			if (p.type[k] != list[i].type[k])
				fail_msg("%s: %d is %u", list[i].symbol, k, p.type[k]);
	}
	assert_true(format_cxx_symbol("_Z1fPKcz", buf, sizeof(buf), &p) > 0);
	assert_true(p.variadic);
	assert_int_equal(p.n, 1);
}

/* Any prefix, and any letter changed: no crash, and what is written fits. */
static void damaged(void **state)
{
	static const char name[] =
		"_ZN4c10d16ProcessGroupGloo9allreduceERSt6vectorIN2at6TensorESaIS3_EE"
		"RKNS_16AllreduceOptionsE";
	char copy[sizeof(name)], buf[40];
	struct cxx_params p;

	(void)state;
	for (size_t i = 0; i < sizeof(name); i++) {
		memcpy(copy, name, sizeof(name));
		copy[i] = '\0';
		format_cxx_symbol(copy, buf, sizeof(buf), &p);
		for (int c = 1; c < 256; c++) {
			int len;

			memcpy(copy, name, sizeof(name));
			copy[i < sizeof(name) - 1 ? i : 0] = (char)c;
			memset(buf, '#', sizeof(buf));
			format_frame_symbol(copy, buf, sizeof(buf) - 1);
			memset(buf, '#', sizeof(buf));
			len = format_cxx_symbol(copy, buf, sizeof(buf) - 1, &p);
			assert_true(len < (int)sizeof(buf) - 1);
			assert_int_equal(buf[sizeof(buf) - 1], '#');
			if (len > 0)
				assert_int_equal(strlen(buf), len);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(frames),
		cmocka_unit_test(parameters),
		cmocka_unit_test(picked),
		cmocka_unit_test(whole_library),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

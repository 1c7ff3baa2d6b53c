#!/usr/bin/env bash
# Where members of MindSpore's objects lie in a release: a row of wrappers/mindspore/layout/kernel_layouts.def, from the headers that its
# package has. Some minutes and a GB of memory for each.
#
#   tests/mindspore_layout.sh FOLDER ...     folders of the packages: .../site-packages/mindspore, or where a wheel was unpacked
#
# The rows go to stdout. A release whose headers have other members has no row, and is reported on stderr.
set -u
[ $# -gt 0 ] || {
	sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d' >&2
	exit 2
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

cat >"$tmp/standard.h" <<'END'
#include <algorithm>
#include <any>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>
END

# The prefix of the members from 2.10 on, and its files.
cat >"$tmp/layout.cc" <<'END'
#include "standard.h"
#include "ir/tensor_storage_info.h"
#define private public
#define protected public
#include "kernel_base/kernel_tensor.h"
#include "kernel_base/kernel.h"
#include "device_context/device_context.h"
#include "ir/primitive.h"
#include "ir/tensor.h"
#include "ir/param_info.h"
#include "base_ref.h"
#include "tensor_py.h"
#include "stub_tensor.h"
using namespace mindspore;
typedef kernel::KernelTensor Tensor;
typedef tensor::Tensor Host;
typedef decltype(Tensor::device_address_)::element_type Address;
typedef decltype(Address::device_pointer_)::element_type Pointer;
typedef device::KernelExecutor Executor;
#define AT(type, member) offsetof(type, member)
/* What it holds is known to the tensor (2.8), or to its address (2.7). */
template <class T, class A, class = void> struct Content {
	static constexpr unsigned long dtype = AT(T, device_address_), dtype_second = AT(A, dtype_id_);
	static constexpr unsigned long shape = AT(T, device_address_), shape_second = AT(A, shape_vector_);
};
template <class T, class A> struct Content<T, A, std::void_t<decltype(T::dtype_id_)>> {
	static constexpr unsigned long dtype = AT(T, dtype_id_), dtype_second = 65535;
	static constexpr unsigned long shape = AT(T, shape_vector_), shape_second = 65535;
};
/* How a view lies is known to the tensor (2.9), or to its address (2.8). */
template <class T, class A, class = void> struct View {
	static constexpr unsigned long first = AT(T, device_address_), second = AT(A, tensor_storage_info_);
};
template <class T, class A> struct View<T, A, std::void_t<decltype(T::tensor_storage_info_)>> {
	static constexpr unsigned long first = AT(T, tensor_storage_info_), second = 65535;
};
/* The Itanium C++ ABI, 2.3: a pointer to a virtual function is its place in the table in bytes, and 1. */
#define PLACE(function) extern "C" auto const place_##function = &Executor::function;
extern "C" const unsigned long members[] = {
	sizeof(Tensor), sizeof(Address), sizeof(Primitive),
	AT(Tensor, device_address_), AT(Address, device_pointer_), AT(Pointer, ptr_),
	AT(Tensor, device_address_), AT(Address, size_), 65535,
	Content<Tensor, Address>::dtype, Content<Tensor, Address>::dtype_second, 65535,
	Content<Tensor, Address>::shape, Content<Tensor, Address>::shape_second, 65535,
	View<Tensor, Address>::first, View<Tensor, Address>::second, 65535,
	AT(TensorStorageInfo, shape), AT(TensorStorageInfo, strides), AT(TensorStorageInfo, storage_offset),
	AT(Primitive, name_), AT(kernel::KernelMod, kernel_name_), AT(device::DeviceContext, kernel_executor_),
	AT(CNode, fullname_with_scope_),
	0, kNumberTypeBool, kNumberTypeInt8, kNumberTypeInt16, kNumberTypeInt32, kNumberTypeInt64, kNumberTypeUInt8,
	kNumberTypeUInt16, kNumberTypeUInt32, kNumberTypeUInt64, kNumberTypeFloat8E4M3FN, kNumberTypeFloat8E5M2,
	kNumberTypeBFloat16, kNumberTypeFloat16, kNumberTypeFloat32, kNumberTypeFloat64, kNumberTypeComplex64,
	kNumberTypeComplex128,
	sizeof(Host), AT(Host, shape_), AT(Host, data_type_), AT(Host, device_sync_), AT(Host, param_info_),
	AT(ParamInfo, name_), AT(VectorRef, elements_), sizeof(BaseRef), AT(BaseRef, m_ptr),
	AT(tensor::PyType<tensor::TensorPy>, value) + AT(tensor::TensorPy, tensor_),
	AT(tensor::PyType<tensor::TensorPy>, value) + AT(tensor::TensorPy, stub_), AT(stub::StubNode, value_)};
PLACE(LaunchKernel)
PLACE(CreateEventForCache)
PLACE(AddMindIRPass)
PLACE(CleanTdtChannel)
PLACE(StressDetect)
END

# The numbers after a label of the assembler's output.
numbers() { # LABEL
	awk -v label="$1:" '$1 == label {on = 1; next} on && $1 == ".quad" {print $2; next} on && $1 == ".zero" {for (i = 0; i < $2 / 8; i++) print 0; next} on {exit}' \
		"$tmp/layout.s"
}

place() { # FUNCTION
	echo $((($(numbers "place_$1" | head -1) - 1) / 8))
}

status=0
for package in "$@"; do
	version=$(sed -n "s/^__version__ = ['\"]\([^'\"]*\)['\"].*/\1/p" "$package/version.py")
	i=$package/include
	if ! g++ -std=c++17 -D_GLIBCXX_USE_CXX11_ABI=0 -w -S -o "$tmp/layout.s" -I"$tmp" -I"$package" -I"$i" -I"$i/mindspore" \
		-I"$i/mindspore/core/include" -I"$i/mindspore/core" -I"$i/mindspore/ccsrc" -I"$i/mindspore/ccsrc/include" \
		-I"$i/mindspore/ccsrc/include/runtime/hardware_abstract" \
		-I"$i/mindspore/ccsrc/runtime/hardware_abstract" -I"$i/mindspore/ccsrc/include/common/utils" -I"$i/mindspore/ccsrc/frontend/ir" \
		-I"$i/third_party" $(python3-config --includes 2>/dev/null) -I"$i/mindspore/ops" -I"$i/mindspore/ops/include" -idirafter "$i/mindspore/core/include/base" \
		-idirafter "$i/mindspore/ccsrc/include/utils" "$tmp/layout.cc" 2>"$tmp/log"; then
		echo "$package: $version: other members than those that are looked for: $(grep -m1 error "$tmp/log")" >&2
		status=1
		continue
	fi
	mapfile -t n < <(numbers members)
	way() { # FIRST
		echo "{{${n[$1]}, ${n[$1 + 1]}, ${n[$1 + 2]}}}"
	}
	echo "{"
	echo "	.version = \"$version\","
	echo "	.tensor_bytes = ${n[0]}, .address_bytes = ${n[1]}, .primitive_bytes = ${n[2]},"
	echo "	.data = $(way 3), .bytes = $(way 6), .dtype = $(way 9), .shape = $(way 12),"
	echo "	.view = $(way 15), .view_shape = ${n[18]}, .view_strides = ${n[19]}, .view_offset = ${n[20]},"
	echo "	.primitive_name = ${n[21]}, .mod_name = ${n[22]}, .executor = ${n[23]}, .node_name = ${n[24]},"
	echo "	.launch = $(place LaunchKernel),"
	echo "	.known = {$(place CreateEventForCache), $(place AddMindIRPass), $(place CleanTdtChannel), $(place StressDetect)},"
	echo "	.type = {$(printf '%s, ' "${n[@]:25:18}" | sed 's/, $//')},"
	echo "	.host_bytes = ${n[43]}, .host_shape = ${n[44]}, .host_dtype = ${n[45]}, .host_address = ${n[46]}, .host_info = ${n[47]},"
	echo "	.info_name = ${n[48]}, .args = ${n[49]}, .arg_bytes = ${n[50]}, .arg_object = ${n[51]}, .py_tensor = ${n[52]},"
	echo "	.py_stub = ${n[53]}, .stub_value = ${n[54]},"
	echo "},"
done
exit $status

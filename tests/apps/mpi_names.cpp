/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls from functions of C++ whose names without arguments are not unique: instances of a template, overloads, a lambda,
 * functions without linkage. Prints the functions of each stack and the line in each, innermost first.
 */
#include <cstdio>
#include <mpi.h>

static int at;

/* On the line of the call, which must not be the last thing that a function does. */
#define HERE(name, call)                         \
	do {                                     \
		std::printf("%s %d\n", name, at); \
		call;                            \
		asm volatile("" ::: "memory");   \
	} while (0)
#define FROM(call)                             \
	do {                                   \
		call;                          \
		asm volatile("" ::: "memory"); \
	} while (0)
#define ALONE __attribute__((noinline))

namespace ns {
template <class T> struct Reducer {
	static void sum(T *v, MPI_Datatype t);
};

template <class T> ALONE void Reducer<T>::sum(T *v, MPI_Datatype t)
{
	at = __LINE__ + 1;
	HERE("ns::Reducer::sum", MPI_Allreduce(MPI_IN_PLACE, v, 1, t, MPI_SUM, MPI_COMM_WORLD));
}

ALONE void go(int *v)
{
	std::printf("ns::go %d\n", __LINE__ + 1);
	FROM(Reducer<int>::sum(v, MPI_INT));
}

ALONE void go(double *v)
{
	v[0] = (v[0] + 1) * 3 - v[0];
	std::printf("ns::go %d\n", __LINE__ + 1);
	FROM(Reducer<double>::sum(v, MPI_DOUBLE));
}
} // namespace ns

namespace {
ALONE void share(int *v)
{
	auto copy = [&](int n) ALONE {
		at = __LINE__ + 1;
		HERE("(anonymous namespace)::share::{lambda}::operator()", MPI_Bcast(v, n, MPI_INT, 0, MPI_COMM_WORLD));
	};

	std::printf("(anonymous namespace)::share %d\n", __LINE__ + 1);
	FROM(copy(1));
}
} // namespace

int main(int argc, char **argv)
{
	int i = 1;
	double d = 2;

	MPI_Init(&argc, &argv);
	ns::go(&i);
	ns::go(&d);
	share(&i);
	MPI_Finalize();
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
// A C++ program: containers, complex numbers, a request that is completed by a destructor, and an exception that an
// error handler of the program throws through the MPI call, and thus through whatever stands before it.
#define OMPI_SKIP_MPICXX 1 // the C interface, without the old C++ one
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

int rank, ranks;
unsigned long checks;

void check(bool ok, const std::string &what)
{
	checks++;
	if (ok)
		return;
	std::fprintf(stderr, "mpi_cxx: rank %d: WRONG: %s\n", rank, what.c_str());
	MPI_Abort(MPI_COMM_WORLD, 1);
}

class pending
{
public:
	explicit pending(MPI_Request r) : request(r)
	{
	}
	pending(const pending &) = delete;
	pending &operator=(const pending &) = delete;
	~pending()
	{
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}

private:
	MPI_Request request;
};

struct counted {
	explicit counted(int &n_) : n(n_)
	{
	}
	~counted()
	{
		n++;
	}
	int &n;
};

void throwing(MPI_Comm *, int *code, ...)
{
	int error_class;

	MPI_Error_class(*code, &error_class);
	throw std::runtime_error(error_class == MPI_ERR_COUNT ? "count" : "other");
}

void containers()
{
	std::vector<double> in(1000), out(in.size());
	std::vector<std::complex<float>> c(10, {static_cast<float>(rank), 1}), sum(10);

	for (std::size_t i = 0; i < in.size(); i++)
		in[i] = static_cast<double>(i) + rank;
	MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (std::size_t i = 0; i < in.size(); i++)
		check(out[i] == static_cast<double>(i) * ranks + ranks * (ranks - 1) / 2, "sum of doubles");
	MPI_Allreduce(c.data(), sum.data(), 10, MPI_CXX_FLOAT_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
	check(sum[9].real() == static_cast<float>(ranks * (ranks - 1) / 2), "sum of complex numbers");
	check(sum[9].imag() == static_cast<float>(ranks), "sum of complex numbers");
}

void requests()
{
	int out = rank, in = -1;

	{
		MPI_Request r;

		MPI_Irecv(&in, 1, MPI_INT, (rank + ranks - 1) % ranks, 3, MPI_COMM_WORLD, &r);
		pending receive(r);
		MPI_Isend(&out, 1, MPI_INT, (rank + 1) % ranks, 3, MPI_COMM_WORLD, &r);
		pending send(r);
	}
	check(in == (rank + ranks - 1) % ranks, "message");
}

void exceptions()
{
	MPI_Comm comm;
	MPI_Errhandler handler;
	int destroyed = 0, caught = 0;
	float x = 1, y = 0;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_create_errhandler(throwing, &handler);
	MPI_Comm_set_errhandler(comm, handler);
	for (int i = 0; i < 10; i++) {
		try {
			counted c(destroyed);

			MPI_Bcast(&x, -1, MPI_FLOAT, 0, comm);
			check(false, "a wrong call came back");
		} catch (const std::runtime_error &e) {
			check(std::string(e.what()) == "count", "another exception");
			caught++;
		}
	}
	check(caught == 10 && destroyed == 10, "exceptions caught");
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
	MPI_Allreduce(&x, &y, 1, MPI_FLOAT, MPI_SUM, comm);
	check(y == static_cast<float>(ranks), "sum after exceptions");
	MPI_Errhandler_free(&handler);
	MPI_Comm_free(&comm);
}

} // namespace

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	containers();
	requests();
	exceptions();
	containers();
	std::printf("[%d] mpi_cxx: ok, %lu checks\n", rank, checks);
	MPI_Finalize();
	return 0;
}

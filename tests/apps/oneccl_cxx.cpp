// SPDX-License-Identifier: Apache-2.0
// Operations of oneCCL's C++ interface on host memory, with small numbers: RANK, WORLD_SIZE, and APP_ID, the file where rank 0 puts
// the address of its key-value store. Prints what each rank has after each. Two ranks. With an argument: messages, too.
#include <oneapi/ccl.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

static int rank_, size_;
static float x[4], out[8];

static void show(const char *what, size_t n)
{
	printf("rank %d %s", rank_, what);
	for (size_t i = 0; i < n; i++)
		printf(" %g", out[i]);
	printf("\n");
	for (float &v : out)
		v = -1;
}

static std::shared_ptr<ccl::kvs> share_store()
{
	const std::string file = getenv("APP_ID");
	ccl::kvs::address_type address;

	if (rank_ == 0) {
		auto store = ccl::create_main_kvs();

		address = store->get_address();
		std::ofstream(file + ".tmp", std::ios::binary).write(address.data(), (std::streamsize)address.size());
		if (rename((file + ".tmp").c_str(), file.c_str()))
			exit(2);
		return store;
	}
	while (access(file.c_str(), R_OK))
		usleep(2000);
	std::ifstream(file, std::ios::binary).read(address.data(), (std::streamsize)address.size());
	return ccl::create_kvs(address);
}

// A buffer for each rank; what comes of the second one lies before that of the first.
static void exchange_lists(const ccl::communicator &comm, const ccl::stream &stream)
{
	const std::vector<size_t> scounts = {rank_ ? 2u : 1u, 2}, rcounts = {rank_ ? 2u : 1u, 2};
	const std::vector<void *> from = {x, x + 2}, parts = {out + 4, out};
	ccl::event all;

	{
		// Neither lists nor counts need live until it is complete.
		const std::vector<void *> to_each = parts;
		const std::vector<size_t> counts = {1, 3};

		all = ccl::allgatherv(static_cast<const void *>(x), counts[(size_t)rank_], to_each, counts, ccl::datatype::float32, comm);
	}
	all.wait();
	show("allgatherv of lists", 8);
	// The library's release for processors (2022.1) refuses these.
	if (strcmp(getenv("APP_LISTS"), "all") != 0)
		return;
	ccl::alltoallv(from, scounts, parts, rcounts, ccl::datatype::float32, comm).wait();
	show("alltoallv of lists", 8);
	ccl::alltoall(from, parts, 2, ccl::datatype::float32, comm, stream).wait();
	show("alltoall of lists", 8);
}

int main(int argc, char **)
{
	using ccl::datatype;
	using ccl::reduction;
	const void *in = x;
	void *to = out;

	rank_ = atoi(getenv("RANK"));
	size_ = atoi(getenv("WORLD_SIZE"));
	for (int i = 0; i < 4; i++)
		x[i] = (float)((rank_ + 1) * (i + 1));
	ccl::init();
	auto store = share_store();
	auto made = ccl::create_communicator(size_, rank_, store);
	ccl::communicator comm(std::move(made));

	ccl::allreduce(in, to, 4, datatype::float32, reduction::sum, comm).wait();
	show("allreduce", 4);
	auto typed = ccl::allreduce(x, out, 4, reduction::max, comm);
	auto moved = std::move(typed);
	while (!moved.test())
		;
	show("allreduce of floats", 4);
	double d[2] = {0.5 + rank_, 2}, e[2] = {0, 0};
	auto stream = ccl::create_stream();
	ccl::allreduce(d, e, 2, reduction::sum, comm, stream).wait();
	printf("rank %d allreduce of doubles %g %g\n", rank_, e[0], e[1]);
	ccl::reduce(in, to, 4, datatype::float32, reduction::min, 1, comm).wait();
	show("reduce", rank_ == 1 ? 4 : 0);
	for (int i = 0; i < 4; i++)
		out[i] = rank_ ? -1 : x[i];
	ccl::broadcast(to, 4, datatype::float32, 0, comm).wait();
	show("broadcast", 4);
	ccl::allgather(in, to, 2, datatype::float32, comm).wait();
	show("allgather", 4);
	{
		// What counts a call was given need not live until it is complete.
		ccl::event all;
		{
			std::vector<size_t> counts = {1, 3};

			all = ccl::allgatherv(in, counts[(size_t)rank_], to, counts, datatype::float32, comm);
		}
		all.wait();
		show("allgatherv", 4);
	}
	ccl::alltoall(in, to, 2, datatype::float32, comm).wait();
	show("alltoall", 4);
	std::vector<size_t> scounts = rank_ ? std::vector<size_t>{2, 2} : std::vector<size_t>{1, 3};
	std::vector<size_t> rcounts = rank_ ? std::vector<size_t>{3, 2} : std::vector<size_t>{1, 2};
	ccl::alltoallv(in, scounts, to, rcounts, datatype::float32, comm).wait();
	show("alltoallv", rank_ ? 5 : 3);
	ccl::reduce_scatter(in, to, 2, datatype::float32, reduction::sum, comm).wait();
	show("reduce_scatter", 2);
	// The library's release for processors (2022.1) has no messages: it ends in them.
	if (argc > 1 && rank_)
		ccl::recv(to, 4, datatype::float32, 0, comm).wait();
	else if (argc > 1)
		ccl::send(x, 4, datatype::float32, 1, comm).wait();
	show("message", argc > 1 && rank_ ? 4 : 0);
#if CCL_MAJOR_VERSION > 2022 || (CCL_MAJOR_VERSION == 2022 && CCL_MINOR_VERSION >= 2)
	if (argc > 1) {
		auto apart = comm.split(5, rank_);

		ccl::gather(in, to, 2, datatype::float32, 1, apart).wait();
		show("gather", rank_ == 1 ? 4 : 0);
		double all[2] = {0, 0};
		ccl::gather(d, all, 1, 0, apart, stream).wait();
		printf("rank %d gather of doubles %g %g\n", rank_, all[0], all[1]);
	}
#endif
	ccl::barrier(comm);
	auto same = comm.split(7, rank_);
	ccl::allreduce(in, to, 4, datatype::float32, reduction::prod, same).wait();
	show("allreduce of a part", 4);
	printf("rank %d part %d of %d\n", rank_, same.rank(), same.size());
	if (getenv("APP_LISTS"))
		exchange_lists(same, stream);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of gloo with small numbers, each checked: RANK, WORLD_SIZE, and APP_ID, a folder where the ranks meet.
 */
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

static int rank, size;

static void show(const char *what, const std::vector<float> &v)
{
	std::printf("rank %d %s:", rank, what);
	for (float f : v)
		std::printf(" %g", static_cast<double>(f));
	std::putchar('\n');
}

static std::vector<float> numbers(size_t n)
{
	std::vector<float> v(n);

	for (size_t i = 0; i < n; i++)
		v[i] = static_cast<float>((rank + 1) * (static_cast<int>(i) + 1));
	return v;
}

static void run(const std::shared_ptr<gloo::rendezvous::Context> &context)
{
	using sum_function = void (*)(void *, const void *, const void *, size_t);
	sum_function sum = gloo::sum<float>;
	size_t n = static_cast<size_t>(size), me = static_cast<size_t>(rank);
	{
		std::vector<float> x = numbers(4), y(4);
		gloo::AllreduceOptions o(context);

		o.setInput(x.data(), 4);
		o.setOutput(y.data(), 4);
		o.setReduceFunction(sum);
		gloo::allreduce(o);
		show("allreduce", y);
	}
	{
		std::vector<float> x = numbers(3);
		gloo::AllreduceOptions o(context);

		o.setOutput(x.data(), 3);
		o.setReduceFunction(sum);
		gloo::allreduce(o);
		show("allreduce in place", x);
	}
	{
		std::vector<float> x = numbers(2), y(2 * n);
		gloo::AllgatherOptions o(context);

		o.setInput(x.data(), 2);
		o.setOutput(y.data(), 2 * n);
		gloo::allgather(o);
		show("allgather", y);
	}
	{
		std::vector<size_t> counts;
		size_t all = 0;

		for (size_t i = 0; i < n; i++) {
			counts.push_back(i + 1);
			all += i + 1;
		}

		std::vector<float> x = numbers(me + 1), y(all);
		gloo::AllgathervOptions o(context);

		o.setInput(x.data(), me + 1);
		o.setOutput(y.data(), counts);
		gloo::allgatherv(o);
		show("allgatherv", y);
	}
	{
		std::vector<float> x = numbers(2 * n), y(2 * n);
		gloo::AlltoallOptions o(context);

		o.setInput(x.data(), 2 * n);
		o.setOutput(y.data(), 2 * n);
		gloo::alltoall(o);
		show("alltoall", y);
	}
	{
		std::vector<float> x = numbers(3 * n), y(3 * n);
		std::vector<int64_t> each(n, 3);
		gloo::AlltoallvOptions o(context);

		o.setInput(x.data(), each);
		o.setOutput(y.data(), each);
		gloo::alltoallv(o);
		show("alltoallv", y);
	}
	{
		std::vector<float> x = numbers(5);
		gloo::BroadcastOptions o(context);

		o.setOutput(x.data(), 5);
		o.setRoot(1);
		gloo::broadcast(o);
		show("broadcast", x);
	}
	{
		std::vector<float> x = numbers(2), y(2 * n);
		gloo::GatherOptions o(context);

		o.setInput(x.data(), 2);
		if (rank == 0)
			o.setOutput(y.data(), 2 * n);
		o.setRoot(0);
		gloo::gather(o);
		show("gather", y);
	}
	{
		std::vector<float> x = numbers(6), y(6);
		gloo::ReduceOptions o(context);

		o.setInput(x.data(), 6);
		o.setOutput(y.data(), 6);
		o.setReduceFunction(sum);
		o.setRoot(0);
		gloo::reduce(o);
		if (rank == 0)
			show("reduce", y);
	}
	{
		std::vector<float> x = numbers(2 * n), y(2);
		std::vector<float *> parts;
		gloo::ScatterOptions o(context);

		for (size_t i = 0; i < n; i++)
			parts.push_back(x.data() + 2 * i);
		if (rank == 1)
			o.setInputs(parts, 2);
		o.setOutput(y.data(), 2);
		o.setRoot(1);
		gloo::scatter(o);
		show("scatter", y);
	}
	{
		gloo::BarrierOptions o(context);

		gloo::barrier(o);
	}
	/* Refused by an exception, which must come through. */
	try {
		std::vector<float> x(1);
		gloo::BroadcastOptions o(context);

		o.setOutput(x.data(), 1);
		o.setRoot(size + 7);
		gloo::broadcast(o);
		std::printf("rank %d: not refused\n", rank);
	} catch (const std::exception &) {
		std::printf("rank %d: refused\n", rank);
	}
}

int main()
{
	gloo::transport::tcp::attr where("127.0.0.1");

	rank = std::atoi(std::getenv("RANK"));
	size = std::atoi(std::getenv("WORLD_SIZE"));

	auto device = gloo::transport::tcp::CreateDevice(where);
	auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
	gloo::rendezvous::FileStore store(std::getenv("APP_ID"));

	context->connectFullMesh(store, device);
	run(context);
	return 0;
}

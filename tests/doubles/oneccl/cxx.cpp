// SPDX-License-Identifier: Apache-2.0
// A libccl.so.1 (oneCCL's C++ interface) that computes on the processor, by the parts of NCCL's double. An operation is done when its
// event is waited for, or asked a second time: until then its output is what it was. For tests only.
#include "oneapi/ccl.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

extern "C" {
#include "../nccl/double.h"
}

namespace ccl {

struct comm_interface : ncclComm {
	~comm_interface() { segment_leave(seg); }
};

class event_impl {
public:
	std::vector<work> works;
	int asked = 0;
	bool done = false;

	void finish()
	{
		if (done)
			return;
		done = true;
		queue_start();
		for (const work &w : works)
			queue_work(&w);
		queue_end();
	}
};

namespace v1 {

const init_attr default_init_attr{};
const kvs_attr default_kvs_attr{};
const comm_attr default_comm_attr{};
const allgather_attr default_allgather_attr{};
const allgatherv_attr default_allgatherv_attr{};
const allreduce_attr default_allreduce_attr{};
const alltoall_attr default_alltoall_attr{};
const alltoallv_attr default_alltoallv_attr{};
const barrier_attr default_barrier_attr{};
const broadcast_attr default_broadcast_attr{};
const gather_attr default_gather_attr{};
const pt2pt_attr default_pt2pt_attr{};
const reduce_attr default_reduce_attr{};
const reduce_scatter_attr default_reduce_scatter_attr{};
const scatter_attr default_scatter_attr{};

void init(const init_attr &) {}

kvs::~kvs() = default;
kvs::address_type kvs::get_address() const { return address; }
std::vector<char> kvs::get(const std::string &) { return {}; }
void kvs::set(const std::string &, const std::vector<char> &) {}
int kvs::get_id() { return 0; }

event::event() noexcept = default;
event::event(event &&) noexcept = default;
event::event(std::unique_ptr<event_impl> &&p) noexcept : pimpl(std::move(p)) {}
event &event::operator=(event &&) noexcept = default;
event::operator bool() { return test(); }

// Operations without a wait are carried out all the same.
event::~event() noexcept
{
	if (pimpl)
		pimpl->finish();
}

void event::wait()
{
	if (pimpl)
		pimpl->finish();
}

bool event::test()
{
	if (pimpl && pimpl->asked++)
		pimpl->finish();
	return !pimpl || pimpl->done;
}

stream::~stream() = default;
stream create_stream() { return {}; }
void group_start() {}
void group_end() {}

std::shared_ptr<kvs> create_main_kvs(const kvs_attr &)
{
	kvs::address_type a{};
	uint64_t r = 0;
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, &r, sizeof(r)) != (ssize_t)sizeof(r))
		r = (uint64_t)getpid();
	close(fd);
	snprintf(a.data(), a.size(), "ccl-double-%016llx", (unsigned long long)r);
	return std::make_shared<kvs>(a);
}

std::shared_ptr<kvs> create_kvs(const kvs::address_type &a, const kvs_attr &)
{
	return std::make_shared<kvs>(a);
}

static std::shared_ptr<comm_interface> join(const char *name, int rank, int size)
{
	auto c = std::make_shared<comm_interface>();

	static_cast<ncclComm &>(*c) = ncclComm{};
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->rank = rank;
	c->size = size;
	c->blocking = true;
	c->seg = segment_join(c->name, rank, size);
	return c;
}

communicator::communicator(communicator &&) = default;
communicator::communicator(std::shared_ptr<comm_interface> &&p) : pimpl(std::move(p)) {}
communicator::~communicator() = default;
communicator &communicator::operator=(communicator &&) = default;
int communicator::rank() const { return pimpl->rank; }
int communicator::size() const { return pimpl->size; }

communicator create_communicator(int size, int rank, std::shared_ptr<kvs_interface> k, const comm_attr &)
{
	auto *address = static_cast<kvs *>(k.get());
	static unsigned made;
	char name[96];

	snprintf(name, sizeof(name), "%.60s-%u", address->get_address().data(), made++);
	return communicator(join(name, rank, size));
}

// Each rank has a colour of its own, or all have the same.
communicator communicator::split(int color, int key, bool)
{
	int alone = key < 0;
	char name[96];

	snprintf(name, sizeof(name), "%.60s-s%u-%d", pimpl->name, pimpl->splits++, color);
	return communicator(join(name, alone ? 0 : pimpl->rank, alone ? 1 : pimpl->size));
}

static ncclDataType_t type_of(datatype t)
{
	static const int of[] = {0, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

	return (ncclDataType_t)of[(int)t];
}

static work make(const communicator &c, what what, const void *in, void *out, size_t n, datatype t, reduction op, int peer)
{
	static const int of[] = {0, 1, 3, 2, 4};
	work w{};

	w.comm = c.impl().get();
	w.what = what;
	w.send = in;
	w.recv = out;
	w.count = n;
	w.dtype = type_of(t);
	w.op = of[(int)op];
	w.peer = peer;
	w.scale = 1;
	return w;
}

static event start(std::vector<work> works)
{
	auto e = std::make_unique<event_impl>();

	e->works = std::move(works);
	return event(std::move(e));
}

event allreduce(const void *in, void *out, size_t n, datatype t, reduction op, const communicator &c, const allreduce_attr &, const events &)
{
	return start({make(c, ALL_REDUCE, in, out, n, t, op, 0)});
}

template <class T, class R>
event allreduce(const T *in, T *out, size_t n, reduction op, const communicator &c, const allreduce_attr &a, const events &after)
{
	return allreduce((const void *)in, (void *)out, n, sizeof(T) == 8 ? datatype::float64 : datatype::float32, op, c, a, after);
}

template <class T, class R>
event allreduce(const T *in, T *out, size_t n, reduction op, const communicator &c, const stream &, const allreduce_attr &a, const events &after)
{
	return allreduce<T, R>(in, out, n, op, c, a, after);
}

template event allreduce<float, event>(const float *, float *, size_t, reduction, const communicator &, const allreduce_attr &, const events &);
template event allreduce<double, event>(
	const double *, double *, size_t, reduction, const communicator &, const stream &, const allreduce_attr &, const events &);

event reduce(const void *in, void *out, size_t n, datatype t, reduction op, int root, const communicator &c, const reduce_attr &, const events &)
{
	return start({make(c, REDUCE, in, out, n, t, op, root)});
}

event broadcast(void *buf, size_t n, datatype t, int root, const communicator &c, const broadcast_attr &, const events &)
{
	return start({make(c, BROADCAST, buf, buf, n, t, reduction::sum, root)});
}

event allgather(const void *in, void *out, size_t n, datatype t, const communicator &c, const allgather_attr &, const events &)
{
	return start({make(c, ALL_GATHER, in, out, n, t, reduction::sum, 0)});
}

event reduce_scatter(
	const void *in, void *out, size_t n, datatype t, reduction op, const communicator &c, const reduce_scatter_attr &, const events &)
{
	return start({make(c, REDUCE_SCATTER, in, out, n, t, op, 0)});
}

event gather(const void *in, void *out, size_t n, datatype t, int root, const communicator &c, const gather_attr &, const events &)
{
	return start({make(c, GATHER, in, out, n, t, reduction::sum, root)});
}

template <class T, class R>
event gather(const T *in, T *out, size_t n, int root, const communicator &c, const stream &, const gather_attr &a, const events &after)
{
	return gather((const void *)in, (void *)out, n, datatype::float64, root, c, a, after);
}

template event gather<double, event>(const double *, double *, size_t, int, const communicator &, const stream &, const gather_attr &, const events &);

event alltoall(const void *in, void *out, size_t n, datatype t, const communicator &c, const alltoall_attr &, const events &)
{
	return start({make(c, ALL_TO_ALL, in, out, n, t, reduction::sum, 0)});
}

event alltoallv(const void *in, const std::vector<size_t> &scounts, void *out, const std::vector<size_t> &rcounts, datatype t,
	const communicator &c, const alltoallv_attr &, const events &)
{
	const char *from = (const char *)in;
	char *to = (char *)out;
	std::vector<work> works;

	for (int r = 0; r < c.size(); r++) {
		works.push_back(make(c, SEND, from, nullptr, scounts[(size_t)r], t, reduction::sum, r));
		works.push_back(make(c, RECEIVE, nullptr, to, rcounts[(size_t)r], t, reduction::sum, r));
		from += scounts[(size_t)r] * number_size(type_of(t));
		to += rcounts[(size_t)r] * number_size(type_of(t));
	}
	return start(works);
}

using list = std::vector<void *>;

static event exchange(const communicator &c, const list &in, const std::vector<size_t> &scounts, const list &out,
	const std::vector<size_t> &rcounts, datatype t)
{
	std::vector<work> works;

	for (size_t r = 0; r < (size_t)c.size(); r++) {
		works.push_back(make(c, SEND, in[r], nullptr, scounts[r], t, reduction::sum, (int)r));
		works.push_back(make(c, RECEIVE, nullptr, out[r], rcounts[r], t, reduction::sum, (int)r));
	}
	return start(works);
}

event alltoallv(const list &in, const std::vector<size_t> &scounts, const list &out, const std::vector<size_t> &rcounts, datatype t,
	const communicator &c, const alltoallv_attr &, const events &)
{
	return exchange(c, in, scounts, out, rcounts, t);
}

event alltoall(const list &in, const list &out, size_t n, datatype t, const communicator &c, const stream &, const alltoall_attr &,
	const events &)
{
	const std::vector<size_t> same((size_t)c.size(), n);

	return exchange(c, in, same, out, same, t);
}

event allgatherv(const void *in, size_t n, const list &out, const std::vector<size_t> &rcounts, datatype t, const communicator &c,
	const allgatherv_attr &, const events &)
{
	const list to((size_t)c.size(), const_cast<void *>(in));

	return exchange(c, to, std::vector<size_t>((size_t)c.size(), n), out, rcounts, t);
}

event allgatherv(const void *in, size_t n, void *out, const std::vector<size_t> &rcounts, datatype t, const communicator &c,
	const allgatherv_attr &, const events &)
{
	char *to = (char *)out;
	std::vector<work> works;

	for (int r = 0; r < c.size(); r++) {
		works.push_back(make(c, SEND, in, nullptr, n, t, reduction::sum, r));
		works.push_back(make(c, RECEIVE, nullptr, to, rcounts[(size_t)r], t, reduction::sum, r));
		to += rcounts[(size_t)r] * number_size(type_of(t));
	}
	return start(works);
}

event send(void *in, size_t n, datatype t, int peer, const communicator &c, const pt2pt_attr &, const events &)
{
	return start({make(c, SEND, in, nullptr, n, t, reduction::sum, peer)});
}

event recv(void *out, size_t n, datatype t, int peer, const communicator &c, const pt2pt_attr &, const events &)
{
	return start({make(c, RECEIVE, nullptr, out, n, t, reduction::sum, peer)});
}

event barrier(const communicator &c, const barrier_attr &, const events &)
{
	static char from[RANKS_MAX], to[RANKS_MAX];

	return start({make(c, ALL_REDUCE, from, to, 1, datatype::int8, reduction::sum, 0)});
}

} // namespace v1
} // namespace ccl

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of oneCCL's C++ interface that tests/apps/oneccl_cxx.cpp uses, with the names that the linker knows; that program is built with the
 * real header as well. For tests only.
 */
#ifndef TESTS_DOUBLES_ONECCL_CCL_HPP
#define TESTS_DOUBLES_ONECCL_CCL_HPP

#define CCL_MAJOR_VERSION 2022
#define CCL_MINOR_VERSION 2

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace ccl {

class event_impl;
struct comm_interface;

namespace v1 {

enum class datatype : int { int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, float32, float64, bfloat16 };
enum class reduction : int { sum, prod, min, max, avg };

struct init_attr {};
struct kvs_attr {};
struct comm_attr {};
struct allgather_attr {};
struct allgatherv_attr {};
struct allreduce_attr {};
struct alltoall_attr {};
struct alltoallv_attr {};
struct barrier_attr {};
struct broadcast_attr {};
struct gather_attr {};
struct pt2pt_attr {};
struct reduce_attr {};
struct reduce_scatter_attr {};
struct scatter_attr {};

extern const init_attr default_init_attr;
extern const kvs_attr default_kvs_attr;
extern const comm_attr default_comm_attr;
extern const allgather_attr default_allgather_attr;
extern const allgatherv_attr default_allgatherv_attr;
extern const allreduce_attr default_allreduce_attr;
extern const alltoall_attr default_alltoall_attr;
extern const alltoallv_attr default_alltoallv_attr;
extern const barrier_attr default_barrier_attr;
extern const broadcast_attr default_broadcast_attr;
extern const gather_attr default_gather_attr;
extern const pt2pt_attr default_pt2pt_attr;
extern const reduce_attr default_reduce_attr;
extern const reduce_scatter_attr default_reduce_scatter_attr;
extern const scatter_attr default_scatter_attr;

class kvs_interface {
public:
	virtual ~kvs_interface() = default;
	virtual std::vector<char> get(const std::string &) = 0;
	virtual void set(const std::string &, const std::vector<char> &) = 0;
	virtual int get_id() = 0;
};

class kvs final : public kvs_interface {
public:
	using address_type = std::array<char, 256>;
	explicit kvs(const address_type &a) : address(a) {}
	~kvs() override;
	address_type get_address() const;
	std::vector<char> get(const std::string &) override;
	void set(const std::string &, const std::vector<char> &) override;
	int get_id() override;

private:
	address_type address;
};

class event {
public:
	event() noexcept;
	event(event &&) noexcept;
	explicit event(std::unique_ptr<event_impl> &&) noexcept;
	~event() noexcept;
	event &operator=(event &&) noexcept;
	void wait();
	bool test();
	explicit operator bool();

private:
	std::unique_ptr<event_impl> pimpl;
};

class stream {
public:
	~stream();

private:
	std::shared_ptr<int> pimpl;
};

class communicator final {
public:
	communicator(communicator &&);
	explicit communicator(std::shared_ptr<comm_interface> &&);
	~communicator();
	communicator &operator=(communicator &&);
	int rank() const;
	int size() const;
	communicator split(int color, int key, bool external = false);
	const std::shared_ptr<comm_interface> &impl() const { return pimpl; }

private:
	std::shared_ptr<comm_interface> pimpl;
};

using events = std::vector<event>;

void init(const init_attr & = default_init_attr);
std::shared_ptr<kvs> create_main_kvs(const kvs_attr & = default_kvs_attr);
std::shared_ptr<kvs> create_kvs(const kvs::address_type &, const kvs_attr & = default_kvs_attr);
communicator create_communicator(int size, int rank, std::shared_ptr<kvs_interface>, const comm_attr & = default_comm_attr);
stream create_stream();
void group_start();
void group_end();

event allreduce(const void *, void *, size_t, datatype, reduction, const communicator &, const allreduce_attr & = default_allreduce_attr,
	const events & = {});
template <class T, class = event>
event allreduce(const T *, T *, size_t, reduction, const communicator &, const allreduce_attr & = default_allreduce_attr, const events & = {});
template <class T, class = event>
event allreduce(const T *, T *, size_t, reduction, const communicator &, const stream &, const allreduce_attr & = default_allreduce_attr,
	const events & = {});
event reduce(const void *, void *, size_t, datatype, reduction, int root, const communicator &, const reduce_attr & = default_reduce_attr,
	const events & = {});
event broadcast(void *, size_t, datatype, int root, const communicator &, const broadcast_attr & = default_broadcast_attr, const events & = {});
event allgather(const void *, void *, size_t, datatype, const communicator &, const allgather_attr & = default_allgather_attr, const events & = {});
event allgatherv(const void *, size_t, void *, const std::vector<size_t> &, datatype, const communicator &,
	const allgatherv_attr & = default_allgatherv_attr, const events & = {});
event alltoall(const void *, void *, size_t, datatype, const communicator &, const alltoall_attr & = default_alltoall_attr, const events & = {});
event alltoallv(const void *, const std::vector<size_t> &, void *, const std::vector<size_t> &, datatype, const communicator &,
	const alltoallv_attr & = default_alltoallv_attr, const events & = {});
event allgatherv(const void *, size_t, const std::vector<void *> &, const std::vector<size_t> &, datatype, const communicator &,
	const allgatherv_attr & = default_allgatherv_attr, const events & = {});
event alltoall(const std::vector<void *> &, const std::vector<void *> &, size_t, datatype, const communicator &, const stream &,
	const alltoall_attr & = default_alltoall_attr, const events & = {});
event alltoallv(const std::vector<void *> &, const std::vector<size_t> &, const std::vector<void *> &, const std::vector<size_t> &, datatype,
	const communicator &, const alltoallv_attr & = default_alltoallv_attr, const events & = {});
event reduce_scatter(const void *, void *, size_t, datatype, reduction, const communicator &,
	const reduce_scatter_attr & = default_reduce_scatter_attr, const events & = {});
event gather(const void *, void *, size_t, datatype, int root, const communicator &, const gather_attr & = default_gather_attr,
	const events & = {});
template <class T, class = event>
event gather(const T *, T *, size_t, int root, const communicator &, const stream &, const gather_attr & = default_gather_attr,
	const events & = {});
event send(void *, size_t, datatype, int peer, const communicator &, const pt2pt_attr & = default_pt2pt_attr, const events & = {});
event recv(void *, size_t, datatype, int peer, const communicator &, const pt2pt_attr & = default_pt2pt_attr, const events & = {});
event barrier(const communicator &, const barrier_attr & = default_barrier_attr, const events & = {});

} // namespace v1

using namespace v1;

} // namespace ccl

#endif

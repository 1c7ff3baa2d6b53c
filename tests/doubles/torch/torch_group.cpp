/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process group for tensors of the stand-in for a device (torch_device.cpp), with the name and the methods of PyTorch's own:
 * each method calls the stand-in of NCCL on the current stream, as c10d::ProcessGroupNCCL does. For tests: PyTorch without CUDA
 * has no such class. Ranks are processes.
 *
 * torch_group_join() makes it the backend for type `cuda` of a group that PyTorch has made for another backend.
 */
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

#include <cstring>

extern "C" {
#include <nccl.h>
}

namespace c10::cuda {
class CUDAStream {
public:
	c10::Stream stream_;
	void *stream() const;
};
CUDAStream getCurrentCUDAStream(c10::DeviceIndex device);
} // namespace c10::cuda

namespace {

void check(ncclResult_t r)
{
	TORCH_CHECK(r == ncclSuccess, "the stand-in of NCCL refuses: ", int(r));
}

cudaStream_t current_stream()
{
	return static_cast<cudaStream_t>(c10::cuda::getCurrentCUDAStream(0).stream());
}

ncclDataType_t type_of(const at::Tensor &t)
{
	switch (t.scalar_type()) {
	case at::kFloat:
		return ncclFloat32;
	case at::kDouble:
		return ncclFloat64;
	case at::kLong:
		return ncclInt64;
	case at::kInt:
		return ncclInt32;
	case at::kByte:
	case at::kBool:
		return ncclUint8;
	default:
		TORCH_CHECK(false, "a type that this group does not know");
	}
}

/* All of its work is on the stream: what the program puts there later comes after it. */
struct StreamWork final : c10d::Work {
	c10::intrusive_ptr<c10::ivalue::Future> future;

	explicit StreamWork(std::vector<at::Tensor> tensors)
		: future(c10::make_intrusive<c10::ivalue::Future>(
			  c10::ListType::create(c10::TensorType::get()),
			  std::vector<c10::Device>{{c10::DeviceType::CUDA, 0}}))
	{
		future->markCompleted(at::IValue(std::move(tensors)));
	}
	bool isCompleted() override
	{
		return true;
	}
	bool isSuccess() const override
	{
		return true;
	}
	bool wait(std::chrono::milliseconds) override
	{
		return true;
	}
	void synchronize() override {}
	c10::intrusive_ptr<c10::ivalue::Future> getFuture() override
	{
		return future;
	}
};

/* DDP asks for one. It measures nothing here. */
struct NoTimer final : c10d::Timer {
	explicit NoTimer(c10::Device) {}
	std::optional<int64_t> measureDifference(Event, Event) override
	{
		return std::nullopt;
	}
};

} // namespace

namespace c10d {
C10_REGISTER_TYPED_CLASS(TimerRegistry, c10::kCUDA, NoTimer);

class __attribute__((visibility("default"))) ProcessGroupNCCL final : public Backend {
	ncclComm_t comm;

public:
	ProcessGroupNCCL(int rank, int size, const ncclUniqueId &id);
	const std::string getBackendName() const override
	{
		return "nccl";
	}
	c10::intrusive_ptr<Work> allreduce(
		std::vector<at::Tensor> &tensors, const AllreduceOptions &options) override;
	c10::intrusive_ptr<Work> broadcast(
		std::vector<at::Tensor> &tensors, const BroadcastOptions &options) override;
	c10::intrusive_ptr<Work> allgather(std::vector<std::vector<at::Tensor>> &out,
		std::vector<at::Tensor> &in, const AllgatherOptions &options) override;
	c10::intrusive_ptr<Work> _allgather_base(
		at::Tensor &out, at::Tensor &in, const AllgatherOptions &options) override;
	c10::intrusive_ptr<Work> _reduce_scatter_base(
		at::Tensor &out, at::Tensor &in, const ReduceScatterOptions &options) override;
};

ProcessGroupNCCL::ProcessGroupNCCL(int rank, int size, const ncclUniqueId &id) : Backend(rank, size)
{
	check(ncclCommInitRank(&comm, size, id, rank));
}

c10::intrusive_ptr<Work> ProcessGroupNCCL::allreduce(
	std::vector<at::Tensor> &tensors, const AllreduceOptions &options)
{
	const ncclRedOp_t op = options.reduceOp == ReduceOp::AVG ? ncclAvg
			       : options.reduceOp == ReduceOp::MAX ? ncclMax
								     : ncclSum;

	for (at::Tensor &t : tensors)
		check(ncclAllReduce(t.data_ptr(), t.data_ptr(), size_t(t.numel()), type_of(t), op, comm,
			current_stream()));
	return c10::make_intrusive<StreamWork>(tensors);
}

c10::intrusive_ptr<Work> ProcessGroupNCCL::broadcast(
	std::vector<at::Tensor> &tensors, const BroadcastOptions &options)
{
	for (at::Tensor &t : tensors)
		check(ncclBroadcast(t.data_ptr(), t.data_ptr(), size_t(t.numel()), type_of(t),
			int(options.rootRank), comm, current_stream()));
	return c10::make_intrusive<StreamWork>(tensors);
}

c10::intrusive_ptr<Work> ProcessGroupNCCL::allgather(std::vector<std::vector<at::Tensor>> &out,
	std::vector<at::Tensor> &in, const AllgatherOptions &)
{
	at::Tensor all = at::empty({getSize() * in[0].numel()}, in[0].options());

	check(ncclAllGather(in[0].data_ptr(), all.data_ptr(), size_t(in[0].numel()), type_of(in[0]),
		comm, current_stream()));
	for (int i = 0; i < getSize(); i++)
		out[0][size_t(i)].copy_(
			all.narrow(0, i * in[0].numel(), in[0].numel()).view_as(in[0]));
	return c10::make_intrusive<StreamWork>(out[0]);
}

c10::intrusive_ptr<Work> ProcessGroupNCCL::_allgather_base(
	at::Tensor &out, at::Tensor &in, const AllgatherOptions &)
{
	check(ncclAllGather(in.data_ptr(), out.data_ptr(), size_t(in.numel()), type_of(in), comm,
		current_stream()));
	return c10::make_intrusive<StreamWork>(std::vector<at::Tensor>{out});
}

c10::intrusive_ptr<Work> ProcessGroupNCCL::_reduce_scatter_base(
	at::Tensor &out, at::Tensor &in, const ReduceScatterOptions &options)
{
	check(ncclReduceScatter(in.data_ptr(), out.data_ptr(), size_t(out.numel()), type_of(in),
		options.reduceOp == ReduceOp::AVG ? ncclAvg : ncclSum, comm, current_stream()));
	return c10::make_intrusive<StreamWork>(std::vector<at::Tensor>{out});
}

} // namespace c10d

/* Writes a new id of a communicator (128 bytes), for all ranks. */
extern "C" __attribute__((visibility("default"))) void torch_group_id(char *id)
{
	ncclUniqueId made;

	check(ncclGetUniqueId(&made));
	memcpy(id, &made, sizeof(made));
}

extern "C" __attribute__((visibility("default"))) void torch_group_join(
	const char *group, const char *id, int rank, int size)
{
	ncclUniqueId all;

	memcpy(&all, id, sizeof(all));
	c10d::resolve_process_group(group)->setBackend(c10::DeviceType::CUDA,
		c10d::ProcessGroup::BackendType::NCCL,
		c10::make_intrusive<c10d::ProcessGroupNCCL>(rank, size, all));
}

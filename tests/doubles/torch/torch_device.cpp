/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch on the stand-in for CUDA's driver, for tests: gives a PyTorch without CUDA tensors on a device of type `cuda`, whose
 * memory the processor must not touch. Loaded with torch.ops.load_library(); the program also replaces torch.cuda._lazy_init.
 *
 * An operator waits for the stream (that is the job's own wait), computes on the processor, and puts the copy of its results
 * on the stream. So results arrive later than the call returns, in the stream's order. Memory that is freed is reused at once,
 * like that of PyTorch's own allocator. One device, one stream (TORCH_DEVICE_STREAM: one of its own; else the legacy one).
 */
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_native.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <map>
#include <mutex>
#include <vector>

extern "C" {
#include "../cuda/cuda_double.h"
}

namespace {

CUcontext context;
CUstream stream;

void check(CUresult r)
{
	TORCH_CHECK(r == CUDA_SUCCESS, "the driver refuses: ", r);
}

/* A thread needs the context; the autograd engine has threads of its own. */
void enter()
{
	static std::once_flag once;
	CUcontext now = nullptr;

	std::call_once(once, [] {
		check(cuInit(0));
		check(cuCtxGetCurrent(&context));
		if (getenv("TORCH_DEVICE_STREAM"))
			check(cuStreamCreate(&stream, 1));
	});
	if (cuCtxGetCurrent(&now) != CUDA_SUCCESS || !now)
		check(cuCtxSetCurrent(context));
}

/* ---- memory ---- */

constexpr size_t ARENA = size_t(512) << 20;

struct Memory final : c10::Allocator {
	std::mutex lock;
	std::map<size_t, std::vector<void *>> unused;
	std::map<void *, size_t> bytes_of;
	CUdeviceptr arena = 0;
	size_t used = 0;

	c10::DataPtr allocate(size_t n) override
	{
		const c10::Device device(c10::DeviceType::CUDA, 0);
		std::lock_guard<std::mutex> held(lock);
		size_t bytes = (n + 511) & ~size_t(511);
		void *at;

		enter();
		if (!n)
			return {nullptr, device};
		if (!arena)
			check(cuMemAlloc_v2(&arena, ARENA));
		if (auto &list = unused[bytes]; !list.empty()) {
			at = list.back();
			list.pop_back();
		} else {
			TORCH_CHECK(used + bytes <= ARENA, "out of the device's memory");
			at = reinterpret_cast<void *>(arena + used);
			used += bytes;
		}
		bytes_of[at] = bytes;
		return {at, at, &release, device};
	}
	static void release(void *at);
	c10::DeleterFnPtr raw_deleter() const override
	{
		return &release;
	}
	void copy_data(void *, const void *, size_t) const override
	{
		TORCH_CHECK(false, "copy_data");
	}
};

/* Lives as long as the process: tensors may be freed after static objects. */
Memory &memory = *new Memory;

void Memory::release(void *at)
{
	std::lock_guard<std::mutex> held(memory.lock);

	memory.unused[memory.bytes_of[at]].push_back(at);
}

struct Guard final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> {
	c10::Device exchangeDevice(c10::Device) const override
	{
		return {c10::DeviceType::CUDA, 0};
	}
	c10::Device getDevice() const override
	{
		return {c10::DeviceType::CUDA, 0};
	}
	c10::Stream getStream(c10::Device) const noexcept override
	{
		return c10::Stream(c10::Stream::DEFAULT, {c10::DeviceType::CUDA, 0});
	}
	c10::Stream exchangeStream(c10::Stream) const noexcept override
	{
		return c10::Stream(c10::Stream::DEFAULT, {c10::DeviceType::CUDA, 0});
	}
	/* With one stream there is nothing to wait for. */
	void record(void **event, const c10::Stream &, const c10::DeviceIndex,
		const c10::EventFlag) const override
	{
		*event = context;
	}
	void block(void *, const c10::Stream &) const override {}
	bool queryEvent(void *) const override
	{
		return true;
	}
	void destroyEvent(void *, const c10::DeviceIndex) const noexcept override {}
	void recordDataPtrOnStream(const c10::DataPtr &, const c10::Stream &) const override {}
};
C10_REGISTER_GUARD_IMPL(CUDA, Guard)

/* Makes the device PyTorch's accelerator, which the autograd engine asks for. */
struct CUDAHooks final : at::CUDAHooksInterface {
	explicit CUDAHooks(at::CUDAHooksArgs) {}
	void init() const override {}
	bool hasCUDA() const override
	{
		return true;
	}
	bool isBuilt() const override
	{
		return true;
	}
	bool isAvailable() const override
	{
		return true;
	}
	bool hasPrimaryContext(c10::DeviceIndex) const override
	{
		return true;
	}
	c10::DeviceIndex deviceCount() const override
	{
		return 1;
	}
	c10::DeviceIndex getCurrentDevice() const override
	{
		return 0;
	}
};

} // namespace

namespace at {
REGISTER_CUDA_HOOKS(CUDAHooks)
}

namespace {

/* ---- operators ---- */

at::Tensor make_empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype,
	std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>,
	std::optional<at::MemoryFormat> format)
{
	return at::detail::empty_generic(size, &memory, c10::DispatchKeySet(c10::DispatchKey::CUDA),
		c10::dtype_or_default(dtype), format);
}

at::Tensor make_empty_strided(at::IntArrayRef size, at::IntArrayRef stride,
	std::optional<at::ScalarType> dtype, std::optional<at::Layout>, std::optional<at::Device>,
	std::optional<bool>)
{
	return at::detail::empty_strided_generic(size, stride, &memory,
		c10::DispatchKeySet(c10::DispatchKey::CUDA), c10::dtype_or_default(dtype));
}

/* The tensor as the device sees its memory: for the processor's functions, while the stream has nothing to do. */
at::Tensor as_seen_there(const at::Tensor &t)
{
	if (!t.is_cuda())
		return t;
	return at::from_blob(double_device_alias(t.data_ptr()), t.sizes(), t.strides(),
		t.options().device(at::kCPU));
}

void drop_tensor(void *p)
{
	delete static_cast<at::Tensor *>(p);
}

at::Tensor &copy(at::Tensor &self, const at::Tensor &from, bool)
{
	enter();
	if (from.is_cuda() || !self.is_non_overlapping_and_dense()) {
		check(cuStreamSynchronize(stream));
		as_seen_there(self).copy_(as_seen_there(from));
		return self;
	}
	/* The processor's values are read now; the stream writes them later. */
	at::Tensor staged = at::empty_strided(
		self.sizes(), self.strides(), self.options().device(at::kCPU));
	staged.copy_(from);
	if (!staged.nbytes())
		return self;
	check(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(self.data_ptr()),
		reinterpret_cast<CUdeviceptr>(staged.data_ptr()), staged.nbytes(), stream));
	check(cuLaunchHostFunc(stream, drop_tensor, new at::Tensor(staged)));
	return self;
}

at::Tensor copy_from_and_resize(const at::Tensor &self, const at::Tensor &to)
{
	if (to.sizes() != self.sizes())
		const_cast<at::Tensor &>(to).resize_(self.sizes());
	return const_cast<at::Tensor &>(to).copy_(self);
}

const at::Tensor &resize(
	const at::Tensor &self, at::IntArrayRef size, std::optional<at::MemoryFormat>)
{
	auto *impl = self.unsafeGetTensorImpl();
	const auto &storage = impl->unsafe_storage();
	size_t bytes;

	impl->set_sizes_contiguous(size);
	bytes = size_t(impl->numel()) * impl->itemsize() + size_t(impl->storage_offset()) * impl->itemsize();
	if (bytes > storage.nbytes()) {
		const_cast<c10::Storage &>(storage).set_data_ptr_noswap(memory.allocate(bytes));
		const_cast<c10::Storage &>(storage).set_nbytes(bytes);
	}
	return self;
}

at::Tensor view(const at::Tensor &self, c10::SymIntArrayRef size)
{
	return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

at::Tensor as_strided(const at::Tensor &self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
	std::optional<c10::SymInt> offset)
{
	return at::native::as_strided_tensorimpl(self, C10_AS_INTARRAYREF_SLOW(size),
		C10_AS_INTARRAYREF_SLOW(stride),
		offset ? std::make_optional(offset->expect_int()) : std::nullopt);
}

at::Tensor reshape_alias(
	const at::Tensor &self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride)
{
	return at::native::as_strided_tensorimpl(
		self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}

void fall_back(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
	at::native::cpu_fallback(op, stack);
}

} // namespace

TORCH_LIBRARY_IMPL(_, CUDA, m)
{
	m.fallback(torch::CppFunction::makeFromBoxedFunction<&fall_back>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, m)
{
	m.impl("empty.memory_format", make_empty);
	m.impl("empty_strided", make_empty_strided);
	m.impl("copy_", copy);
	m.impl("_copy_from_and_resize", copy_from_and_resize);
	m.impl("resize_", resize);
	m.impl("view", view);
	m.impl("_reshape_alias", reshape_alias);
	m.impl("as_strided", as_strided);
}

/* Holds the stream until it is called again with false: what is put on it has not been done yet. */
extern "C" __attribute__((visibility("default"))) void torch_device_hold(bool hold)
{
	enter();
	(hold ? double_hold : double_release)(stream);
}

/* ---- what libprobe asks for: c10/cuda/CUDAStream.h ---- */

namespace c10::cuda {

class CUDAStream {
public:
	c10::Stream stream_;
	__attribute__((visibility("default"))) void *stream() const;
};
__attribute__((visibility("default"))) CUDAStream getCurrentCUDAStream(c10::DeviceIndex device);

void *CUDAStream::stream() const
{
	return ::stream;
}

CUDAStream getCurrentCUDAStream(c10::DeviceIndex device)
{
	return {c10::Stream(c10::Stream::DEFAULT, {c10::DeviceType::CUDA, device < 0 ? c10::DeviceIndex(0) : device})};
}

} // namespace c10::cuda

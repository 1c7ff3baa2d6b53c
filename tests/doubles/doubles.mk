# Stand-ins for libraries that need hardware: $(B)/doubles/libnccl.so.2 and libcuda.so.1. Tests only. Included by the top
# Makefile. NCCL_INCLUDE: folder of a real nccl.h; without one the double's own header is used.

NCCL_CACHE   ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/libprobe/nccl
NCCL_INCLUDE ?= $(firstword $(patsubst %/nccl.h,%,$(wildcard /usr/include/nccl.h)) tests/doubles/nccl/include)
NCCL_FLAGS   := -I$(NCCL_INCLUDE) -idirafter tests/doubles/cuda/include
NCCL_APP_C   := $(sort $(wildcard tests/apps/nccl_*.c))
NCCL_APPS    := $(NCCL_APP_C:tests/apps/%.c=$(B)/apps/nccl/%)
XCCL         := $(B)/xccl/libprobe.so $(B)/xccl/xccl_calls
DOUBLES      := $(B)/doubles/libnccl.so.2 $(B)/doubles/librccl.so.1 $(B)/doubles/libcuda.so.1 $(B)/doubles/cuda11/libcuda.so.1

HCCL         := $(B)/doubles/libhccl.so $(B)/apps/hccl/hccl_contract
UCC          := $(B)/doubles/libucc.so.1 $(B)/apps/ucc_calls
CUBLAS       := $(B)/doubles/libcublas.so.13 $(B)/apps/cublas_calls $(B)/apps/cublaslt_calls
ACLNN        := $(B)/doubles/libopapi.so $(B)/apps/aclnn_calls $(B)/doubles/npu/libopapi.so $(B)/apps/aclnn_device
ONECCL       := $(B)/doubles/libccl.so.2 $(B)/apps/oneccl_calls $(if $(shell command -v $(CXX)),$(B)/apps/oneccl_cxx)

.PHONY: doubles
doubles: $(DOUBLES) $(NCCL_APPS) $(XCCL) $(HCCL) $(ONECCL) $(UCC) $(CUBLAS) $(ACLNN)
apps: doubles

$(B)/doubles/libnccl.so.2 $(B)/doubles/librccl.so.1: $(wildcard tests/doubles/nccl/*.c tests/doubles/nccl/*.h tests/doubles/nccl/include/*.h)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -fPIC -shared -fvisibility=hidden $(NCCL_FLAGS) \
		-Wno-missing-prototypes -Wl,-soname,$(@F) -o $@ $(filter %.c,$^) -lm -lpthread
	@ln -sf libnccl.so.2 $(@D)/libnccl.so
$(B)/doubles/libcuda.so.1: $(wildcard tests/doubles/cuda/*.c tests/doubles/cuda/*.h) preload/device/stats.cl preload/device/stats_launch.h
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -fPIC -shared -fvisibility=hidden \
		-Wl,-soname,$(@F) -o $@ $(filter %.c,$^) -lpthread
# A driver of CUDA 11.
$(B)/doubles/cuda11/libcuda.so.1: $(wildcard tests/doubles/cuda/*.c tests/doubles/cuda/*.h) preload/device/stats.cl preload/device/stats_launch.h
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -DDOUBLE_CUDA_11 -fPIC -shared -fvisibility=hidden \
		-Wl,-soname,$(@F) -o $@ $(filter %.c,$^) -lpthread
$(B)/apps/nccl/nccl_device $(B)/apps/nccl/nccl_values: NCCL_LIBS = -l:libcuda.so.1
$(B)/apps/nccl/nccl_device $(B)/apps/nccl/nccl_values: $(B)/doubles/libcuda.so.1
$(B)/apps/nccl/%: tests/apps/%.c tests/apps/nccl_app.h $(B)/doubles/libnccl.so.2
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE $(NCCL_FLAGS) -o $@ $< -L$(B)/doubles -lnccl $(NCCL_LIBS) \
		-Wl,-rpath,'$$ORIGIN/../../doubles' -lm -lpthread -ldl

# Those of HCCL and oneCCL are made of parts of NCCL's.
HCCL_FLAGS := -Itests/doubles/hccl/include
SHARED_PARTS := $(addprefix tests/doubles/nccl/,shm.c number.c work.c double.h) tests/doubles/ccl/queue.c
MAKE_DOUBLE = $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -fPIC -shared -fvisibility=hidden $(NCCL_FLAGS) $(HCCL_FLAGS) \
	-Wno-missing-prototypes -Wl,-soname,$(@F) -o $@ $(filter %.c,$^) -lm -lpthread
$(B)/doubles/libhccl.so: tests/doubles/hccl/hccl.c $(wildcard tests/doubles/hccl/include/hccl/*.h) $(SHARED_PARTS)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(MAKE_DOUBLE)
$(B)/doubles/libccl.so.2: tests/doubles/oneccl/oneccl.c $(SHARED_PARTS)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(MAKE_DOUBLE)
$(B)/doubles/libucc.so.1: tests/doubles/ucc/ucc.c tests/doubles/ucc/ucc.h $(SHARED_PARTS)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(MAKE_DOUBLE)
$(B)/apps/ucc_calls: tests/apps/ucc_calls.c $(B)/doubles/libucc.so.1
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -Itests/doubles/ucc -o $@ $< $(B)/doubles/libucc.so.1 \
		-Wl,-rpath,'$$ORIGIN/../doubles'
$(B)/doubles/libcublasLt.so.13: tests/doubles/cublas/cublaslt.c tests/doubles/cublas/number.h
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -fPIC -shared -fvisibility=hidden -Wno-missing-prototypes \
		-Wl,-soname,$(@F) -o $@ $< -lm
CUBLAS_FACTS := $(addprefix tests/doubles/cublas/,functions.h functions.def forms.def)
$(B)/doubles/libcublas.so.13: tests/doubles/cublas/cublas.c \
		$(addprefix tests/doubles/cublas/,number.h factors.h vectors.h) $(CUBLAS_FACTS) $(B)/doubles/libcublasLt.so.13
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -fPIC -shared -fvisibility=hidden -Wno-missing-prototypes \
		-Wl,-soname,$(@F) -o $@ $< $(B)/doubles/libcublasLt.so.13 -Wl,-rpath,'$$ORIGIN' -lm
$(B)/apps/cublas_calls $(B)/apps/cublaslt_calls: $(B)/apps/%: tests/apps/%.c tests/apps/cublas_app.h tests/apps/matrix_sums.h \
		$(addprefix tests/apps/cublas_,batches.h vectors.h) \
		$(CUBLAS_FACTS) $(B)/doubles/libcublas.so.13
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -Itests/doubles/cublas -o $@ $< $(B)/doubles/libcublas.so.13 \
		$(B)/doubles/libcublasLt.so.13 -Wl,-rpath,'$$ORIGIN/../doubles' -lm
$(B)/doubles/libopapi.so: tests/doubles/aclnn/aclnn.c tests/doubles/aclnn/aclnn.h
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -fPIC -shared -fvisibility=hidden -Wno-missing-prototypes \
		-Wl,-soname,$(@F) -o $@ $< -lpthread
# The same on streams and in memory of the stand-in for libascendcl.so.
$(B)/doubles/npu/libopapi.so: tests/doubles/aclnn/aclnn.c tests/doubles/aclnn/aclnn.h $(B)/doubles/libascendcl.so
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -DON_DEVICE -fPIC -shared -fvisibility=hidden \
		-Wno-missing-prototypes -Wl,-soname,$(@F) -o $@ $< -L$(B)/doubles -l:libascendcl.so -Wl,-rpath,'$$ORIGIN/..' -lpthread
$(B)/apps/aclnn_device: tests/apps/aclnn_device.c tests/doubles/aclnn/aclnn.h tests/doubles/cuda/cuda_double.h $(B)/doubles/libascendcl.so
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -Itests/doubles/aclnn -Itests/doubles/cuda -o $@ $< \
		-L$(B)/doubles -l:libascendcl.so -Wl,-rpath,'$$ORIGIN/../doubles' -ldl
$(B)/apps/aclnn_calls: tests/apps/aclnn_calls.c tests/apps/matrix_sums.h tests/doubles/aclnn/aclnn.h
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -Itests/doubles/aclnn -o $@ $< -ldl -lpthread -lm
$(B)/apps/hccl/%: tests/apps/%.c $(B)/doubles/libhccl.so
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE $(HCCL_FLAGS) -o $@ $< -L$(B)/doubles -lhccl \
		-Wl,-rpath,'$$ORIGIN/../../doubles' -ldl
$(B)/apps/oneccl_calls: tests/apps/oneccl_calls.c
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -o $@ $< -ldl
# oneCCL's C++ interface, and a program that the real header takes as well.
CXX_DOUBLE = $(CXX) $(CFLAGS) -std=gnu++17 -Wall -Wextra -D_GNU_SOURCE $(NCCL_FLAGS) -Itests/doubles/oneccl/include
$(B)/doubles/oneccl_cxx.o: tests/doubles/oneccl/cxx.cpp tests/doubles/oneccl/include/oneapi/ccl.hpp tests/doubles/nccl/double.h
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(CXX_DOUBLE) -fPIC -c -o $@ $<
$(B)/doubles/libccl.so.1: $(SHARED_PARTS) $(B)/doubles/oneccl_cxx.o
	@mkdir -p $(@D)
	$(call say,CC,$@) $(MAKE_DOUBLE) $(B)/doubles/oneccl_cxx.o -lstdc++
$(B)/apps/oneccl_cxx: tests/apps/oneccl_cxx.cpp $(B)/doubles/libccl.so.1
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(CXX_DOUBLE) -o $@ $< $(B)/doubles/libccl.so.1 -Wl,-rpath,'$$ORIGIN/../doubles'

# A libprobe.so that knows one library more, the toy tests/doubles/xccl: what a new library's YAML and adapter make of it. The wrappers of
# the other libraries are those of libprobe.so: a new library changes none of them.
XCCL_GEN := $(patsubst %,$(B)/xccl/gen/%.c,wrap_xccl api_table)
$(B)/xccl/gen/.stamp: $(B)/gen/.stamp tests/doubles/xccl/xccl.yaml
	@mkdir -p $(@D)
	$(call say,GEN,$(@D)) $(B)/genwrap -o $(@D) -k configs/apis/kinds.yaml -t configs/probe.yaml \
		-t configs/support_wrap_ops.yaml $(HOOKS:%=-x %) $(SPECS) tests/doubles/xccl/xccl.yaml
	@touch $@
$(XCCL_GEN) $(B)/xccl/gen/probe.map: $(B)/xccl/gen/.stamp ;
XCCL_CC = $(CC) $(CFLAGS) -I$(B)/xccl/gen $(BASE_FLAGS) $(LIB_FLAGS) -c -o $@ $<
$(B)/xccl/%.o: $(B)/xccl/gen/%.c
	$(call say,CC,$<) $(XCCL_CC)
$(B)/xccl/adapter.o: tests/doubles/xccl/adapter.c $(B)/xccl/gen/.stamp
	$(call say,CC,$<) $(XCCL_CC)
$(B)/xccl/libprobe.so: $(CORE_OBJ) $(filter-out $(B)/obj/gen/api_table.o,$(ENTRY_OBJ)) $(XCCL_GEN:$(B)/xccl/gen/%.c=$(B)/xccl/%.o) \
		$(B)/xccl/adapter.o $(B)/xccl/gen/probe.map
	$(call say,LINK,$@) $(LINK_LIBPROBE)
$(B)/xccl/xccl_calls: tests/apps/xccl_calls.c $(wildcard tests/doubles/xccl/xccl.[ch])
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -fPIC -shared -Wl,-soname,libxccl.so.1 -o $(@D)/libxccl.so.1 \
		tests/doubles/xccl/xccl.c && $(CC) $(CFLAGS) -std=gnu11 $(WARN) -o $@ $< $(@D)/libxccl.so.1 -Wl,-rpath,'$$ORIGIN'

# The statistics kernel as C.
$(B)/obj/tests/doubles/cuda/stats_host.o: preload/device/stats.cl preload/device/stats_launch.h
$(B)/unit/test_device_kernel $(B)/unit/test_device_measure: $(B)/obj/tests/doubles/cuda/stats_host.o

# Ascend's runtime, by the double of CUDA's.
$(B)/doubles/libascendcl.so: $(wildcard tests/doubles/ascend/*.c tests/doubles/cuda/*.c tests/doubles/cuda/*.h) preload/device/stats.cl preload/device/stats_launch.h
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -fPIC -shared -fvisibility=hidden -Wno-missing-prototypes \
		-Wl,-soname,$(@F) -o $@ $(filter %.c,$^) -lpthread
$(B)/unit/test_device_ascend: $(B)/obj/wrappers/gpu/ascend.o $(B)/obj/wrappers/gpu/find.o | $(B)/doubles/libascendcl.so

# CUDA's driver as it is used, on its double.
$(B)/unit/test_device_cuda: $(patsubst %,$(B)/obj/wrappers/%.o,cuda/cuda gpu/cuda_kernel gpu/hip gpu/ascend gpu/find gpu/images) | $(B)/doubles/libcuda.so.1

# HIP's runtime, by the double of CUDA's driver.
$(B)/doubles/libamdhip64.so: $(wildcard tests/doubles/hip/*.c tests/doubles/cuda/*.c tests/doubles/cuda/*.h) preload/device/stats.cl preload/device/stats_launch.h
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -fPIC -shared -fvisibility=hidden -Wno-missing-prototypes \
		-Wl,-soname,$(@F) -o $@ $(filter %.c,$^) -lpthread
$(B)/unit/test_device_hip: $(patsubst %,$(B)/obj/wrappers/gpu/%.o,hip find images) | $(B)/doubles/libamdhip64.so

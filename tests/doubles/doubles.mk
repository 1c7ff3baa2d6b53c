# Stand-ins for libraries that need hardware: $(B)/doubles/libnccl.so.2 and libcuda.so.1. Tests only. Included by the top
# Makefile. NCCL_INCLUDE: folder of a real nccl.h; without one the double's own header is used.

NCCL_CACHE   ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/libprobe/nccl
NCCL_INCLUDE ?= $(firstword $(patsubst %/nccl.h,%,$(wildcard /usr/include/nccl.h)) tests/doubles/nccl/include)
NCCL_FLAGS   := -I$(NCCL_INCLUDE) -idirafter tests/doubles/cuda/include
NCCL_APP_C   := $(sort $(wildcard tests/apps/nccl_*.c))
NCCL_APPS    := $(NCCL_APP_C:tests/apps/%.c=$(B)/apps/nccl/%)
DOUBLES      := $(B)/doubles/libnccl.so.2 $(B)/doubles/librccl.so.1 $(B)/doubles/libcuda.so.1

.PHONY: doubles
doubles: $(DOUBLES) $(NCCL_APPS)
apps: doubles

$(B)/doubles/libnccl.so.2 $(B)/doubles/librccl.so.1: $(wildcard tests/doubles/nccl/*.c tests/doubles/nccl/*.h tests/doubles/nccl/include/*.h)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -fPIC -shared -fvisibility=hidden $(NCCL_FLAGS) \
		-Wno-missing-prototypes -Wl,-soname,$(@F) -o $@ $(filter %.c,$^) -lm -lpthread
	@ln -sf libnccl.so.2 $(@D)/libnccl.so
$(B)/doubles/libcuda.so.1: $(wildcard tests/doubles/cuda/*.c tests/doubles/cuda/*.h)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -fPIC -shared -fvisibility=hidden \
		-Wl,-soname,$(@F) -o $@ $(filter %.c,$^) -lpthread
$(B)/apps/nccl/nccl_device: NCCL_LIBS = -l:libcuda.so.1
$(B)/apps/nccl/nccl_device: $(B)/doubles/libcuda.so.1
$(B)/apps/nccl/%: tests/apps/%.c tests/apps/nccl_app.h $(B)/doubles/libnccl.so.2
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE $(NCCL_FLAGS) -o $@ $< -L$(B)/doubles -lnccl $(NCCL_LIBS) \
		-Wl,-rpath,'$$ORIGIN/../../doubles' -lm -lpthread -ldl

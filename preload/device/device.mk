# The statistics kernel for devices: generated files, which are kept in the tree, for most machines lack this compiler. Included by the
# top Makefile. Other releases of clang write other instructions: built/COMPILER says which one wrote these, and
# tests/e2e/test_device_images.sh compares them with what that one writes.

DEVICE        := preload/device
KERNEL_SOURCE := $(DEVICE)/stats.cl $(DEVICE)/stats_launch.h
KERNEL_AMD    := gfx90a gfx942 gfx1100
KERNEL_IMAGES := $(DEVICE)/built/stats.ptx $(KERNEL_AMD:%=$(DEVICE)/built/stats.%.co)
KERNEL_CLANG  ?= clang-19
KERNEL_FLAGS  := -x cl -cl-std=CL1.2 -Wall -Wextra -Wno-unused-parameter -O3

# PTX of 2018, which every driver since CUDA 10.0 takes, for the oldest chip that has its instructions.
KERNEL_PTX = $(KERNEL_CLANG) -cc1 -triple nvptx64-nvidia-cuda -target-cpu sm_70 -target-feature +ptx63 \
	-finclude-default-header $(KERNEL_FLAGS) -vectorize-loops -vectorize-slp -S
KERNEL_CO  = $(KERNEL_CLANG) --target=amdgcn-amd-amdhsa -nogpulib -Xclang -finclude-default-header $(KERNEL_FLAGS)

.PHONY: kernels
kernels: $(KERNEL_IMAGES)

$(B)/obj/wrappers/gpu/images.o: $(KERNEL_IMAGES)

# KERNEL_ANY=1: by whichever clang is there, which is then the one that counts.
ifneq ($(KERNEL_ANY)$(filter $(shell cat $(DEVICE)/built/COMPILER | tr ' ' _),$(shell $(KERNEL_CLANG) --version 2>/dev/null | head -1 | tr ' ' _)),)
$(DEVICE)/built/stats.ptx: $(KERNEL_SOURCE)
	$(call say,CL,$@) $(KERNEL_PTX) -o $@ $<
	$(Q)$(KERNEL_CLANG) --version | head -1 >$(@D)/COMPILER
$(DEVICE)/built/stats.%.co: $(KERNEL_SOURCE)
	$(call say,CL,$@) $(KERNEL_CO) -mcpu=$* -o $@ $<
endif

# Compile flags of the files here; they go where the folder goes. Included by the top Makefile.

STATS := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))

# Fused multiply-adds would make the last bits of a sum depend on the processor.
$(B)/obj/$(STATS)/%.o: FILE_FLAGS += -ffp-contract=off

# Each instruction set has its own file, and only that file may use it: the rest runs on every CPU.
ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
AVX512_FLAGS := -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mpopcnt
$(B)/obj/$(STATS)/avx2.o:   FILE_FLAGS += -mavx2 -mfma -mf16c
$(B)/obj/$(STATS)/avx512.o: FILE_FLAGS += $(AVX512_FLAGS)
$(B)/obj/$(STATS)/vnni.o:   FILE_FLAGS += $(AVX512_FLAGS) -mavx512vnni
endif

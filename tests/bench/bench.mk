# The programs of tests/bench, into $(B)/bench/. Included by the top Makefile.

BENCH_DIR   := $(B)/bench
BENCH_FLAGS := -std=gnu11 -O2 -g $(WARN) -D_GNU_SOURCE -I. -MMD -MP
BENCH_BINS  := $(addprefix $(BENCH_DIR)/,libstandin.so call_cost stats_bench stats_helpers ffi_call gen_folder run_cost start_cost libempty.so unwind_bench growth) \
	$(foreach m,$(MPI_FLAVOURS),$(addprefix $(BENCH_DIR)/$m/,mpi_step mpi_sizes mpi_latency mpi_loop))

.PHONY: bench-bins
bench-bins: $(BENCH_BINS)

$(BENCH_DIR)/libstandin.so: tests/bench/standin.c
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(BENCH_FLAGS) -fPIC -shared -Wl,-soname,libstandin.so -o $@ $<
# libunwind stands beside our unwinder, where it is installed.
LIBUNWIND := $(if $(wildcard /usr/include/libunwind.h /usr/include/*/libunwind.h),-DHAVE_LIBUNWIND -lunwind)
$(BENCH_DIR)/unwind_bench: tests/bench/unwind_bench.c $(BENCH_DIR)/chain_fp.o $(BENCH_DIR)/chain_nofp.o $(B)/libcore.a
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(BENCH_FLAGS) -fno-omit-frame-pointer -Ipreload -MF $@.d -o $@ $< $(filter %.o,$^) \
		$(B)/libcore.a $(LIBUNWIND) -lpthread

# A library that does nothing: measures the cost of a preload alone.
$(BENCH_DIR)/libempty.so:
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(BENCH_FLAGS) -fPIC -shared -Wl,-soname,libempty.so -o $@ -x c /dev/null
$(BENCH_DIR)/chain_fp.o $(BENCH_DIR)/chain_nofp.o: $(BENCH_DIR)/chain_%.o: tests/bench/chain.c
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(BENCH_FLAGS) -fno-optimize-sibling-calls -DCHAIN=chain_$* \
		$(if $(filter fp,$*),-fno-omit-frame-pointer,-fomit-frame-pointer) -c -o $@ $<
$(BENCH_DIR)/call_cost: tests/bench/call_cost.c $(BENCH_DIR)/chain_fp.o $(BENCH_DIR)/chain_nofp.o $(BENCH_DIR)/libstandin.so
	$(call say,CC,$@) $(CC) $(BENCH_FLAGS) -fno-omit-frame-pointer -MF $@.d -o $@ $< $(filter %.o,$^) \
		-L$(BENCH_DIR) -lstandin -Wl,-rpath,'$$ORIGIN' -Wl,-z,now -lpthread
$(BENCH_DIR)/growth: tests/bench/growth.c $(BENCH_DIR)/libstandin.so
	$(call say,CC,$@) $(CC) $(BENCH_FLAGS) -fno-optimize-sibling-calls -MF $@.d -o $@ $< \
		-L$(BENCH_DIR) -lstandin -Wl,-rpath,'$$ORIGIN' -lpthread
$(BENCH_DIR)/ffi_call: tests/bench/ffi_call.c $(B)/libcore.a
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(BENCH_FLAGS) -Ipreload -MF $@.d -o $@ $< $(B)/libcore.a -lyaml -lz $(LIBFFI) -lpthread
$(BENCH_DIR)/stats_bench $(BENCH_DIR)/stats_helpers $(BENCH_DIR)/gen_folder: $(BENCH_DIR)/%: tests/bench/%.c $(B)/libcore.a
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(BENCH_FLAGS) -Ipreload -MF $@.d -o $@ $< $(B)/libcore.a -lyaml -lz -lpthread
$(BENCH_DIR)/gen_folder: BENCH_FLAGS += -DGEN_COMPACT
$(BENCH_DIR)/run_cost $(BENCH_DIR)/start_cost: $(BENCH_DIR)/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(BENCH_FLAGS) -Ipreload -MF $@.d -o $@ $<
define mpi_bench
$(MPI_FLAVOURS:%=$(BENCH_DIR)/%/$1): $(BENCH_DIR)/%/$1: tests/bench/$1.c
	@mkdir -p $$(@D)
	$$(call say,MPICC,$$@) OMPI_CC="$$(CC)" MPICH_CC="$$(CC)" mpicc.$$* $$(BENCH_FLAGS) -MF $$@.d -o $$@ $$<
endef
$(foreach p,mpi_step mpi_sizes mpi_latency mpi_loop,$(eval $(call mpi_bench,$p)))

-include $(wildcard $(BENCH_DIR)/*.d)

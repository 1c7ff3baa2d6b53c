# The programs of tests/bench, into $(B)/bench/. Included by the top Makefile.

BENCH_DIR   := $(B)/bench
BENCH_FLAGS := -std=gnu11 -O2 -g $(WARN) -D_GNU_SOURCE -I. -MMD -MP
BENCH_BINS  := $(addprefix $(BENCH_DIR)/,libstandin.so call_cost stats_bench stats_helpers ffi_call gen_folder run_cost) \
	$(foreach m,$(MPI_FLAVOURS),$(BENCH_DIR)/$m/mpi_step $(BENCH_DIR)/$m/mpi_sizes)

.PHONY: bench-bins
bench-bins: $(BENCH_BINS)

$(BENCH_DIR)/libstandin.so: tests/bench/standin.c
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(BENCH_FLAGS) -fPIC -shared -Wl,-soname,libstandin.so -o $@ $<
$(BENCH_DIR)/chain_fp.o $(BENCH_DIR)/chain_nofp.o: $(BENCH_DIR)/chain_%.o: tests/bench/chain.c
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(BENCH_FLAGS) -fno-optimize-sibling-calls -DCHAIN=chain_$* \
		$(if $(filter fp,$*),-fno-omit-frame-pointer,-fomit-frame-pointer) -c -o $@ $<
$(BENCH_DIR)/call_cost: tests/bench/call_cost.c $(BENCH_DIR)/chain_fp.o $(BENCH_DIR)/chain_nofp.o $(BENCH_DIR)/libstandin.so
	$(call say,CC,$@) $(CC) $(BENCH_FLAGS) -fno-omit-frame-pointer -MF $@.d -o $@ $< $(filter %.o,$^) \
		-L$(BENCH_DIR) -lstandin -Wl,-rpath,'$$ORIGIN' -Wl,-z,now -lpthread
$(BENCH_DIR)/ffi_call: tests/bench/ffi_call.c $(B)/libcore.a
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(BENCH_FLAGS) -Ipreload -MF $@.d -o $@ $< $(B)/libcore.a -lyaml -lz $(LIBFFI) -lpthread
$(BENCH_DIR)/stats_bench $(BENCH_DIR)/stats_helpers: $(BENCH_DIR)/%: tests/bench/%.c $(B)/libcore.a
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(BENCH_FLAGS) -Ipreload -MF $@.d -o $@ $< $(B)/libcore.a -lyaml -lz -lpthread
$(BENCH_DIR)/gen_folder $(BENCH_DIR)/run_cost: $(BENCH_DIR)/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(BENCH_FLAGS) -MF $@.d -o $@ $<
$(MPI_FLAVOURS:%=$(BENCH_DIR)/%/mpi_step): $(BENCH_DIR)/%/mpi_step: tests/bench/mpi_step.c
	@mkdir -p $(@D)
	$(call say,MPICC,$@) OMPI_CC="$(CC)" MPICH_CC="$(CC)" mpicc.$* $(BENCH_FLAGS) -MF $@.d -o $@ $<
$(MPI_FLAVOURS:%=$(BENCH_DIR)/%/mpi_sizes): $(BENCH_DIR)/%/mpi_sizes: tests/bench/mpi_sizes.c
	@mkdir -p $(@D)
	$(call say,MPICC,$@) OMPI_CC="$(CC)" MPICH_CC="$(CC)" mpicc.$* $(BENCH_FLAGS) -MF $@.d -o $@ $<

-include $(wildcard $(BENCH_DIR)/*.d)

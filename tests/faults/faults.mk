# The programs of tests/faults, into $(B)/faults/<mpi>/. Included by the top Makefile.

FAULT_BINS := $(foreach m,$(MPI_FLAVOURS),$(B)/faults/$m/train $(B)/faults/$m/shapes $(B)/faults/$m/libmeddle.so)

# RUNS: of each class, SEED: other places, CLEAN: runs without a fault. PROBE_TEST_PYTHON: with PyTorch, for the trainings in it.
# The counts of `faults-shapes` and of `faults` go to $(B)/faults/counts.jsonl, a line a run; `make measured` makes measured.def of them.
RUNS  ?= 8
CLEAN ?= 50
SEED  ?= 1
FAULT_COUNTS := $(B)/faults/counts.jsonl
.PHONY: faults faults-shapes measured fault-bins
fault-bins: all $(FAULT_BINS) $(if $(filter mpich,$(MPI_FLAVOURS)),$(B)/apps/mpich/libucxyield.so)
measured:
	@python3 tests/faults/measured.py $(FAULT_COUNTS) >tools/probe/rules/measured.def.new
	@mv tools/probe/rules/measured.def.new tools/probe/rules/measured.def
# Programs that the rules were only checked with.
faults-shapes: fault-bins
	@python3 tests/faults/faults.py --build $(B) --shapes --runs $(RUNS) --clean $(CLEAN) --seed $(SEED) --counts $(FAULT_COUNTS)
faults: fault-bins
	@rm -f $(FAULT_COUNTS)
	@$(MAKE) faults-shapes
	@python3 tests/faults/faults.py --build $(B) --runs $(RUNS) --clean $(CLEAN) --seed $(SEED) --need 99 --counts $(FAULT_COUNTS)
	@[ -z "$$PROBE_TEST_PYTHON" ] || python3 tests/faults/faults.py --build $(B) --torch "$$PROBE_TEST_PYTHON" --runs $(RUNS) \
		--clean $(CLEAN) --seed $(SEED) --need 99 --counts $(FAULT_COUNTS)
	@$(MAKE) measured

define fault_rules
$(B)/faults/$(1)/train $(B)/faults/$(1)/shapes: $(B)/faults/$(1)/%: tests/faults/%.c
	@mkdir -p $$(@D)
	$$(call say,MPICC,$$@) OMPI_CC="$$(CC)" MPICH_CC="$$(CC)" mpicc.$(1) $$(CFLAGS) $$(APP_FLAGS) -MF $$@.d -o $$@ $$< -ldl -lm
$(B)/faults/$(1)/libmeddle.so: tests/faults/meddle.c
	@mkdir -p $$(@D)
	$$(call say,MPICC,$$@) OMPI_CC="$$(CC)" MPICH_CC="$$(CC)" mpicc.$(1) $$(CFLAGS) $$(APP_FLAGS) -fPIC -shared -MF $$@.d -o $$@ $$<
endef
$(foreach m,$(MPI_FLAVOURS),$(eval $(call fault_rules,$(m))))

-include $(wildcard $(B)/faults/*/*.d)

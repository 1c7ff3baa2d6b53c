# The programs of tests/faults, into $(B)/faults/<mpi>/. Included by the top Makefile.

FAULT_BINS := $(foreach m,$(MPI_FLAVOURS),$(B)/faults/$m/train $(B)/faults/$m/libmeddle.so)

# RUNS: of each class, SEED: other places, CLEAN: runs without a fault. PROBE_TEST_PYTHON: with PyTorch, for the trainings in it.
RUNS  ?= 8
CLEAN ?= 50
SEED  ?= 1
.PHONY: faults fault-bins
fault-bins: all $(FAULT_BINS) $(if $(filter mpich,$(MPI_FLAVOURS)),$(B)/apps/mpich/libucxyield.so)
faults: fault-bins
	@python3 tests/faults/faults.py --build $(B) --runs $(RUNS) --clean $(CLEAN) --seed $(SEED) --need 99
	@[ -z "$$PROBE_TEST_PYTHON" ] || python3 tests/faults/faults.py --build $(B) --torch "$$PROBE_TEST_PYTHON" --runs $(RUNS) \
		--clean $(CLEAN) --seed $(SEED) --need 99

define fault_rules
$(B)/faults/$(1)/train: tests/faults/train.c
	@mkdir -p $$(@D)
	$$(call say,MPICC,$$@) OMPI_CC="$$(CC)" MPICH_CC="$$(CC)" mpicc.$(1) $$(CFLAGS) $$(APP_FLAGS) -MF $$@.d -o $$@ $$< -ldl
$(B)/faults/$(1)/libmeddle.so: tests/faults/meddle.c
	@mkdir -p $$(@D)
	$$(call say,MPICC,$$@) OMPI_CC="$$(CC)" MPICH_CC="$$(CC)" mpicc.$(1) $$(CFLAGS) $$(APP_FLAGS) -fPIC -shared -MF $$@.d -o $$@ $$<
endef
$(foreach m,$(MPI_FLAVOURS),$(eval $(call fault_rules,$(m))))

-include $(wildcard $(B)/faults/*/*.d)

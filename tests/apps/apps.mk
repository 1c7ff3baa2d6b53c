# The MPI programs that the tests and the demo run: $(B)/apps/openmpi/ and $(B)/apps/mpich/ hold the same programs,
# built with each of the MPIs that are installed (Intel's in $(B)/apps/intel/). Included by the top Makefile. They are never sanitized.

# Intel MPI, which no Debian package has, where INTEL_MPI says in which folder its bin, include and lib are.
INTEL_MPI ?=
MPI_FLAVOURS := $(foreach m,openmpi mpich,$(if $(shell command -v mpicc.$(m)),$(m))) $(if $(wildcard $(INTEL_MPI)/include/mpi.h),intel)
MPICC_openmpi = OMPI_CC="$(CC)" mpicc.openmpi
MPICC_mpich   = MPICH_CC="$(CC)" mpicc.mpich
MPICC_intel   = $(CC) -I$(INTEL_MPI)/include -L$(INTEL_MPI)/lib -Wl,-rpath,$(INTEL_MPI)/lib
MPICC_LIBS_intel = -lmpi
FC_FLAVOURS  := $(foreach m,$(MPI_FLAVOURS),$(if $(shell command -v mpifort.$(m)),$(m)))
CXX_FLAVOURS := $(foreach m,$(MPI_FLAVOURS),$(if $(shell command -v mpicxx.$(m)),$(m)))

APP_C     := $(sort $(wildcard tests/apps/mpi_*.c))
APP_NAMES := $(APP_C:tests/apps/%.c=%) train_digits libpmpicount.so
APP_FLAGS := -std=gnu11 $(WARN) -D_GNU_SOURCE -MMD -MP
APP_BINS  := $(foreach m,$(MPI_FLAVOURS),$(APP_NAMES:%=$(B)/apps/$(m)/%)) \
	$(FC_FLAVOURS:%=$(B)/apps/%/mpi_fortran) $(CXX_FLAVOURS:%=$(B)/apps/%/mpi_cxx) \
	$(if $(filter mpich,$(MPI_FLAVOURS)),$(B)/apps/mpich/libucxyield.so)

.PHONY: apps apps-demo
apps: $(APP_BINS)

# What `make demo` needs.
apps-demo: $(MPI_FLAVOURS:%=$(B)/apps/%/train_digits)

DIGITS_SRC := tests/apps/train_digits.c $(sort $(wildcard tests/apps/digits/*.c))

# $(1): openmpi, mpich or intel.
define app_rules
$(B)/apps/$(1)/train_digits: $(DIGITS_SRC) tests/apps/digits/digits.h
	@mkdir -p $$(@D)
	$$(call say,MPICC,$$@) $$(MPICC_$(1)) $$(CFLAGS) $$(filter-out -MMD -MP,$$(APP_FLAGS)) \
		-DDATA_FILE='"$$(abspath tests/apps/data/optdigits.csv.gz)"' -o $$@ $(DIGITS_SRC) -lz -lm $$(MPICC_LIBS_$(1))
$(B)/apps/$(1)/libpmpicount.so: tests/apps/pmpi_count.c
	@mkdir -p $$(@D)
	$$(call say,MPICC,$$@) $$(MPICC_$(1)) $$(CFLAGS) $$(APP_FLAGS) -fPIC -shared -MF $$@.d \
		-o $$@ $$< -lm -lpthread $$(MPICC_LIBS_$(1))
$(B)/apps/$(1)/mpi_fortran: tests/apps/mpi_fortran.f90
	@mkdir -p $$(@D)
	$$(call say,MPIFC,$$@) mpifort.$(1) -O2 -g -Wall -Wextra -std=f2008 -o $$@ $$<
$(B)/apps/$(1)/mpi_cxx: tests/apps/mpi_cxx.cpp
	@mkdir -p $$(@D)
	$$(call say,MPICXX,$$@) mpicxx.$(1) -std=gnu++11 -O2 -g -Wall -Wextra -Wshadow -o $$@ $$<
$(B)/apps/$(1)/%: tests/apps/%.c
	@mkdir -p $$(@D)
	$$(call say,MPICC,$$@) $$(MPICC_$(1)) $$(CFLAGS) $$(APP_FLAGS) -MF $$@.d -o $$@ $$< \
		-lm -lpthread $$(MPICC_LIBS_$(1))
endef
$(foreach m,$(MPI_FLAVOURS),$(eval $(call app_rules,$(m))))

$(B)/apps/mpich/libucxyield.so: tests/apps/ucx_yield.c
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(CFLAGS) $(APP_FLAGS) -fPIC -shared -MF $@.d -o $@ $<

-include $(wildcard $(B)/apps/*/*.d)

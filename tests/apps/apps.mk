# The MPI programs that the tests and the demo run: $(B)/apps/openmpi/ and $(B)/apps/mpich/ hold the same programs,
# built with each of the MPIs that are installed (another one's in $(B)/apps/ its name). Included by the top Makefile. They are never sanitized.

# An MPI that no Debian package has: OTHER_MPI is its name (openmpi..., mpich... or intel...; with "abi" after it, the
# standard's binary interface of it), OTHER_MPI_AT the folder in which its bin, include and lib are.
OTHER_MPI    ?=
OTHER_MPI_AT ?=
MPI_FLAVOURS := $(foreach m,openmpi mpich,$(if $(shell command -v mpicc.$(m)),$(m))) \
	$(if $(wildcard $(OTHER_MPI_AT)/include/mpi.h),$(OTHER_MPI))
MPICC_openmpi = OMPI_CC="$(CC)" mpicc.openmpi
MPICC_mpich   = MPICH_CC="$(CC)" mpicc.mpich
MPICC_$(or $(OTHER_MPI),other) = $(CC) $(if $(filter %abi,$(OTHER_MPI)),-DMPI_ABI) -I$(OTHER_MPI_AT)/include \
	-L$(OTHER_MPI_AT)/lib -Wl,-rpath,$(OTHER_MPI_AT)/lib
MPICC_LIBS_$(or $(OTHER_MPI),other) = -lmpi$(if $(filter %abi,$(OTHER_MPI)),_abi)
FC_FLAVOURS  := $(foreach m,$(MPI_FLAVOURS),$(if $(shell command -v mpifort.$(m)),$(m)))
CXX_FLAVOURS := $(foreach m,$(MPI_FLAVOURS),$(if $(shell command -v mpicxx.$(m)),$(m)))

APP_C     := $(sort $(wildcard tests/apps/mpi_*.c))
APP_NAMES := $(APP_C:tests/apps/%.c=%) train_digits libpmpicount.so libmpilate.so
APP_FLAGS := -std=gnu11 $(WARN) -D_GNU_SOURCE -MMD -MP
APP_BINS  := $(foreach m,$(MPI_FLAVOURS),$(APP_NAMES:%=$(B)/apps/$(m)/%)) \
	$(FC_FLAVOURS:%=$(B)/apps/%/mpi_fortran) $(CXX_FLAVOURS:%=$(B)/apps/%/mpi_cxx) \
	$(if $(filter mpich%,$(MPI_FLAVOURS)),$(B)/apps/mpich/libucxyield.so)

.PHONY: apps apps-demo
apps: $(APP_BINS)

# What `make demo` needs.
apps-demo: $(MPI_FLAVOURS:%=$(B)/apps/%/train_digits)

DIGITS_SRC := tests/apps/train_digits.c $(sort $(wildcard tests/apps/digits/*.c))

# $(1): openmpi, mpich or $(OTHER_MPI).
define app_rules
$(B)/apps/$(1)/train_digits: $(DIGITS_SRC) tests/apps/digits/digits.h
	@mkdir -p $$(@D)
	$$(call say,MPICC,$$@) $$(MPICC_$(1)) $$(CFLAGS) $$(filter-out -MMD -MP,$$(APP_FLAGS)) \
		-DDATA_FILE='"$$(abspath tests/apps/data/optdigits.csv.gz)"' -o $$@ $(DIGITS_SRC) -lz -lm $$(MPICC_LIBS_$(1))
$(B)/apps/$(1)/libpmpicount.so: tests/apps/pmpi_count.c
	@mkdir -p $$(@D)
	$$(call say,MPICC,$$@) $$(MPICC_$(1)) $$(CFLAGS) $$(APP_FLAGS) -fPIC -shared -MF $$@.d \
		-o $$@ $$< -lm -lpthread $$(MPICC_LIBS_$(1))
$(B)/apps/$(1)/libmpilate.so: tests/apps/late_return.c
	@mkdir -p $$(@D)
	$$(call say,MPICC,$$@) $$(MPICC_$(1)) $$(CFLAGS) $$(APP_FLAGS) -fPIC -shared -MF $$@.d \
		-o $$@ $$< $$(MPICC_LIBS_$(1))
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

# make check-specs: compares the specs with the headers of every MPI that is installed: each prototype, each parameter
# name with its role, each constant and element size. make check-specs-mutations: proves that it would notice.

CHECK_MPICC ?= mpicc.openmpi mpicc.mpich

check-specs: $(B)/genwrap
	@mkdir -p $(B)/check; n=0; for cc in $(CHECK_MPICC); do \
		command -v $$cc >/dev/null || { echo "check-specs: no $$cc here, skipped"; continue; }; \
		sh tools/gen/check_spec.sh $(B)/genwrap configs/apis/mpi.yaml $$cc $(B)/check/mpi-$$(basename $$cc) || exit 1; \
		n=$$((n + 1)); \
	done; test $$n -gt 0 || echo "check-specs: nothing was compared"

.PHONY: check-specs-mutations
check-specs-mutations: $(B)/genwrap
	@sh tools/gen/check_mutations.sh $(B)/genwrap $(B)/check/mutations $(CHECK_MPICC)

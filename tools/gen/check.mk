# make check-specs: compares the specs with the headers of every MPI that is installed, and with every nccl.h (installed, or
# fetched by tests/fetch_nccl.sh), cblas.h, cublas_v2.h and cublasLt.h (CUDA_INCLUDE: its folder): each prototype, each parameter name with its role, each constant and element size.
# make check-specs-mutations: proves that it would notice.

CHECK_MPICC ?= mpicc.openmpi mpicc.mpich
# In recipes only: NCCL_CACHE is set by tests/doubles/doubles.mk.
CHECK_NCCL    = $(wildcard /usr/include/nccl.h /usr/local/cuda/include/nccl.h $(NCCL_CACHE)/*/include/nccl.h)
CHECK_NCCL_CC = cc
CUDA_INCLUDE ?= /usr/local/cuda/include
CHECK_CUBLAS  = $(wildcard $(CUDA_INCLUDE)/cublas_v2.h)
CHECK_CUBLASLT = $(wildcard $(CUDA_INCLUDE)/cublasLt.h)
CHECK_CBLAS   = $(wildcard /usr/include/cblas.h /usr/include/*/cblas.h /usr/include/*/*blas*/cblas.h)

check-specs: $(B)/genwrap
	@mkdir -p $(B)/check; n=0; for cc in $(CHECK_MPICC); do \
		command -v $$cc >/dev/null || { echo "check-specs: no $$cc here, skipped"; continue; }; \
		sh tools/gen/check_spec.sh $(B)/genwrap configs/apis/mpi.yaml $$cc $(B)/check/mpi-$$(basename $$cc) || exit 1; \
		n=$$((n + 1)); \
	done; \
	for h in $(CHECK_NCCL); do \
		sh tools/gen/check_spec.sh $(B)/genwrap configs/apis/nccl.yaml "$(CHECK_NCCL_CC) -I$${h%/nccl.h} -idirafter tests/doubles/cuda/include" \
			$(B)/check/nccl-$$(echo "$$h" | tr -c 'a-z0-9.\n' -) || exit 1; \
		n=$$((n + 1)); \
	done; for h in $(CHECK_CBLAS); do \
		sh tools/gen/check_spec.sh $(B)/genwrap configs/apis/cblas.yaml "cc -I$${h%/cblas.h}" \
			$(B)/check/cblas-$$(echo "$$h" | tr -c 'a-z0-9.\n' -) || exit 1; \
		n=$$((n + 1)); \
	done; for h in $(CHECK_CUBLAS); do \
		sh tools/gen/check_spec.sh $(B)/genwrap configs/apis/cublas.yaml "cc -I$${h%/cublas_v2.h}" $(B)/check/cublas || exit 1; \
		n=$$((n + 1)); \
	done; for h in $(CHECK_CUBLASLT); do \
		sh tools/gen/check_spec.sh $(B)/genwrap configs/apis/cublaslt.yaml "cc -I$${h%/cublasLt.h}" $(B)/check/cublaslt || exit 1; \
		n=$$((n + 1)); \
	done; test $$n -gt 0 || echo "check-specs: nothing was compared"

.PHONY: check-specs-mutations
check-specs-mutations: $(B)/genwrap
	@sh tools/gen/check_mutations.sh $(B)/genwrap $(B)/check/mutations mpi $(CHECK_MPICC)
	@$(if $(CHECK_NCCL),sh tools/gen/check_mutations.sh $(B)/genwrap $(B)/check/mutations nccl $(foreach h,$(CHECK_NCCL), \
		"$(CHECK_NCCL_CC) -I$(h:%/nccl.h=%) -idirafter tests/doubles/cuda/include"),echo "check-specs-mutations: no nccl.h here, skipped")

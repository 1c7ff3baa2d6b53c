# How much the tests notice. `make mutants` changes N places of product code, one after the other, in a copy of the tree, and
# runs the nearest tests. `make coverage` prints lines and branches that unit and short end-to-end tests run, per room.

N    ?= 200
SEED ?= 1
.PHONY: mutants coverage
mutants:
	@python3 tests/mutants/mutants.py -n $(N) -s $(SEED) $(ROOMS:%=-r %) $(if $(filter 0,$(E2E_TESTS)),-u) $(SAN:%=--san %)

# E2E_TESTS=0: unit tests only.
COV := B=build-coverage CFLAGS='-O0 -g --coverage -fprofile-update=atomic' LDSAN=--coverage
coverage:
	@find build-coverage -name '*.gcda' -delete 2>/dev/null || :
	-@$(MAKE) --no-print-directory $(COV) unit
	-@$(if $(filter 0,$(E2E_TESTS)),,$(MAKE) --no-print-directory $(COV) e2e)
	@tests/mutants/coverage.sh build-coverage

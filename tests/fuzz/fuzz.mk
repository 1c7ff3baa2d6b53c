# Fuzzers: `make fuzz SECONDS=60` builds them with clang's libFuzzer, into build-fuzz/, and runs each for that long.

FUZZ_SAN := fuzzer-no-link,address,undefined
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/fuzz/%)
# SECONDS is the shell's own, and in every environment that one has exported it to: only the command line counts.
ifneq ($(origin SECONDS),command line)
SECONDS := 60
endif

.PHONY: fuzz fuzz-bins
fuzz:
	@$(MAKE) --no-print-directory CC=clang SAN=$(FUZZ_SAN) B=build-fuzz CFLAGS='-O1 -g' fuzz-bins
	@tests/fuzz/run.sh build-fuzz $(SECONDS)
fuzz-bins: $(FUZZ_BIN)

$(B)/fuzz/%: tests/fuzz/%.c $(B)/libcore.a $(filter-out %/main.o,$(TOOL_OBJ))
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CFLAGS) $(BASE_FLAGS) -Itests/unit -MF $@.d -o $@ $< -fsanitize=fuzzer,address,undefined \
		$(filter %.o,$^) $(B)/libcore.a -lcmocka -lyaml -lz $(LIBFFI) -ldw -lelf -lm -lpthread

# The verbs on damaged real folders, with gcc's sanitizers: tests/long/damaged_folders.sh builds and runs it.
$(B)/damaged_folders: tests/fuzz/damaged_folders.c $(B)/libtool.a $(B)/libcore.a
	$(call say,CC,$<) $(CC) $(CFLAGS) $(BASE_FLAGS) -MF $@.d -o $@ $< $(LDSAN) $(B)/libtool.a $(B)/libcore.a \
		-lyaml -lz $(LIBFFI) -ldw -lelf -lm -lpthread
